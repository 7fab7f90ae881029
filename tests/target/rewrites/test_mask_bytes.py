"""Masks of many lanes that go from block to block are bytes there, and what they were."""

import ctypes
import re

import numpy as np
import pytest

from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import FINAL
from weft.target.rewrites.mask_bytes import with_mask_bytes

MASKS = """
define void @f(ptr %values, ptr %limits, ptr %result, i64 %rounds) {{
entry:
  %x = load <{n} x i32>, ptr %values, align 4
  %y = load <{n} x i32>, ptr %limits, align 4
  %m = icmp slt <{n} x i32> %x, %y
  br label %head

head:                                             ; preds = %entry, %body
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %on = phi <{n} x i1> [ %m, %entry ], [ %less, %body ]
  %last = phi <{n} x i1> [ {start}, %entry ], [ %on, %body ]
  %more = icmp ult i64 %k, %rounds
  br i1 %more, label %body, label %done

body:                                             ; preds = %head
  %kept = load <{n} x i32>, ptr %result, align 4
  %sum = add <{n} x i32> %kept, splat (i32 1)
  %some = select <{n} x i1> %on, <{n} x i32> %sum, <{n} x i32> %kept
  store <{n} x i32> %some, ptr %result, align 4
  %few = trunc i64 %k to i32
  %single = insertelement <{n} x i32> poison, i32 %few, i64 0
  %all = shufflevector <{n} x i32> %single, <{n} x i32> poison, <{n} x i32> zeroinitializer
  %above = icmp sgt <{n} x i32> %x, %all
  %less = and <{n} x i1> %on, %above
  %next = add i64 %k, 1
  br label %head

done:                                             ; preds = %head
  %before = zext <{n} x i1> %last to <{n} x i32>
  %first = zext <{n} x i1> %m to <{n} x i32>
  %two = mul <{n} x i32> %first, splat (i32 1000)
  %both = add <{n} x i32> %before, %two
  %found = load <{n} x i32>, ptr %result, align 4
  %result.of = add <{n} x i32> %found, %both
  store <{n} x i32> %result.of, ptr %result, align 4
  ret void
}}
"""
STARTS = ("zeroinitializer", "splat (i1 true)")


def program(lanes: int, start: str) -> str:
    mixed = ", ".join(f"i1 {('true', 'false')[k % 3 == 0]}" for k in range(lanes))
    return MASKS.format(n=lanes, start=f"<{mixed}>" if start == "mixed" else start)


def expected(x: np.ndarray, y: np.ndarray, start: str, rounds: int) -> np.ndarray:
    on, found = x < y, np.zeros_like(x)
    last = np.arange(x.size) % 3 != 0 if start == "mixed" else np.full(x.size, start != STARTS[0])
    for k in range(rounds):
        found[on] += 1
        last, on = on, on & (x > k)
    return found + last + 1000 * (x < y)


@pytest.mark.spread
@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=["sse2", "avx2"])
@pytest.mark.parametrize("lanes", [16, 32, 64])
@pytest.mark.parametrize("start", [*STARTS, "mixed"])
def test_masks_are_what_they_were(isa: Isa, lanes: int, start: str) -> None:
    code = load_object(emit_object(program(lanes, start), TargetSpec.of_isa(isa), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code.address("f"))
    rng = np.random.default_rng(lanes)
    for rounds in (0, 1, 2, 7):
        x, y = (rng.integers(0, 9, lanes).astype(np.int32) for _ in range(2))
        result = np.zeros(lanes, np.int32)
        function(*(a.ctypes.data for a in (x, y, result)), rounds)
        np.testing.assert_array_equal(result, expected(x, y, start, rounds))


@pytest.mark.parametrize(("isa", "lanes"), [(SSE2, 32), (SSE2, 64), (AVX2, 64)])
def test_no_mask_of_more_lanes_than_bytes_goes_on(isa: Isa, lanes: int) -> None:
    text = with_mask_bytes(program(lanes, "mixed"), isa)
    assert text is not None
    assert f"phi <{lanes} x i1>" not in text
    assert text.count(f"phi <{lanes} x i8>") == 2
    assert "i8 -1, i8 0" not in program(lanes, "mixed") and "<i8 0, i8 -1, i8 -1, i8 0" in text
    # In the block that makes it, a mask is used as it is.
    assert re.search(r"%less = and <\d+ x i1> %weft\.mask\.\d+\.in\.\d+, %above", text)
    # Lanes one by one are what this is for.
    taken = [emit_assembly(t, TargetSpec.of_isa(isa)).count("pextr") for t in (text, program(lanes, "mixed"))]
    assert taken[0] == 0 or taken[0] < taken[1]


@pytest.mark.parametrize(("isa", "lanes"), [(SSE2, 16), (AVX2, 32), (AVX512, 64)])
def test_other_masks_stay(isa: Isa, lanes: int) -> None:
    assert with_mask_bytes(program(lanes, "mixed"), isa) is None


PARAMETER = """
define <{n} x i32> @f(i64 %rounds, <{n} x i1> noundef %given, <{n} x i32> %x) {{
  br label %head

head:                                             ; preds = %0, %head
  %k = phi i64 [ 0, %0 ], [ %next, %head ]
  %on = phi <{n} x i1> [ %given, %0 ], [ splat (i1 true), %head ]
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %head, label %done

done:                                             ; preds = %head
  %both = and <{n} x i1> %on, %given
  %some = select <{n} x i1> %both, <{n} x i32> %x, <{n} x i32> zeroinitializer
  ret <{n} x i32> %some
}}
"""


@pytest.mark.parametrize(("isa", "lanes"), [(SSE2, 32), (AVX2, 64)])
def test_masks_that_are_parameters_go_on_as_bytes_too(isa: Isa, lanes: int) -> None:
    text = with_mask_bytes(PARAMETER.format(n=lanes), isa)
    assert text is not None
    assert f"phi <{lanes} x i8>" in text and f"phi <{lanes} x i1>" not in text
    assert text.count(f"sext <{lanes} x i1> %given to <{lanes} x i8>") == 1
    emit_assembly(text, TargetSpec.of_isa(isa), FINAL)
