"""Loops that read what they have not written yet have a version that LLVM makes vectors of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.reads_ahead import mark_reads_ahead

LOOP = """
define void @fill(ptr noalias %best, ptr noalias %other, i64 %w, i64 %cap, i64 %n) {
entry:
  %near = load i64, ptr %other
  br label %head
head:
  %c = phi i64 [ %cap, %entry ], [ %next, %body ]
  %more = icmp sgt i64 %c, %w
  br i1 %more, label %body, label %exit
body:
  %again = load i64, ptr %other
  %apart = sub i64 %c, %w
  %asked = icmp slt i64 %apart, 0
  %end = select i1 %asked, i64 %n, i64 0
  %from = getelementptr i32, ptr %best, i64 %apart
  %place = getelementptr i32, ptr %from, i64 %end
  %old = load i32, ptr %place
  %to = getelementptr i32, ptr %best, i64 %c
  store i32 %old, ptr %to
  %next = add nsw i64 %c, -1
  br label %head
exit:
  ret void
}
"""


def test_such_a_loop_has_a_version_behind_tests() -> None:
    module = read_module(LOOP)
    assert mark_reads_ahead(module.functions["fill"]) == 1
    verify_structure(module)
    text = write_module(module)
    assert text.count("llvm.loop.parallel_accesses") == 1
    # What is loaded is not behind what is stored; indices of the version are not asked for a sign.
    assert "icmp sle i64" in text and text.count("icmp slt i64 %apart") == 1


def test_a_distance_that_has_been_loaded_before_is_known() -> None:
    module = read_module(LOOP.replace("sub i64 %c, %w", "sub i64 %c, %again"))
    assert mark_reads_ahead(module.functions["fill"]) == 1
    verify_structure(module)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # What is stored may be loaded by the same iteration, and by others.
        ("  %next = add", "  %late = load i32, ptr %place\n  store i32 %late, ptr %other\n  %next = add"),
        # The distance may be changed by what is stored.
        ("sub i64 %c, %w\n", "sub i64 %c, %unknown\n"),
        # An order of memory is asked for.
        ("%old = load i32", "%old = load volatile i32"),
        # Every other element.
        ("add nsw i64 %c, -1", "add nsw i64 %c, -2"),
        # The distance grows.
        ("sub i64 %c, %w\n", "sub i64 %c, %twice\n"),
        # Other rows are apart.
        ("%apart = sub i64 %c, %w", "%row = mul i64 %w, %n\n  %apart = sub i64 %c, %row"),
        ("%apart = sub i64 %c, %w", "%row = shl i64 %w, 3\n  %apart = sub i64 %c, %row"),
        # Nothing says that the other array is apart.
        ("%again = load i64, ptr %other", "%again = load i64, ptr %best"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = LOOP.replace(old, new)
    assert text != LOOP
    if "%unknown" in new:
        text = text.replace("%again = load i64, ptr %other", "%unknown = load i64, ptr %best")
    if "%twice" in new:
        text = text.replace("%again = load i64, ptr %other", "%twice = mul i64 %c, 2")
    module = read_module(text)
    assert mark_reads_ahead(module.functions["fill"]) == 0
    assert "llvm.loop.parallel_accesses" not in write_module(module)


def test_what_only_some_iterations_load_keeps_a_loop_as_it_is() -> None:
    text = LOOP.replace("  %old = load", "  br i1 %wanted, label %then, label %latch\nthen:\n  %old = load")
    text = text.replace("  %next = add", "  br label %latch\nlatch:\n  %next = add")
    text = text.replace("[ %next, %body ]", "[ %next, %latch ]").replace("i64 %n)", "i64 %n, i1 %wanted)")
    module = read_module(text)
    verify_structure(module)
    assert mark_reads_ahead(module.functions["fill"]) == 0


def _down(a: Any, start: int, end: int, distance: int) -> None:
    for c in range(start, end, -1):
        a[c] = a[c - distance] + 1


def _up(a: Any, start: int, end: int, distance: int) -> None:
    for c in range(start, end):
        a[c] = a[c + distance] + 1


def _knapsack(a: Any, start: int, end: int, distance: int) -> None:
    for c in range(start, end, -1):
        taken = a[c - distance] + 3
        if taken > a[c]:
            a[c] = taken


def _scatter(a: Any, start: int, end: int, distance: int) -> None:
    for c in range(start, end, -1):
        a[c - distance] = a[c] + 2


@pytest.mark.parametrize("type", [np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("program", [_down, _up, _knapsack, _scatter])
def test_results_are_those_of_the_order(program: Callable[..., None], type: Any) -> None:
    """Places ahead, behind, the same, and ones that count from the end: at the ends of the way, and in its midst."""
    size = 150
    compiled = weft.jit(program)
    first = np.random.default_rng(3).integers(0, 9, size).astype(type)
    for start, end in ((120, 30), (120, -1), (149, 119), (40, -40), (-1, -100), (20, 20), (10, 90)):
        low, high = (end, start) if program is _up else (start, end)
        for distance in (-25, -16, -2, -1, 0, 1, 2, 3, 15, 16, 25):
            if not all(-size <= place < size for c in (low, high) for place in (c - distance, c + distance)):
                continue
            expected, found = first.copy(), first.copy()
            with np.errstate(all="ignore"):
                program(expected, low, high, distance)
            compiled(found, low, high, distance)
            np.testing.assert_array_equal(found, expected, f"{low}, {high}, {distance}")


def test_a_knapsack_in_place_has_a_version() -> None:
    def knapsack(best: Any, weights: Any, values: Any, room: int) -> None:
        for i in range(weights.size):
            for c in range(room, weights[i] - 1, -1):
                best[c] = max(best[c], best[c - weights[i]] + values[i])

    weights = np.arange(3, 60, dtype=np.int32)
    values = (weights * 37 % 41).astype(np.int32)
    best, expected = np.zeros(500, np.int32), np.zeros(500, np.int32)
    compiled = weft.jit(knapsack)
    compiled(best, weights, values, 499)
    knapsack(expected, weights, values, 499)
    np.testing.assert_array_equal(best, expected)
    assert any("llvm.loop.parallel_accesses" in text for text in compiled.inspect_llvm().values())


def test_rows_of_threads_and_iterations_are_filled_in_order() -> None:
    def fill(rows: Any, weights: Any, r: int) -> None:
        for i in range(weights.size):
            for c in range(rows.shape[1] - 1, weights[i] - 1, -1):
                taken = rows[r, c - weights[i]] + i
                if taken > rows[r, c]:
                    rows[r, c] = taken

    on_device = cuda.jit(device=True)(fill)

    @cuda.jit
    def kernel(rows: Any, weights: Any) -> None:
        r = cuda.grid(1)
        if r < rows.shape[0]:
            on_device(rows, weights, r)

    of_loops = weft.jit(fill)

    @weft.jit
    def loop(rows: Any, weights: Any) -> None:
        for r in prange(rows.shape[0]):
            of_loops(rows, weights, r)

    first = np.random.default_rng(0).integers(0, 50, (37, 300)).astype(np.int32)
    weights = np.array([3, 1, 20, 0, 7, 64, 299], np.int32)
    expected, by_threads, by_iterations = first.copy(), first.copy(), first.copy()
    for r in range(first.shape[0]):
        fill(expected, weights, r)
    kernel[2, 32](by_threads, weights)
    loop(by_iterations, weights)
    np.testing.assert_array_equal(by_threads, expected)
    np.testing.assert_array_equal(by_iterations, expected)
