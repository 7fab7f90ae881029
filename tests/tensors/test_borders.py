"""Borders of brushed nests: boxes that overlap where iterations may run twice, masks elsewhere."""

import re

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda, prange
from weft.brush import brush_of
from weft.frontend.python.typeof import typeof
from weft.jit_options import JitOptions
from weft.loops.build import lower
from weft.options import Timings

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
SHAPES = [(1, 40), (4, 8), (5, 9), (7, 23), (3, 5), (40, 3), (0, 9), (16, 16)]


def cross(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            b[j, i] = a[j - 1, i] + 2 * a[j, i - 1] + 3 * a[j, i] + 5 * a[j, i + 1] + 7 * a[j + 1, i]


def added(a, b):
    for j in prange(a.shape[0]):
        for i in prange(a.shape[1]):
            b[j, i] += a[j, i]


def cubes(a, b):
    for k in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            for i in prange(a.shape[2]):
                b[k, j, i] = 2 * a[k, j, i] if a[k, j, i] > 3 else -1.0


def overlaps(function, *arguments) -> bool:
    """Whether boxes may overlap in a function's code."""
    options = JitOptions(brush=brush_of((4, 8)))
    lowered, _, _ = lower(function, tuple(map(typeof, arguments)), None, options, Timings())
    chunk = re.search(r"define [^\n]*\.chunk\"?\(.*?\n}", lowered.text, re.DOTALL)
    assert chunk is not None
    # Whether the boxes end with the loop or before the last whole one.
    return " = select i1 " in chunk.group()


@pytest.mark.parametrize("level", LEVELS)
def test_the_last_box_ends_with_the_loop(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(cross, brush=(4, 8))
    for rows, columns in SHAPES:
        a = np.random.default_rng(1).integers(0, 9, (rows + 2, columns + 2)).astype(float)
        b, wanted = np.full_like(a, -1.0), np.full_like(a, -1.0)
        cross(a, wanted)
        compiled(a, b)
        assert np.array_equal(b, wanted), (rows, columns)


@pytest.mark.parametrize("level", LEVELS)
def test_boxes_of_three_dimensions(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(cubes, brush=(2, 2, 4))
    for shape in [(3, 5, 7), (2, 2, 4), (1, 5, 9), (4, 1, 6)]:
        a = np.random.default_rng(1).integers(0, 9, shape).astype(float)
        b, wanted = np.zeros_like(a), np.zeros_like(a)
        cubes(a, wanted)
        compiled(a, b)
        assert np.array_equal(b, wanted), shape


def test_which_nests_may_run_iterations_twice() -> None:
    def total(a, b):
        found = 0.0
        for j in prange(a.shape[0]):
            for i in prange(a.shape[1]):
                b[j, i] = a[j, i]
                found += a[j, i]
        return found

    def counted(a, b):
        for j in prange(a.shape[0]):
            for i in prange(a.shape[1]):
                cuda.atomic.add(b, (0, 0), a[j, i])

    a = np.zeros((8, 8))
    assert overlaps(cross, a, a)
    assert not overlaps(added, a, a)
    assert not overlaps(total, a, a)
    assert not overlaps(counted, a, a)
    # Boxes that begin inside of blocks would be gathers.
    assert not overlaps(cross, weft.tiled(a, (2, 2)), a)


def test_what_is_updated_is_so_once() -> None:
    a = np.random.default_rng(1).integers(0, 9, (7, 13)).astype(float)
    b = a.copy()
    weft.jit(added, brush=(4, 8))(a, b)
    assert np.array_equal(b, 2 * a)
    # The same array by two names: the test before the nest fails.
    weft.jit(shifted, brush=(4, 8))(b, b)
    assert np.array_equal(b, 2 * a + 1)


def shifted(a, b):
    for j in prange(a.shape[0]):
        for i in prange(a.shape[1]):
            b[j, i] = a[j, i] + 1


def test_arrays_whose_rows_take_turns_in_memory() -> None:
    a = np.random.default_rng(1).integers(0, 9, (7, 26)).astype(float)
    before = a.copy()
    weft.jit(shifted, brush=(4, 8))(a[:, :13], a[:, 13:])
    assert np.array_equal(a[:, :13], before[:, :13])
    assert np.array_equal(a[:, 13:], before[:, :13] + 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_tiles_of_threads(threads) -> None:
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        a = np.random.default_rng(1).random((203, 517))
        b, wanted = np.zeros_like(a), np.zeros_like(a)
        wanted[1:-1, 1:-1] = (
            a[:-2, 1:-1] + 2 * a[1:-1, :-2] + 3 * a[1:-1, 1:-1] + 5 * a[1:-1, 2:] + 7 * a[2:, 1:-1]
        )
        weft.jit(cross, brush=(8, 8))(a, b)
        assert np.allclose(b, wanted, rtol=1e-12)
    finally:
        weft.set_num_threads(before)


def filled(n):
    # Its memory is aligned to cache lines, and so are its rows.
    b = np.zeros((7, 24))
    for j in prange(7):
        for i in prange(n):
            b[j, i] = 10 * j + i
    return b


def once(n):
    b = np.zeros((7, 24))
    for j in prange(7):
        for i in prange(n):
            b[j, i] += 10 * j + i
    return b


def test_boxes_that_overlap_are_not_aligned_as_others_are(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")

    def alignments(function):
        lowered, _, _ = lower(function, (typeof(3),), None, JitOptions(brush=brush_of((1, 8))), Timings())
        return set(re.findall(r"store <8 x double> .*, align (\d+)", lowered.text))

    assert overlaps(filled, 3)
    assert alignments(filled) == {"8"}
    assert not overlaps(once, 3)
    assert alignments(once) == {"64"}


@pytest.mark.parametrize(("level", "brush", "function"), pairs(LEVELS, [(1, 8), (2, 8)], [filled, once]))
def test_boxes_in_rows_that_are_aligned(function, brush, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(function, brush=brush)
    for n in (24, 13, 19, 9, 8, 3):
        wanted = np.zeros((7, 24))
        wanted[:, :n] = 10 * np.arange(7)[:, None] + np.arange(n)
        assert np.array_equal(compiled(n), wanted)


def gradient(a, x, y):
    for j in prange(a.shape[0] - 1):
        for i in prange(a.shape[1] - 1):
            x[j, i] = a[j, i + 1] - a[j, i]
            y[j, i] = a[j + 1, i] - a[j, i]


def twice(a, x, y):
    for j in prange(a.shape[0]):
        for i in prange(a.shape[1]):
            x[j, i] = a[j, i] + 1
            y[j, i] = a[j, i] * 10


@pytest.mark.parametrize("level", LEVELS)
def test_loads_behind_a_store_are_shared_where_arrays_are_apart(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(1).integers(0, 9, (11, 21)).astype(float)
    x, y, wanted = np.zeros_like(a), np.zeros_like(a), (np.zeros_like(a), np.zeros_like(a))
    gradient(a, *wanted)
    weft.jit(gradient, brush=(2, 8))(a, x, y)
    assert np.array_equal(x, wanted[0])
    assert np.array_equal(y, wanted[1])


def test_a_store_counts_where_arrays_are_not_apart() -> None:
    compiled = weft.jit(twice, brush=(2, 8))
    a = np.random.default_rng(1).integers(0, 9, (5, 19)).astype(float)
    before, y = a.copy(), np.zeros_like(a)
    compiled(a, a, y)
    assert np.array_equal(a, before + 1)
    assert np.array_equal(y, (before + 1) * 10)
    compiled(before, a, y)
    assert np.array_equal(a, before + 1)
    assert np.array_equal(y, before * 10)
    assert any("shared across stores" in str(remark) for remark in compiled.remarks)


def test_how_often_a_gradient_loads(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    options = JitOptions(brush=brush_of((2, 8)))
    a = typeof(np.zeros((8, 8)))
    lowered, _, _ = lower(gradient, (a, a, a), None, options, Timings())
    loads = [
        len(re.findall(r"= load <8 x double>", text))
        for text in re.findall(r"define [^\n]*\.w16\"?\(.*?\n}", lowered.text, re.DOTALL)
        if "masked" not in text
    ]
    # Rows j and j + 1 at i, these at i + 1, row j + 2: five where nothing is stored between, else what y needs again.
    assert sorted(loads) == [5, 7]
