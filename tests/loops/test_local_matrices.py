"""Matrices that iterations change in place are copied to the stack; results are those of Python, bit by bit."""

import mmap
import random

import numpy as np
import pytest

import weft
from loops.python_doors import functions, levels
from pairs import WHOLE, pairs
from weft import prange

LEVELS = levels()
COPIED = "it works on a copy of it"


def factor(a):
    for n in prange(a.shape[0]):
        for k in range(8):
            for i in range(k + 1, 8):
                f = a[n, i, k] / a[n, k, k]
                a[n, i, k] = f
                for j in range(k + 1, 8):
                    a[n, i, j] -= f * a[n, k, j]


def shortest(a):
    for n in prange(a.shape[0]):
        for k in range(12):
            for i in range(12):
                for j in range(12):
                    t = a[n, i, k] + a[n, k, j]
                    if t < a[n, i, j]:
                        a[n, i, j] = t


def invert(a):
    for n in prange(a.shape[0]):
        for k in range(6):
            p = 1 / a[n, k, k]
            a[n, k, k] = 1
            for j in range(6):
                a[n, k, j] *= p
            for i in range(6):
                if i != k:
                    f = a[n, i, k]
                    a[n, i, k] = 0
                    for j in range(6):
                        a[n, i, j] -= f * a[n, k, j]


def roots(a):
    for n in prange(a.shape[0]):
        for j in range(10):
            s = a[n, j, j]
            for k in range(j):
                s -= a[n, j, k] * a[n, j, k]
            d = np.sqrt(s)
            a[n, j, j] = d
            for i in range(j + 1, 10):
                t = a[n, i, j]
                for k in range(j):
                    t -= a[n, i, k] * a[n, j, k]
                a[n, i, j] = t / d


def some(a, wanted):
    total = 0
    for n in prange(1, a.shape[0] - 1):
        if wanted[n] > 0:
            for s in range(4):
                for i in range(8):
                    for j in range(7):
                        a[n + 1, i, j] = max(a[n + 1, i, j + 1], a[n + 1, (i + s) % 8, j])
            total += 1
    return total


def one_matrix(a):
    for n in prange(a.shape[0]):
        for s in range(3):
            for i in range(8):
                for j in range(8):
                    a[n, i, j] += a[0, i, j] * s


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CPU", request.param)
    return request.param


def matrices(shape: tuple[int, ...], type: str, seed: int = 3) -> np.ndarray:
    """Symmetric ones with large diagonals."""
    drawn = np.random.default_rng(seed).random(shape)
    side = min(shape[1:])
    for n in range(shape[0]):
        square = drawn[n, :side, :side]
        drawn[n, :side, :side] = square + square.T + 3 * side * np.eye(side)
    return drawn.astype(type)


def compare(function, array: np.ndarray, *others: object, copied: bool = True) -> None:
    compiled = weft.jit(function)
    got, wanted = array.copy(), array.copy()
    with np.errstate(all="ignore"):
        assert compiled(got, *others) == function(wanted, *others)
    np.testing.assert_array_equal(got, wanted)
    assert any(COPIED in r.message for r in compiled.remarks) == copied


@pytest.mark.spread
@pytest.mark.parametrize(("level", "type"), pairs(LEVELS, ("float32", "float64")), indirect=["level"])
@pytest.mark.parametrize("function", [factor, shortest, invert, roots], ids=lambda f: f.__name__)
def test_matrices_are_those_of_python(level, type, function) -> None:
    side = {factor: 8, shortest: 12, invert: 6, roots: 10}[function]
    compare(function, matrices((67, side, side), type))


def test_the_remark_says_what_lines_have_to_have(level) -> None:
    compiled = weft.jit(shortest)
    compiled(matrices((40, 12, 12), "float32"))
    (said,) = {r.message for r in compiled.remarks if COPIED in r.message}
    assert "a matrix of its own" in said and said.endswith("if its lines have 12 elements")


def test_arrays_may_have_more_lines_and_longer_ones(level) -> None:
    """More lines stay outside of the copy; where lines are longer, iterations run on the array."""
    for shape in ((67, 9, 8), (67, 8, 9), (67, 13, 12), (67, 12, 16)):
        compare(factor if shape[1] < 12 else shortest, matrices(shape, "float32"))


def test_matrices_under_a_condition_and_what_they_hand_on(level) -> None:
    wanted = np.random.default_rng(8).integers(0, 2, 80)
    compare(some, matrices((80, 8, 8), "float64"), wanted)


def test_what_other_iterations_read_is_not_copied(level) -> None:
    compare(one_matrix, np.zeros((40, 8, 8), np.float32), copied=False)


def test_matrices_at_the_end_of_a_page(level) -> None:
    """Nothing behind the last matrix is accessed."""
    count = 64
    size = count * 64 * 4
    room = mmap.mmap(-1, size)
    array = np.frombuffer(room, np.float32).reshape(count, 8, 8)
    array[:] = matrices((count, 8, 8), "float32")
    wanted = array.copy()
    factor(wanted)
    weft.jit(factor)(array)
    np.testing.assert_array_equal(array, wanted)


def test_few_iterations_run_on_the_array(level) -> None:
    for count in (0, 1, 3):
        compare(factor, matrices((count, 8, 8), "float32"))


def drawn_rounds(rng: random.Random) -> tuple[str, int, int, int]:
    """A function that goes over matrices in rounds; lines and columns that it needs, and how matrices lie in the array.

    They are side by side (0), line by line (1), or the second ones of an array of four dimensions (2).
    """
    lines, columns, rounds = rng.randint(3, 9), rng.randint(3, 9), rng.randint(2, 5)
    line = rng.choice(("i", "i", f"{lines - 1} - i", f"(i + r) % {lines}", f"min(i + 1, {lines - 1})", "r"))
    column = rng.choice(("j", "j", f"{columns - 1} - j", f"(j + r) % {columns}", "max(j - 1, 0)", "0"))
    begin = rng.choice(("0", "0", "1", f"min(r, {lines - 1})"))
    end = rng.choice((f"{columns}", f"{columns - 1}", f"min(i + 1, {columns})"))
    what = rng.choice(("{a} + {b}", "{a} - 2 * {b}", "max({a}, {b})", "{b}", "{a} * 3 + c[n]"))
    number, first = rng.choice((("n", ""), ("n", "2, "), ("n + 1", ""), ("n + 1", "1, ")))
    lie = rng.choice((0, 0, 0, 1, 2, 2))
    form = ("a[{n}, {i}, {j}]", "a[{i}, {n}, {j}]", "a[1, {n}, {i}, {j}]")[lie]
    changed, read = form.format(n=number, i="i", j="j"), form.format(n=number, i=line, j=column)
    text = f"""from weft import prange

def drawn(a, c):
    for n in prange({first}c.shape[0] - 1):
        for r in range({min(rounds, lines)}):
            for i in range({begin}, {lines}):
                for j in range({end}):
                    {changed} = {what.format(a=changed, b=read)}
"""
    return text, lines, columns, lie


@pytest.mark.skipif(not LEVELS, reason="levels are those of x86-64")
@pytest.mark.parametrize("seed", range(300 if WHOLE else 12))
def test_drawn_rounds_are_those_of_python(seed, monkeypatch) -> None:
    rng = random.Random(f"matrices {seed}")
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CPU", rng.choice(LEVELS))
    text, lines, columns, lie = drawn_rounds(rng)
    made = functions(text, f"<matrices {seed}>")["drawn"]
    shape = (rng.choice((5, 40, 67)), lines + rng.choice((0, 0, 2)), columns + rng.choice((0, 0, 3)))
    array = (
        np.random.default_rng(seed)
        .integers(-9, 9, shape)
        .astype(rng.choice(("int32", "int64", "float32", "int16")))
    )
    c = np.arange(shape[0]).astype(array.dtype)
    if lie == 1:
        array = np.ascontiguousarray(array.swapaxes(0, 1))
    elif lie == 2:
        array = np.stack([array, array, array])
    got, wanted = array.copy(), array.copy()
    weft.jit(made)(got, c)
    with np.errstate(all="ignore"):
        made(wanted, c)
    np.testing.assert_array_equal(got, wanted, err_msg=text)
