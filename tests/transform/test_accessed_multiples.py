"""Multiples of positions that are accessed do not wrap around, however they are written (`accessed_multiples`)."""

import numpy as np
import pytest

from weft import ptx
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.signed_indices import sign_indices

ACCESS = """
define i8 @f(ptr %in, i64 range(i64 0, 1073741824) %t, i32 range(i32 -1000, 1000000000) %k, i32 %u)
    "weft.small.arrays" "weft.array.begins" {{
  %n = trunc nuw nsw i64 %t to i32
{body}
  %p = getelementptr i8, ptr %in, i64 %i
  %v = load i8, ptr %p
  ret i8 %v
}}
"""


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("  %m = mul i32 %n, 3\n  %s = add i32 %m, 5\n  %i = sext i32 %s to i64", "mul nsw i64 %t, 3"),
        ("  %m = shl i32 %n, 2\n  %o = or disjoint i32 %m, 1\n  %s = sub i32 %o, %n\n  %i = sext i32 %s to i64",
         "mul nsw i64 %t, 3"),
        ("  %m = mul i64 %t, 12884901888\n  %i = ashr exact i64 %m, 32", "mul nsw i64 %t, 3"),
        ("  %m = mul i64 %t, 12884901888\n  %i = lshr exact i64 %m, 30", "mul nsw i64 %t, 12"),
        ("  %m = mul i32 %k, 4\n  %i = zext i32 %m to i64", "mul nsw i32 %k, 4"),
        # These may have wrapped around to where they are accessed.
        ("  %m = mul i32 %n, 5\n  %i = sext i32 %m to i64", None),
        ("  %m = mul i32 %k, 5\n  %i = zext i32 %m to i64", None),
        ("  %m = mul i32 %u, 3\n  %i = sext i32 %m to i64", None),
        ("  %m = mul i64 %t, 21474836480\n  %i = ashr exact i64 %m, 32", None),
        # Less than the low half counts.
        ("  %m = mul i64 %t, 6442450944\n  %i = ashr i64 %m, 32", None),
    ],
)  # fmt: skip
def test_multiples_that_are_accessed_have_not_wrapped_around(body: str, made: str | None) -> None:
    module = read_module(ACCESS.format(body=body))
    assert sign_indices(module.functions["f"]) == (made is not None)
    verify(module)
    text = write_module(module)
    assert made in text if made is not None else "nsw" not in text.replace("trunc nuw nsw", "")


def test_arrays_that_may_begin_elsewhere_tell_less() -> None:
    text = ACCESS.format(body="  %m = mul i32 %n, 3\n  %i = sext i32 %m to i64")
    assert sign_indices(read_module(text.replace('"weft.array.begins"', "")).functions["f"]) == 0


# out[3 * i + k] = in[3 * i + 2 - k], as nvcc writes that.
TURNED = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry turn(.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %ntid.x;
  mov.u32 %r7, %tid.x;
  mad.lo.u32 %r8, %r5, %r6, %r7;
  setp.ge.u32 %p, %r8, %r1;
  @%p bra done;
  mul.lo.s32 %r9, %r8, 3;
  cvt.u64.u32 %rd3, %r9;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u8 %r2, [%rd4];
  ld.global.u8 %r3, [%rd4+1];
  ld.global.u8 %r4, [%rd4+2];
  st.global.u8 [%rd5], %r4;
  st.global.u8 [%rd5+1], %r3;
  st.global.u8 [%rd5+2], %r2;
done:
  ret;
}
"""


def test_pixels_of_three_bytes_are_not_gathered() -> None:
    kernel = ptx.Module(TURNED).turn
    pixels = np.random.default_rng(1).integers(0, 256, (300, 3), np.uint8)
    result = np.zeros_like(pixels)
    kernel[3, 128](pixels, result, 300)
    np.testing.assert_array_equal(result, pixels[:, ::-1])
    assert not any("gather" in r.message or "scatter" in r.message for r in kernel.remarks)
