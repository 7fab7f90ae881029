"""Comparisons of lanes of one sign are signed, and answer as they did."""

import ctypes
import re

import numpy as np
import pytest

from weft.machine.targets import AVX2, AVX512, NEON, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.signed_comparisons import with_signed_comparisons

COMPARED = """
define void @f(ptr %numbers, ptr %limits, ptr %result) {{
entry:
  %x = load <8 x {type}>, ptr %numbers, align 8
  %y = load <8 x {type}>, ptr %limits, align 8
  %m = icmp {predicate} <8 x {type}> %x, %y
  %r = sext <8 x i1> %m to <8 x {type}>
  store <8 x {type}> %r, ptr %result, align 8
  ret void
}}
"""
ORDERS = {"ult": np.less, "ule": np.less_equal, "ugt": np.greater, "uge": np.greater_equal}
TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=["sse2", "avx2"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("type", TYPES)
def test_lanes_answer_as_before(isa: Isa, order: str, type: str) -> None:
    text = COMPARED.format(type=type, predicate=f"samesign {order}")
    assert "icmp samesign u" not in optimized(text, TargetSpec.of_isa(isa), FINAL)
    code = load_object(emit_object(text, TargetSpec.of_isa(isa), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("f"))
    rng = np.random.default_rng(1)
    for least in (0, -20):
        for _ in range(20):
            x, y = (rng.integers(least, least + 20, 8).astype(TYPES[type]) for _ in range(2))
            result = np.zeros(8, TYPES[type])
            function(*(a.ctypes.data for a in (x, y, result)))
            assert (result == -ORDERS[order](x, y).astype(TYPES[type])).all()


@pytest.mark.parametrize("order", ORDERS)
def test_a_mask_of_several_registers_is_asked_again_as_signed(order: str) -> None:
    """What is compared again is frozen, and no longer said to have one sign."""
    text = """
define i16 @f(<16 x i32> %x, <16 x i32> %y, i1 %go) {
entry:
  %m = icmp samesign ult <16 x i32> %x, %y
  br i1 %go, label %then, label %done
then:
  %f = freeze <16 x i1> %m
  %bits = bitcast <16 x i1> %f to i16
  br label %done
done:
  %r = phi i16 [ 0, %entry ], [ %bits, %then ]
  ret i16 %r
}
"""
    made = optimized(text.replace("ult", order), TargetSpec.of_isa(AVX2), FINAL)
    assert re.findall(r"icmp (?:samesign )?(\w+) <", made), made
    assert not re.search(r"icmp (?:samesign )?u\w+ <", made), made


@pytest.mark.parametrize("isa", [AVX512, NEON], ids=["avx512", "neon"])
def test_processors_with_unsigned_comparisons_are_left_alone(isa: Isa) -> None:
    assert with_signed_comparisons(COMPARED.format(type="i32", predicate="samesign ult"), isa) is None


@pytest.mark.parametrize("predicate", ["ult", "samesign eq", "slt"])
def test_other_comparisons_stay(predicate: str) -> None:
    assert with_signed_comparisons(COMPARED.format(type="i32", predicate=predicate), AVX2) is None


def test_single_numbers_stay() -> None:
    text = "define i1 @f(i32 %x, i32 %y) {\n  %m = icmp samesign ult i32 %x, %y\n  ret i1 %m\n}\n"
    assert with_signed_comparisons(text, AVX2) is None
