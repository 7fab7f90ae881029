"""Vectors that are stored in one order or the other exchange their places, where nothing can tell the difference."""

import ctypes

import numpy as np
import pytest

from weft.machine.targets import AVX2, AVX512, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.exchanged_stores import with_exchanged_stores

PUSHED = """
define void @f(ptr %from, ptr %to, i32 %order, i64 %top) {
entry:
  %numbers = alloca [8 x i32], align 16
  %gaps = alloca [1024 x i8], align 64
  %a = load <32 x float>, ptr %from, align 4
  %behind = getelementptr i8, ptr %from, i64 128
  %b = load <32 x float>, ptr %behind, align 4
  %c = icmp slt i32 %order, 3
  %before = add nsw i64 %top, -1
  %p = getelementptr [128 x i8], ptr %gaps, i64 %before
  %near = select i1 %c, <32 x float> %a, <32 x float> %b
  store <32 x float> %near, ptr %p, align 64
  %number = getelementptr inbounds i32, ptr %numbers, i64 %top
  store i32 %order, ptr %number, align 4
  %q = getelementptr [128 x i8], ptr %gaps, i64 %top
  %far = select i1 %c, <32 x float> %b, <32 x float> %a
  store <32 x float> %far, ptr %q, align 64
  %below = load <32 x float>, ptr %p, align 4
  %above = load <32 x float>, ptr %q, align 4
  store <32 x float> %below, ptr %to, align 4
  %next = getelementptr i8, ptr %to, i64 128
  store <32 x float> %above, ptr %next, align 4
  ret void
}
"""


@pytest.mark.parametrize("isa", [AVX2, AVX512])
def test_places_are_exchanged(isa: Isa) -> None:
    text = with_exchanged_stores(PUSHED, isa)
    assert text is not None
    assert "store <32 x float> %a, ptr %weft.exchanged.0.first, align 64" in text
    assert "store <32 x float> %b, ptr %weft.exchanged.0.second, align 64" in text


def test_requests_for_what_is_looked_up_later_are_no_obstacle() -> None:
    asked = "  call void @llvm.prefetch.p0(ptr %from, i32 0, i32 3, i32 1)\n"
    pushed = PUSHED.replace("  %number =", asked + "  %number =")
    text = with_exchanged_stores(pushed, AVX2)
    assert text is not None and asked in text
    assert "store <32 x float> %b, ptr %weft.exchanged.0.second, align 64" in text
    # Another call may touch what is stored.
    assert with_exchanged_stores(pushed.replace("llvm.prefetch.p0", "somebody"), AVX2) is None


@pytest.mark.parametrize("order", [2, 3])
def test_memory_gets_what_it_got(order: int) -> None:
    spec = TargetSpec.chosen()
    text = with_exchanged_stores(PUSHED, AVX2)
    assert text is not None
    code = load_object(emit_object(optimized(text, spec, FINAL), spec), ["f"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)(
        code.address("f")
    )
    values, result = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    call(values.ctypes.data, result.ctypes.data, order, 2)
    np.testing.assert_array_equal(result, values if order < 3 else np.roll(values, 32))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The places may overlap; they may be elements of two arrays; one is no stack object's.
        ("%q = getelementptr [128 x i8]", "%q = getelementptr [64 x i8]"),
        ("ptr %gaps, i64 %before", "ptr %gaps, i64 %order.wide"),
        ("%p = getelementptr [128 x i8], ptr %gaps", "%p = getelementptr [128 x i8], ptr %to"),
        # In between somebody looks.
        ("store i32 %order, ptr %number, align 4", "%seen = load i32, ptr %p, align 4"),
        ("store i32 %order, ptr %number, align 4", "store i32 %order, ptr %to, align 4"),
        ("store i32 %order, ptr %number, align 4", "call void @look()"),
        # A choice is used otherwise, or is another one.
        ("store <32 x float> %below", "store <32 x float> %near"),
        ("%far = select i1 %c, <32 x float> %b", "%far = select i1 %c, <32 x float> %below"),
    ],
)
def test_what_somebody_could_tell_stays(one: str, other: str) -> None:
    assert one in PUSHED
    assert with_exchanged_stores(PUSHED.replace(one, other), AVX2) is None


def test_two_arrays_are_exchanged_each() -> None:
    twice = PUSHED.replace(
        "  %numbers = alloca", "  %more = alloca [1024 x i8], align 64\n  %numbers = alloca"
    ).replace(
        "  store i32 %order, ptr %number, align 4\n",
        """  %m = getelementptr [128 x i8], ptr %more, i64 %before
  %low = select i1 %c, <32 x float> %b, <32 x float> %a
  store <32 x float> %low, ptr %m, align 64
  %n = getelementptr [128 x i8], ptr %more, i64 %top
  %high = select i1 %c, <32 x float> %a, <32 x float> %b
  store <32 x float> %high, ptr %n, align 64
""",
    )
    text = with_exchanged_stores(twice, AVX2)
    assert text is not None
    assert text.count(" = freeze i1 %c") == 2
