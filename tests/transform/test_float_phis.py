"""Floats that φs hand on as integers of their bits are handed on as floats."""

import pytest

from weft.interp import Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.unrolled.float_phis import hand_on_floats

TEXT = """
define i32 @f(i64 %n) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %after
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi float [ 1.0, %entry ], [ %t, %loop ]
  %t = fmul float %s, 1.5
  %bits = {made}
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  %last = phi i32 [ %bits, %loop ]
  br label %after
after:
  %r = phi i32 [ {start}, %entry ], [ %last, %exit ]
  %x = bitcast i32 %r to float
  %y = fadd float %x, 1.0
  %z = bitcast float %y to i32
  %w = xor i32 %z, %r
  ret i32 %w
}}
"""
BITS = "bitcast float %t to i32"


def module_of(made: str, start: str) -> Module:
    module = read_module(TEXT.format(made=made, start=start))
    verify(module)
    return module


@pytest.mark.parametrize("start", ["-8388608", "0", "1065353216", "poison"])
def test_they_are_handed_on(start: str) -> None:
    before, after = module_of(BITS, start), module_of(BITS, start)
    assert hand_on_floats(after.functions["f"]) == 2
    verify(after)
    assert not any(i.is_phi and str(i.type) == "i32" for i in after.functions["f"].instructions())
    for n in (0, 1, 5) if start != "poison" else (1, 5):
        one, other = (run_function(Program(m), "f", [n], 1) for m in (before, after))
        assert str(one.value) == str(other.value)


@pytest.mark.parametrize(
    ("made", "start"),
    [("fptosi float %t to i32", "0"), (BITS, "2143289344"), ("add i32 1, 2", "0")],
    ids=["no bits", "no number", "integers"],
)
def test_others_stay(made: str, start: str) -> None:
    assert hand_on_floats(module_of(made, start).functions["f"]) == 0
