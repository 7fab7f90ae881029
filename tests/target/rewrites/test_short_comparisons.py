"""Lanes are asked by numbers of 32 bits where these have no more, and answer as before."""

import ctypes

import numpy as np
import pytest

from weft.machine.targets import AVX2, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import FINAL
from weft.target.rewrites.short_comparisons import with_short_comparisons

LANES = ", ".join(f"i64 {k}" for k in range(8))
LOADED = f"""
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)

define void @f(ptr %values, ptr %result, i64 %n) {{
entry:
  %some = and i64 %n, 63
  %left = add nsw i64 %some, -1
  %one = insertelement <8 x i64> poison, i64 %left, i64 0
  %all = shufflevector <8 x i64> %one, <8 x i64> poison, <8 x i32> zeroinitializer
  %m = icmp uge <8 x i64> %all, <{LANES}>
  %x = tail call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %values, <8 x i1> %m, <8 x float> zeroinitializer)
  store <8 x float> %x, ptr %result, align 4
  ret void
}}
"""


def ran(text: str, n: int) -> list[float]:
    values, result = np.arange(1, 9, dtype=np.float32), np.zeros(8, np.float32)
    code = load_object(emit_object(text, TargetSpec.of_isa(AVX2), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))
    function(values.ctypes.data, result.ctypes.data, n)
    return result.tolist()


@pytest.mark.parametrize("predicate", ["uge", "ugt", "ule", "ult", "eq", "ne"])
def test_lanes_answer_as_before(predicate: str) -> None:
    text = LOADED.replace("uge", predicate)
    made = with_short_comparisons(text, AVX2)
    assert made is not None and f"icmp {predicate} <8 x i32>" in made
    for n in (0, 1, 5, 8, 9, 63, 64, (1 << 32) + 3):
        assert ran(made, n) == ran(text, n), n


@pytest.mark.parametrize(
    ("old", "new", "isa"),
    [
        ("and i64 %n, 63", "or i64 %n, 63", AVX2),
        ("and i64 %n, 63", "and i64 %n, 8589934591", AVX2),
        ("uge <8 x i64>", "sge <8 x i64>", AVX2),
        ("i64 7>", "i64 4294967296>", AVX2),
        ("float", "double", AVX2),
        ("and i64 %n, 63", "and i64 %n, 63 ", SSE2),
    ],
    ids=["not known", "33 bits", "with sign", "lanes of 33 bits", "doubles", "SSE2"],
)
def test_others_stay(old: str, new: str, isa: Isa) -> None:
    text = LOADED.replace(old, new).replace("v8f32", "v8f64" if new == "double" else "v8f32")
    assert text != LOADED
    assert with_short_comparisons(text, isa) is None
