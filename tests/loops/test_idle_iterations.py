"""Loops that do something for some numbers alone run over these, and as before where a distance is none."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

import numpy as np
import pytest

import weft
from weft import prange
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec

HALF = "every other stretch"


def sorting(x, n, j, k):
    for i in prange(n):
        q = i ^ j
        if q > i:
            a, b = x[i], x[q]
            if (a > b) == ((i & k) == 0):
                x[i] = b
                x[q] = a


def upper(x, n, j, k):
    for i in prange(n):
        q = i ^ j
        if q >= i:
            continue
        x[i] += 3 * x[q] + k
        x[q] -= i & j


def bounded(x, n, j, k):
    for i in prange(n):
        q = i | j
        if i & j == 0 and q < x.size and x[i] > k:
            x[i] += x[q]
            x[q] = i


def set_bit(x, n, j, k):
    for i in prange(n):
        if x[i] > k and (i & j) == j:
            x[i] = x[i ^ j] + (i | j)


def tail(x, n, j, k):
    for i in prange(32, n):
        if (i ^ j) > i:
            x[i] = k
            x[i ^ j] = i


def eights(x, n, j, k):
    for i in prange(n):
        if (i ^ 8) < i:
            x[i] = x[i - 8] * k + j


def again(x, n, j, k):
    for i in prange(n):
        q = i ^ j
        if q > i and i != k and q > i:
            x[i] += 1
            if q > i:
                x[q] += 2
            else:
                x[i] = 5
            x[i] += x[q] if i < q else 7


def remarks(function) -> str:
    return "\n".join(remark.message for remark in function.remarks)


def run_both(function: Callable[..., None], x, *numbers: int, **options: object) -> str:
    compiled = weft.jit(**options)(function)
    mine, theirs = x.copy(), x.copy()
    compiled(mine, *numbers)
    function(theirs, *numbers)
    np.testing.assert_array_equal(mine, theirs)
    return remarks(compiled)


@pytest.mark.parametrize("function", [sorting, upper, bounded, set_bit, tail, eights, again])
def test_halves_are_right_at_any_distance_and_length(function) -> None:
    rng = random.Random(function.__name__)
    x = np.random.default_rng(1).integers(0, 100, 600).astype(rng.choice((np.int32, np.float64, np.int16)))
    compiled = weft.jit()(function)
    for j in (0, 1, 2, 3, 4, 8, 16, 64, 100, 256, 1 << 40, -1, -8):
        for n in (0, 1, 40, 64, 200, 256, 301):
            if not (j >= 0 and (n - 1 | j) < x.size) and function is not eights:
                continue
            mine, theirs = x.copy(), x.copy()
            compiled(mine, n, j, 50)
            function(theirs, n, j, 50)
            np.testing.assert_array_equal(mine, theirs, str((j, n)))
    assert HALF in remarks(compiled)


def test_a_half_has_no_idle_lanes() -> None:
    x = np.random.default_rng(1).integers(0, 100, 64).astype(np.int32)
    assert HALF in run_both(sorting, x, 64, 4, 16)
    assert HALF not in run_both(sorting, x, 64, 4, 16, without=("idle-iterations",))


def other_number(x, n, j, k):
    for i in prange(n):
        if (i ^ j) > k:
            x[i] += 1


def else_too(x, n, j, k):
    for i in prange(n):
        if (i ^ j) > i:
            x[i] += 1
        else:
            x[i] -= k


def no_power(x, n, j, k):
    for i in prange(n):
        if i & 6 == 0:
            x[i] += k


def short(x, n, j, k):
    for i in prange(n):
        if i & 8:
            x[i] += k


def own_distance(x, n, j, k):
    for i in prange(n):
        d = i // 8
        if i & d == 0:
            x[i] += k


@pytest.mark.parametrize("function", [other_number, else_too, no_power, short, own_distance])
def test_other_loops_stay_as_they_were(function) -> None:
    assert HALF not in run_both(function, np.arange(64), 64, 4, 3)


def colours(x, n, j, k):
    for y in prange(1, n):
        for i in range(1, k + 5):
            if (i + y) % 2 == j:
                x[20 * y + i] += x[20 * y + i - 1] + x[20 * y + i - 20] + k


def fourths(x, n, j, k):
    for i in prange(-3, n):
        if i % 4 == j:
            x[i + 3] = x[i + 3] * 2 + k


def counted_off(x, n, j, k):
    for i in prange(k, n):
        if x[i] > 9 and not (i - j) & 1:
            x[i] += i


def same_parity(x, n, j, k):
    for i in range(n):
        if i % 2 == j % 2:
            x[i] = x[i - 1] + k


def eighths(x, n, j, k):
    for i in range(j, n):
        if ((i + k) ^ j) % 8 == 3:
            x[i] += x[i - j - 1]


@pytest.mark.parametrize("function", [colours, fourths, counted_off, same_parity, eighths])
def test_remainders_are_right_for_any_bounds(function) -> None:
    x = np.random.default_rng(1).integers(0, 20, 300).astype(np.int64)
    compiled = weft.jit()(function)
    for n in (-1, 0, 1, 2, 3, 7, 14, 15):
        for j in (0, 1, 2, 3, 5, -1, 1 << 62):
            for k in (0, 1, 6, 14):
                if function is eighths and not 0 <= j < 9:
                    continue
                mine, theirs = x.copy(), x.copy()
                compiled(mine, n, j, k)
                function(theirs, n, j, k)
                np.testing.assert_array_equal(mine, theirs, str((n, j, k)))
    assert "which runs over these alone" in remarks(compiled)


def known(x, n, j, k):
    for y in prange(n):
        for i in range(5, 12):
            if (i - 2) % 4 == 3:
                x[20 * y + i] += i
        for i in range(3):
            if i % 8 == 5:
                x[20 * y + i] = 0


def test_the_length_is_known_where_it_was() -> None:
    assert "which runs over these alone" in run_both(known, np.arange(200), 10, 0, 0)


def unknown_colour(x, n, j, k):
    for y in prange(n):
        for i in range(8):
            if i % 2 == j:
                x[8 * y + i] += k


def of_loop_around(x, n, j, k):
    for y in prange(n):
        for i in range(k):
            if (i + y) % 16 == j:
                x[8 * y + i] += 2


def down_columns(x, n, j, k):
    for y in prange(n):
        for i in range(k):
            if (i + y) % 2 == j:
                x[n * i + y] += 2


def kept_total(x, n, j, k):
    total = 0
    for i in range(n):
        if i % 2 == j:
            total += x[i]
    x[0] = total


def third(x, n, j, k):
    for i in range(n):
        if i % 3 == j:
            x[i] = k


def unlike(x, n, j, k):
    for i in range(n):
        if i % 2 != j:
            x[i] = k


@pytest.mark.parametrize(
    "function", [unknown_colour, of_loop_around, down_columns, kept_total, third, unlike]
)
def test_what_is_no_remainder_alone_stays(function) -> None:
    assert "runs over these alone" not in run_both(function, np.arange(512), 64, 1, 3)


IR = """
define void @f(ptr %x, i32 %from, i32 %to) {
entry:
  br label %head
head:
  %i = phi i32 [ %from, %entry ], [ %next, %latch ]
  %more = icmp PREDICATE i32 %i, %to
  br i1 %more, label %body, label %exit
body:
  %bit = and i32 %i, 1
  %odd = icmp ne i32 %bit, 0
  br i1 %odd, label %then, label %latch
then:
  %low = and i32 %i, 15
  %p = getelementptr i32, ptr %x, i32 %low
  %old = load i32, ptr %p
  %new = add i32 %old, %i
  store i32 %new, ptr %p
  br label %latch
latch:
  %next = add i32 %i, 1
  br label %head
exit:
  ret void
}
"""


@pytest.mark.parametrize("predicate", ["slt", "ult", "ne"])
def test_counters_may_pass_any_end_of_their_type(predicate: str) -> None:
    made = vectorize_ir(IR.replace("PREDICATE", predicate), "f", loop="auto")
    assert "runs over these alone" in str(made.remarks)
    code = load_object(made.object_code, ["f"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)(code.address("f"))
    ends = {"slt": (-9, 2**31 - 1 - 9), "ult": (-19, 3), "ne": (-9, 2**31 - 5)}[predicate]
    for first in ends:
        for length in (0, 1, 2, 7, 8):
            last = (first + length + 2**31) % 2**32 - 2**31
            mine, theirs = np.zeros(16, np.int32), np.zeros(16, np.int64)
            for i in range(first, first + length if predicate == "ne" or last >= first else first):
                theirs[i & 15] += i if i & 1 else 0
            call(mine.ctypes.data, first, last)
            np.testing.assert_array_equal(mine, (theirs + 2**31) % 2**32 - 2**31)


C = """
void pass(unsigned *restrict x, unsigned n, unsigned j, unsigned k) {
  #pragma clang loop vectorize(assume_safety)
  for (unsigned i = 0; i < n; i++) {
    unsigned q = i ^ j;
    if (q > i) {
      unsigned a = x[i], b = x[q];
      if ((i & k) == 0 ? a > b : a < b) { x[i] = b; x[q] = a; }
    }
  }
}
"""


def test_loops_of_c_have_halves_too(tmp_path) -> None:
    path = tmp_path / "pass.c"
    path.write_text(C)
    made = vectorize_ir(compile_c(path, TargetSpec.chosen().triple), "pass", loop="annotated")
    assert HALF in str(made.remarks)
    code = load_object(made.object_code, ["pass"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint] * 3)(code.address("pass"))
    for j in (0, 1, 3, 8, 64):
        mine = np.random.default_rng(2).integers(0, 99, 128).astype(np.int32)
        theirs = mine.copy()
        call(mine.ctypes.data, 128, j, 64)
        sorting(theirs, 128, j, 64)
        np.testing.assert_array_equal(mine, theirs)
