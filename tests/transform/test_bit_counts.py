"""Loops that count bits are one instruction, and functions return what they returned."""

import numpy as np
import pytest

import weft
from transform.chain import returned
from weft import cuda, prange
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.bit_counts import count_bits

#   entry          The number is asked before its bits are taken.
#     |
#   head <---+
#    |  \    |
#   out  body
HEAD = """
entry:
  br label %head
head:
  %v = phi i32 [ %x, %entry ], [ %w, %body ]
  %n = phi i64 [ %s, %entry ], [ %m, %body ]
  %t = icmp {test} i32 %v, {bound}
  br i1 %t, label %{first}, label %{second}
body:
{body}
  br label %head
out:
  %r = phi i64 [ %n, %head ]
  ret i64 %r
"""
#   entry
#     |
#   body <-+       It is asked behind that.
#    |  \__|
#   out
LAST = """
entry:
  br label %body
body:
  %v = phi i32 [ %x, %entry ], [ %w, %body ]
  %n = phi i64 [ %s, %entry ], [ %m, %body ]
{body}
  %t = icmp eq i32 %w, 0
  br i1 %t, label %out, label %body
out:
  %left = zext i32 %w to i64
  %r = add i64 %m, %left
  ret i64 %r
"""
LEAST = "  %y = add i32 %v, -1\n  %w = and i32 {operands}\n  %m = add i64 %n, {step}"
SHIFTED = "  %b = and i32 %v, 1\n  %z = zext i32 %b to i64\n  %m = add i64 %z, %n\n  %w = {shift} i32 %v, 1"
NUMBERS = [0, 1, 2, 3, 7, 12, 255, 65536, (1 << 31) - 1, -1, -2, -(1 << 31)]


def parsed(body: str) -> Function:
    module = read_module(f"define i64 @f(i32 %x, i64 %s) {{\n{body}\n}}\n")
    verify(module)
    return module.functions["f"]


def counted(body: str, numbers: list[int] = NUMBERS) -> bool:
    """Whether the loop is gone, and what is returned the same."""
    function = parsed(body)
    x, s = np.array(numbers, np.int32), np.arange(len(numbers), dtype=np.int64) * 5 - 9
    before = returned("f", [x, s], len(x))(function.module, "FR")
    changed = count_bits(function) > 0
    assert function.module is not None
    verify(function.module)
    np.testing.assert_equal(returned("f", [x, s], len(x))(function.module, "FR"), before)
    assert changed == ("llvm.ctpop" in write_module(function.module))
    return changed


def head(body: str, test: str = "eq", bound: int = 0, *, out_first: bool = True) -> str:
    first, second = ("out", "body") if out_first else ("body", "out")
    return HEAD.format(test=test, bound=bound, first=first, second=second, body=body)


@pytest.mark.parametrize(("operands", "step"), [("%v, %y", 1), ("%y, %v", -3)])
def test_bits_that_are_taken_from_below_are_counted_at_once(operands: str, step: int) -> None:
    body = LEAST.format(operands=operands, step=step)
    assert (
        counted(head(body)) and counted(head(body, "ne", out_first=False)) and counted(LAST.format(body=body))
    )


def test_bits_that_are_shifted_out_are_counted_at_once() -> None:
    assert counted(head(SHIFTED.format(shift="lshr"))) and counted(
        LAST.format(body=SHIFTED.format(shift="lshr"))
    )


def test_numbers_with_a_sign_are_asked_whether_they_are_above_zero() -> None:
    signed = SHIFTED.format(shift="ashr")
    assert counted(head(signed, "sgt", out_first=False)) and counted(head(signed, "slt", 1))
    # -1 shifted is -1 for ever.
    function = parsed(head(signed))
    assert count_bits(function) == 0


def test_other_loops_stay() -> None:
    least = LEAST.format(operands="%v, %y", step=1)
    more = least + "\n  %more = add i64 %m, %s"
    assert count_bits(parsed(head(more))) == 0
    assert count_bits(parsed(head(least.replace("add i32 %v, -1", "add i32 %v, -2")))) == 0
    assert count_bits(parsed(head(least).replace("ret i64 %r", "%k = zext i32 %v to i64\n  ret i64 %k"))) == 1
    assert count_bits(parsed(LAST.format(body=least).replace("add i64 %m, %left", "add i64 %n, %left"))) == 0


@cuda.jit
def bits_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v, n = x[i], 0
        while v:
            v &= v - np.uint32(1)
            n += 1
        out[i] = n


def bits_loop(x, out):
    for i in prange(x.size):
        v, n = x[i], 0
        while v > 0:
            n += v & 1
            v >>= 1
        out[i] = n


def test_both_forms_count_bits_without_loops() -> None:
    x = np.random.default_rng(1).integers(0, 2**32, 100, dtype=np.uint32)
    wanted = [int(v).bit_count() for v in x]
    for form in (bits_kernel[1, 128], weft.jit(bits_loop)):
        out = np.zeros(100, np.int64)
        form(x, out)
        assert out.tolist() == wanted
    assert "llvm.ctpop" in str(next(iter(bits_kernel.inspect_llvm().values())))
