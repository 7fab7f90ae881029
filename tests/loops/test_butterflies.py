"""Loops over pairs of elements at a distance known when they run: merged, in lanes, and only where they are apart."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

import numpy as np
import pytest

import weft
from pairs import WHOLE
from weft import prange
from weft.analysis.loops.butterflies import nest_of_butterflies
from weft.frontend.clang import compile_c
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object


def walsh(x):
    d = 1
    while d < x.size:
        for first in range(0, x.size, 2 * d):
            for k in range(first, first + d):
                a, b = x[k], x[k + d]
                x[k] = a + b
                x[k + d] = a - b
        d *= 2


def bitonic_sort(x):
    for block in prange(x.size // 64):
        part = x[64 * block : 64 * (block + 1)]
        length = 2
        while length <= 64:
            d = length // 2
            while d > 0:
                for first in range(0, 64, 2 * d):
                    rising = (first & length) == 0
                    for k in range(first, first + d):
                        a, b = part[k], part[k + d]
                        less, more = min(a, b), max(a, b)
                        part[k] = less if rising else more
                        part[k + d] = more if rising else less
                d //= 2
            length *= 2


def fourier(re, im, cosines, sines):
    m = 2
    while m <= re.size:
        half, step = m // 2, re.size // m
        for first in range(0, re.size, m):
            for j in range(half):
                a, b = re[first + j], im[first + j]
                c, d = re[first + j + half], im[first + j + half]
                u, v = cosines[j * step], sines[j * step]
                p, q = c * u - d * v, c * v + d * u
                re[first + j], im[first + j] = a + p, b + q
                re[first + j + half], im[first + j + half] = a - p, b - q
        m *= 2


def stage(x, begin, end, d, step, shift):
    for first in range(begin, end, step):
        for k in range(first, first + d):
            a, b = x[k + shift], x[k + d + shift]
            x[k + shift] = a + 3 * b
            x[k + d + shift] = a - b


def two_rows(x, y, begin, end, d):
    for first in range(begin, end, 2 * d):
        for k in range(first, first + d):
            x[k] += y[k + d]
            y[k] -= x[k + d]


def wide(x, d, parts):
    for part in prange(parts):
        low = 2 * 32 * part - ((32 * part) & (d - 1))
        for k in range(low, low + 32):
            a, b = x[k], x[k + d]
            x[k] = a + b
            x[k + d] = a - b


def far(x, begin, count, d, times):
    for _ in prange(times):
        for k in range(begin, begin + count):
            a, b = x[k], x[k + d]
            x[k] = a + 3 * b
            x[k + d] = a - b


def both(
    function: Callable[..., None], *arguments: object, **options: object
) -> weft.loops.jit_function.JitFunction:
    """Run a function compiled and in Python; assert that memory is the same."""
    compiled = weft.jit(**options)(function)
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    compiled(*mine)
    function(*arguments)
    for a, b in zip(mine, arguments, strict=True):
        np.testing.assert_array_equal(a, b)
    return compiled


def remarks(function) -> str:
    return "\n".join(remark.message for remark in function.remarks)


@pytest.mark.parametrize("type", [np.int32, np.float64, np.int8, np.complex64])
def test_a_nest_over_pairs_is_one_loop_in_lanes(type) -> None:
    x = np.random.default_rng(1).integers(-2, 3, 256).astype(type)
    assert "one loop goes over all pairs" in remarks(both(walsh, x))


@pytest.mark.parametrize("options", [{}, {"parallel": "auto"}, {"width": 8}])
def test_sorting_networks_sort(options) -> None:
    x = np.random.default_rng(2).permutation(256).astype(np.int32)
    compiled = both(bitonic_sort, x, **options)
    assert (x.reshape(-1, 64) == np.sort(x.reshape(-1, 64), axis=1)).all()
    assert "one loop goes over all pairs" in remarks(compiled)
    assert "iterations at a time" in remarks(compiled)


def test_rows_of_several_arrays_are_tested_to_lie_apart() -> None:
    n = 64
    rng = np.random.default_rng(3)
    re, im = rng.integers(-3, 4, n).astype(np.float64), rng.integers(-3, 4, n).astype(np.float64)
    turns = rng.integers(-2, 3, (2, n)).astype(np.float64)
    assert "arrays lie apart" in remarks(both(fourier, re, im, *turns))
    compiled = weft.jit(two_rows)
    for shift in (0, 1, 8, 60, 64, 65):
        memory = rng.integers(0, 9, 256)
        wanted = memory.copy()
        two_rows(wanted[:128], wanted[shift : shift + 128], 0, 128, 16)
        compiled(memory[:128], memory[shift : shift + 128], 0, 128, 16)
        np.testing.assert_array_equal(memory, wanted, f"shift {shift}")


@pytest.mark.parametrize("seed", range(12 if WHOLE else 5))
def test_random_numbers_are_those_of_the_loop_in_order(seed: int) -> None:
    """Most of them break what is tested: strides, starts, distances that are no powers, none, or negative."""
    rng = random.Random(f"butterflies {seed}")
    compiled = weft.jit(stage)
    for _ in range(12):
        d = rng.choice((1, 2, 4, 8, 16, 32, 64, 3, 12, 0, -4))
        step = rng.choice((2 * d, 2 * d, 2 * d, d, 3 * d, 2 * d + 1, 4)) or 2
        begin, end = rng.choice((0, 0, 1, 5, 16)), rng.randrange(200)
        if step < 0:
            begin, end = end, begin
        shift = rng.choice((0, 0, 1, 3, -1, -2))
        x = np.random.default_rng(seed).integers(-9, 9, 512)
        wanted = x.copy()
        stage(wanted, begin, end, d, step, shift)
        compiled(x, begin, end, d, step, shift)
        np.testing.assert_array_equal(x, wanted, f"{begin} {end} {d} {step} {shift}")


def test_lanes_run_along_a_row_whose_distance_is_no_less_than_its_iterations() -> None:
    x = np.random.default_rng(4).integers(-9, 9, 512)
    compiled = both(wide, x, 128, 8)
    assert "may run in any order, if their distance is not less" in remarks(compiled)
    compiled = weft.jit(far)
    for begin, count, d in [
        (0, 64, 64),
        (3, 64, 80),
        (0, 64, 16),
        (0, 64, 63),
        (0, 40, 1),
        (70, 40, -64),
        (-90, 40, 45),
    ]:
        x = np.random.default_rng(5).integers(-9, 9, 300)
        wanted = x.copy()
        far(wanted, begin, count, d, 1)
        compiled(x, begin, count, d, 1)
        np.testing.assert_array_equal(x, wanted, f"{begin} {count} {d}")


def three(x, d):
    for first in range(0, x.size - 3 * d, 2 * d):
        for k in range(first, first + d):
            x[k] += x[k + 2 * d]
            x[k + d] -= x[k]


def other_member(x, d):
    for first in range(0, x.size - 2, 2 * d):
        for k in range(first, first + d):
            x[k + 1] += x[k + d]


def sums(x, d):
    total = 0
    for first in range(0, x.size, 2 * d):
        for k in range(first, first + d):
            total += x[k] - x[k + d]
    x[0] = total


@pytest.mark.parametrize("function", [three, other_member, sums])
def test_pairs_that_meet_and_values_that_are_handed_on_stay_in_order(function) -> None:
    x = np.random.default_rng(6).integers(-9, 9, 128)
    compiled = weft.jit(function)
    for d in (1, 4, 16, 32):
        mine, wanted = np.append(x, x), np.append(x, x)
        function(wanted[:128], d)
        compiled(mine[:128], d)
        np.testing.assert_array_equal(mine, wanted)
    assert function is three or "pairs" not in remarks(compiled)


def test_without_leaves_it_out() -> None:
    x = np.arange(64)
    assert "pairs" not in remarks(both(walsh, x, without=("butterflies",)))


SOURCE = """
typedef long long i64;
void walsh(int n, int *restrict x, int *y) {
  for (int d = 1; d < n; d *= 2)
    for (int first = 0; first < n; first += 2 * d)
      for (int k = first; k < first + d; k++) {
        int a = x[k], b = x[k + d];
        x[k] = a + b;
        x[k + d] = a - b;
      }
}
void stage(int n, int *x, int *y) {
  i64 d = y[0], end = y[1];
  for (i64 first = 0; first < end; first += 2 * d)
    for (i64 j = 0; j < d; j++) {
      int a = x[first + j], b = x[first + j + d];
      x[first + j] = a + 3 * b;
      x[first + j + d] = a - b;
    }
}
void two(int n, int *x, int *y) {
  int d = n / 8;
  for (int first = 0; first < n; first += 2 * d)
    for (int j = 0; j < d; j++) {
      x[first + j] += y[first + j + d];
      y[first + j] -= x[first + j + d];
    }
}
"""


@pytest.mark.parametrize("name", ["walsh", "stage", "two"])
def test_loops_of_c_are_merged(name: str, tmp_path) -> None:
    path = tmp_path / "pairs.c"
    path.write_text(SOURCE)
    text = compile_c(path, TargetSpec.chosen().triple)
    made = vectorize_ir(text, name, loop="auto")
    assert "one loop goes over all pairs" in str(made.remarks)
    rng = np.random.default_rng(8)
    codes = [load_object(code, [name]) for code in (made.object_code, emit_object(text, TargetSpec.chosen()))]
    # Where there are no distances, `two` has no end, which C lets compilers do anything about.
    numbers = (8, 64, 128) if name == "two" else (1, 8, 64, 128)
    cases = [
        (n, other, shift)
        for n in numbers
        for other in ((16, 100), (0, 0), (3, 90))
        for shift in (0, 1, 16, 64)
    ]
    for n, other, shift in cases:
        memory = rng.integers(-9, 9, 512).astype(np.int32)
        found = []
        for code in codes:
            mine = memory.copy()
            mine[:2] = other
            base = mine.ctypes.data
            places = (
                (base + 8, base)
                if name == "stage"
                else (base, base + 4 * (256 if name == "walsh" else shift))
            )
            if name == "stage" and not other[0]:
                continue
            ctypes.CFUNCTYPE(None, ctypes.c_int, *[ctypes.c_void_p] * 2)(code.address(name))(n, *places)
            found.append(mine)
        if found:
            np.testing.assert_array_equal(*found)


ASKED_BEFORE = """
define i64 @f(ptr %x, i64 %n, i64 %d, i64 %c) {
entry:
  %negative = icmp slt i64 %c, 0
  %step = shl i64 %d, 1
  br label %outer
outer:
  %first = phi i64 [ 0, %entry ], [ %next, %latch ]
  %more = icmp slt i64 %first, %n
  br i1 %more, label %before, label %exit
before:
  %end = add i64 %first, %d
  br label %inner
inner:
  %k = phi i64 [ %first, %before ], [ %following, %body ]
  %goes = icmp slt i64 %k, %end
  br i1 %goes, label %body, label %latch
body:
  %far = add i64 %k, 64
  %place = select i1 %negative, i64 %far, i64 %k
  %p = getelementptr i64, ptr %x, i64 %place
  %high = add i64 %place, %d
  %q = getelementptr i64, ptr %x, i64 %high
  %a = load i64, ptr %p
  %b = load i64, ptr %q
  %s = add i64 %a, %b
  store i64 %s, ptr %p
  store i64 %a, ptr %q
  %following = add nsw i64 %k, 1
  br label %inner
latch:
  %next = add nsw i64 %first, %step
  br label %outer
exit:
  %answer = zext i1 %negative to i64
  ret i64 %answer
}
"""


def test_what_is_asked_before_the_loop_is_not_answered() -> None:
    """The answer is used behind the loop, too, and where nothing was tested."""
    function = read_module(ASKED_BEFORE).functions["f"]
    view = cfg_of(function)
    (outer,) = (loop for loop in loop_forest(view.cfg).loops if loop.parent is None)
    assert nest_of_butterflies(view, outer, function.layout) is None


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_small_objects_of_iterations_leave_lanes_to_the_loop_around(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)

    @weft.jit
    def sort_rows(a, out):
        for i in prange(a.shape[0]):
            v = np.empty(8, np.int32)
            for k in range(8):
                v[k] = a[i, k]
            d = 4
            while d >= 1:
                for first in range(0, 8, 2 * d):
                    for k in range(first, first + d):
                        v[k], v[k + d] = min(v[k], v[k + d]), max(v[k], v[k + d])
                d //= 2
            for k in range(8):
                out[i, k] = v[k]

    a = np.random.default_rng(1).integers(-99, 99, (70, 8)).astype(np.int32)
    # A merge sorts what rises and then falls.
    a = np.concatenate([np.sort(a[:, :4]), np.sort(a[:, 4:])[:, ::-1]], axis=1)
    out = np.zeros_like(a)
    sort_rows(a, out)
    assert np.array_equal(out, np.sort(a))
    remarks = " ".join(map(str, sort_rows.remarks))
    assert "may run in any order" not in remarks and "pairs of elements" not in remarks
    assert "iterations at a time on all cores" in remarks


def test_where_a_row_begins_is_no_distance() -> None:
    """`x + y * width` is what each access adds: no iteration has two elements of one array at a distance."""

    @weft.jit
    def scale(a, out):
        for y in weft.prange(a.shape[0]):
            for x in range(a.shape[1]):
                out[y, x, 0] = 2 * a[y, x, 0]
                out[y, x, 1] = 3 * a[y, x, 1]

    a = np.random.default_rng(3).random((4, 40, 2))
    out = np.zeros_like(a)
    scale(a, out)
    assert np.array_equal(out, a * [2, 3])
    assert not any("butterflies" in r.message for r in scale.remarks)
