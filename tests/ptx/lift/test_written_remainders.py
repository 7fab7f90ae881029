"""What nvcc writes as ``x - x / w * w`` is a remainder, so that threads run in boxes (`written_remainders`)."""

import numpy as np
import pytest

from weft import ptx
from weft.interp import Lanes, run_function
from weft.ir.reader import read_module
from weft.transform.numbers.written_quotients import find_written_quotients
from weft.transform.numbers.written_remainders import find_written_remainders

# out[i % w * stride + i / w + first] = in[i]
EXCHANGED = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry exchange(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 w, .param .u32 stride,
                         .param .u32 first)
{{
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .reg .f32 %f;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r2, [w];
  ld.param.u32 %r3, [stride];
  ld.param.u32 %r4, [first];
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %ntid.x;
  mov.u32 %r7, %tid.x;
  mad.lo.u32 %r8, %r5, %r6, %r7;
  setp.ge.s32 %p, %r8, %r1;
  @%p bra done;
  div.{type} %r9, %r8, %r2;
  mul.lo.s32 %r10, %r9, %r2;
  sub.s32 %r10, %r8, %r10;
  mad.lo.s32 %r10, %r10, %r3, %r9;
  add.s32 %r10, %r10, %r4;
  mul.wide.s32 %rd3, %r8, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.f32 %f, [%rd4];
  mul.wide.s32 %rd5, %r10, 4;
  add.s64 %rd6, %rd2, %rd5;
  st.global.f32 [%rd6], %f;
done:
  ret;
}}
"""


@pytest.mark.parametrize("type", ["s32", "u32"])
def test_exchanged_axes_run_in_boxes(type: str) -> None:
    kernel = ptx.Module(EXCHANGED.format(type=type)).exchange

    def exchanged(w: int, stride: int, first: int, size: int) -> np.ndarray:
        result = np.zeros(size, np.float32)
        kernel[-(-size // 96), 96](np.arange(size, dtype=np.float32), result, size, w, stride, first)
        return result

    numbers = np.arange(37 * 50, dtype=np.float32)
    np.testing.assert_array_equal(exchanged(37, 50, 0, numbers.size), numbers.reshape(50, 37).T.ravel())
    # Rows from the last to the first: a number that is no stride of a box.
    np.testing.assert_array_equal(
        exchanged(37, -50, 36 * 50, numbers.size), numbers.reshape(50, 37).T[::-1].ravel()
    )
    # Quotients by zero are all ones, those by -1 negative or, without a sign, zero.
    np.testing.assert_array_equal(exchanged(0, 1, 1, 200), np.arange(200))
    by_largest = np.arange(200) if type == "u32" else np.arange(200)[::-1]
    np.testing.assert_array_equal(exchanged(-1, 1, 0 if type == "u32" else 199, 200), by_largest)
    assert any("columns by" in remark.message for remark in kernel.remarks)


DIFFERENCE = """
define i64 @f(i32 %x, i32 %w, i32 %v) {{
  %is.0 = icmp eq i32 %w, 0
  %is.1 = icmp eq i32 %w, -1
  %next = add i32 %w, 1
  %either = icmp ult i32 %next, 2
  %some = select i1 {unsafe}, i32 1, i32 %w
  %d = sdiv i32 %x, %some
  %negative = sub i32 0, %x
  %a = select i1 %is.1, i32 {last}, i32 %d
  %q = select i1 %is.0, i32 -1, i32 %a
  %p = mul i32 %q, {factor}
  %r = sub i32 %x, %p
  %place = getelementptr i8, ptr null, i32 %r
  %result = ptrtoint ptr %place to i64
  ret i64 %result
}}
"""


@pytest.mark.parametrize(
    ("unsafe", "last", "factor", "found"),
    [
        ("%either", "%negative", "%w", 1),
        ("%is.0", "%negative", "%w", 1),
        ("%either", "%negative", "%v", 0),
        ("%either", "%x", "%w", 0),
        ("%either", "7", "%w", 0),
    ],
)
def test_differences_that_are_remainders(unsafe: str, last: str, factor: str, found: int) -> None:
    text = DIFFERENCE.format(unsafe=unsafe, last=last, factor=factor)
    x, w = (part.reshape(-1) for part in np.meshgrid(np.arange(-9, 10), np.arange(-3, 4)))
    module = read_module(text)
    arguments = [Lanes(part.astype(np.uint32)) for part in (x, w, w + 1)]
    before = run_function(module, "f", arguments, x.size).data.tolist()
    assert find_written_remainders(module.functions["f"]) == found
    assert run_function(module, "f", arguments, x.size).data.tolist() == before
    assert any(i.op == "srem" for i in module.functions["f"].instructions()) == bool(found)


SHIFTED = """
define i64 @f(i64 range(i64 0, 2147483648) %x) {{
  %m = mul nuw i64 %x, {factor}
  %q = {shift} i64 %m, {by}
  %low = trunc i64 %q to i32
  %n = mul i32 %low, {divisor}
  %number = trunc i64 %x to i32
  %d = add i32 %n, %number
  %r = sext i32 %d to i64
  %place = getelementptr i8, ptr null, i64 %r
  %result = ptrtoint ptr %place to i64
  ret i64 %result
}}
"""


@pytest.mark.parametrize(
    ("factor", "shift", "by", "divisor", "quotients", "remainders"),
    [
        (954437177, "lshr", 33, -9, 1, 1),
        (2863311531, "ashr", 37, -48, 1, 1),
        (954437177, "lshr", 33, -8, 1, 0),
        # These are not so near to 2^33 / 9 for all numbers.
        (954437178, "lshr", 33, -9, 0, 0),
        (954437176, "lshr", 33, -9, 0, 0),
    ],
)
def test_quotients_that_are_products(
    factor: int, shift: str, by: int, divisor: int, quotients: int, remainders: int
) -> None:
    module = read_module(SHIFTED.format(factor=factor, shift=shift, by=by, divisor=divisor))
    numbers = np.array([0, 1, 8, 9, 47, 48, 95, 96, 2147483646, 2147483647], np.uint64)
    before = run_function(module, "f", [Lanes(numbers)], numbers.size).data.tolist()
    assert find_written_quotients(module.functions["f"]) == quotients
    assert find_written_remainders(module.functions["f"]) == remainders
    assert run_function(module, "f", [Lanes(numbers)], numbers.size).data.tolist() == before
