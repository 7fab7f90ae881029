"""Guards in innermost loops are bounds of the loops around, for every door; results stay the same."""

import ctypes
import random

import numpy as np
import pytest

import weft
from pairs import WHOLE
from weft import prange
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object


def stencil(y, x, n):
    for i in prange(n):
        for j in range(n):
            for k in range(n):
                if i > 0 and i < n - 1 and j > 0 and j < n - 1 and k > 0 and k < n - 1:
                    y[i, j, k] = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j, k + 1] - x[i, j - 1, k]


def chained(y, x, n):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            if 0 < i < n - 1 and 1 <= j <= n - 3:
                y[i, j] = x[i - 1, j] + x[i, j + 2]


def left_out(y, x, n):
    for i in prange(n):
        for j in range(n):
            if i == 0 or j == 0 or i == n - 1 or j == n - 1:
                continue
            y[i, j] = x[i - 1, j] - x[i, j + 1]


def border(y, x, n):
    for i in prange(n):
        for j in range(n):
            if i == 0 or j == 0 or i == n - 1 or j == n - 1:
                y[i, j] = x[i, j]
            else:
                y[i, j] = x[i - 1, j] - x[i, j + 1]


def lower(y, x, n):
    for i in prange(n):
        for j in range(n):
            if j <= i:
                y[i, j] = 2 * x[i, j] + 1


def upper(y, x, n):
    for i in prange(n):
        for j in range(n):
            if j > i:
                y[i, j] = 2 * x[i, j] + 1


def band(y, x, n):
    for i in prange(n):
        for j in range(n):
            if i - 2 <= j and j <= i + 3:
                y[i, j] = 2 * x[i, j] + 1


def across(y, x, n):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            if i + j < n:
                y[i, j] = x[i, n - 1 - j]


def total(y, x, n):
    s = 0
    for i in prange(n):
        if i > 2 and i < n - 2:
            s += x[i, i]
    y[0, 0] = s


def diagonal(y, x, n):
    for i in prange(n):
        for j in range(n):
            if i == j:
                y[i, j] += x[i, j]


def inside(y, x, n, low, high):
    for i in prange(n):
        for j in range(n):
            if j > low and j <= high and i >= low:
                y[i, j] = 3 * x[i, j]


def partly(y, x, n):
    for i in prange(n):
        for j in range(n):
            if j > 1 and x[i, j] > 0 and j < n - 1:
                y[i, j] = x[i, j] + x[i, j + 1]


def last(y, x, n):
    for i in range(n):
        found = -1
        for j in range(n):
            if j > i:
                found = j
                y[i, j] = x[i, j]
        y[i, 0] = found


TWO = [chained, left_out, border, lower, upper, band, across, total, diagonal, partly, last]
MESSAGE = "this guard is bounds of the loops around it"


def remarks(function) -> str:
    return "\n".join(remark.message for remark in function.remarks)


def agree(compiled, function, shape, *numbers, type=np.int64) -> None:
    x = np.random.default_rng(7).integers(-9, 9, shape).astype(type)
    mine, wanted = (np.full(shape, 5, type) for _ in range(2))
    compiled(mine, x, *numbers)
    function(wanted, x, *numbers)
    np.testing.assert_array_equal(mine, wanted, f"{numbers}")


@pytest.mark.parametrize("type", [np.float32, np.int64])
def test_the_guard_of_a_stencil_is_bounds_of_three_loops(type) -> None:
    compiled = weft.jit(stencil)
    for n in (0, 1, 2, 3, 4, 9, 18):
        agree(compiled, stencil, (n, n, n), n, type=type)
    assert MESSAGE in remarks(compiled)


@pytest.mark.spread
@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{}, {"parallel": "auto"}, {"width": 4}], ids=str)
def test_guards_of_rows(function, options) -> None:
    compiled = weft.jit(**options)(function)
    for n in (0, 1, 2, 3, 5, 21) if WHOLE else (0, 1, 2, 5, 21):
        agree(compiled, function, (max(n, 1), max(n, 1)), n)
    assert (MESSAGE in remarks(compiled)) == (function is not border)


def test_numbers_that_are_no_places_are_bounds_all_the_same() -> None:
    compiled = weft.jit(inside)
    draw = random.Random(1)
    far = (-(2**63), 2**63 - 1, -(2**63) + 1, 2**63 - 2, 0, -1, 3, 9, 2**31)
    for low in far:
        for high in draw.sample(far, 4):
            agree(compiled, inside, (9, 9), draw.choice((0, 1, 9)), low, high)
    for n in (-(2**63), -1):
        agree(compiled, inside, (1, 1), n, 0, 5)
    assert MESSAGE in remarks(compiled)


@pytest.mark.parametrize("n", [-(2**63), -(2**63) + 1, -1])
def test_loops_that_do_not_run_stay_so(n: int) -> None:
    agree(weft.jit(stencil), stencil, (1, 1, 1), n)


def sorted_around(y, x, n):
    h, w = y.shape
    for i in prange(h):
        for j in range(w):
            if 0 < i < h - 1 and 0 < j < w - 1:
                v = np.empty(9, np.int64)
                for k in range(9):
                    v[k] = x[i + k // 3 - 1, j + k % 3 - 1]
                for k in range(5):
                    for m in range(k + 1, 9):
                        if v[m] < v[k]:
                            v[k], v[m] = v[m], v[k]
                y[i, j] = v[4]


def test_what_each_iteration_has_for_itself_stays_in_its_loop() -> None:
    compiled = weft.jit(sorted_around)
    for n in (1, 2, 3, 12):
        agree(compiled, sorted_around, (n, n), n)
    assert MESSAGE in remarks(compiled)


def test_without_leaves_it_out() -> None:
    compiled = weft.jit(without=("guard-bounds",))(lower)
    agree(compiled, lower, (9, 9), 9)
    assert MESSAGE not in remarks(compiled)


SOURCE = """
void stencil(int *restrict y, const int *restrict x, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
        y[i * n + j] = x[(i - 1) * n + j] + x[i * n + j + 1];
}
void sizes(int *restrict y, const int *restrict x, unsigned long n) {
  for (unsigned long i = 0; i < n; i++)
    for (unsigned long j = 0; j < n; j++)
      if (i > 0 && i < n - 1 && j > 0 && j + 1 < n)
        y[i * n + j] = x[(i - 1) * n + j] + x[i * n + j + 1];
}
void pointers(int *restrict y, const int *restrict x, long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++, x++, y++)
      if (j >= i) *y = 2 * *x;
}
void up_to(int *restrict y, const int *restrict x, long n) {
  for (long i = 0; i <= n - 1; i++)
    for (long j = 0; j <= n - 1; j++)
      if (j != 0 && j < n - 2 && i <= j) y[i * n + j] = 3 * x[i * n + j];
}
"""


@pytest.mark.parametrize("name", ["stencil", "sizes", "pointers", "up_to"])
def test_guards_of_loops_of_c(name: str, tmp_path) -> None:
    path = tmp_path / "guards.c"
    path.write_text(SOURCE)
    text = compile_c(path, TargetSpec.chosen().triple)
    made = vectorize_ir(text, name, loop="auto")
    if name != "pointers":
        assert MESSAGE in str(made.remarks)
    codes = [load_object(code, [name]) for code in (made.object_code, emit_object(text, TargetSpec.chosen()))]
    kind = {"stencil": ctypes.c_int, "sizes": ctypes.c_ulong}.get(name, ctypes.c_long)
    for n in (0, 1, 2, 3, 4, 17):
        x = np.random.default_rng(n).integers(-9, 9, max(n * n, 1)).astype(np.int32)
        found = []
        for code in codes:
            y = np.full(max(n * n, 1), 5, np.int32)
            ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, kind)(code.address(name))(
                y.ctypes.data, x.ctypes.data, n
            )
            found.append(y)
        np.testing.assert_array_equal(*found)


def three(y, x):
    for i in prange(x.shape[0]):
        if i > 0 and i < x.shape[0] - 1:
            y[i] = x[i - 1] + x[i + 1]


def in_place(y, x):
    for i in prange(x.shape[0]):
        if i > 2:
            y[i] += x[2 * i - x.shape[0]]


def first_place(y, x):
    for i in prange(x.shape[0]):
        if i < 1:
            y[0] += x[i]


def neighbour(y, x):
    for i in prange(x.shape[0]):
        if i >= x.shape[0] - 1:
            y[i] = y[i - 1] + x[i]


def other_place(y, x):
    for i in prange(x.shape[0]):
        if i < 1:
            y[i] = x[i]
            y[i + 1] = 2 * x[i]


@pytest.mark.parametrize(
    ("function", "is_bound"),
    [(three, True), (in_place, True), (first_place, False), (neighbour, False), (other_place, False)],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_a_promise_may_rest_on_stays(function, is_bound: bool) -> None:
    compiled = weft.jit(function)
    for n in (2, 3, 40):
        agree(compiled, function, (n,))
    assert (MESSAGE in remarks(compiled)) == is_bound
