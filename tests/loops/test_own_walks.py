"""Iterations that each walk through a part of an array of their own run one after the other, others in lanes."""

import numpy as np
import pytest

import weft
from weft import prange

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
DRAW = np.random.default_rng(11)


def sums_of_parts(values, sums):
    length = (values.size + sums.size - 1) // sums.size
    for part in prange(sums.size):
        total = 0
        for i in range(length * part, min(length * (part + 1), values.size)):
            total += values[i]
        sums[part] = total


def counts_of_parts(keys, counts):
    length = keys.size // counts.shape[0]
    for part in prange(counts.shape[0]):
        for i in range(length * part, length * (part + 1)):
            counts[part, keys[i]] += 1


def running_means(values, means):
    length = values.size // 8
    for part in prange(8):
        mean = 0.0
        for i in range(length * part, length * (part + 1)):
            mean = 0.75 * mean + 0.25 * values[i]
            means[i] = mean


def tiles_turned(source, target):
    rows, columns = source.shape
    for block in prange((rows + 31) // 32):
        for x0 in range(0, columns, 32):
            for x in range(x0, min(x0 + 32, columns)):
                for y in range(32 * block, min(32 * (block + 1), rows)):
                    target[x, y] = source[y, x]


def products(matrix, vector, result):
    for i in prange(matrix.shape[0]):
        total = 0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        result[i] = total


def sums_of_columns(matrix, sums):
    for j in prange(matrix.shape[1]):
        total = 0.0
        for i in range(matrix.shape[0]):
            total += matrix[i, j]
        sums[j] = total


def roots_of_chains(numbers, roots):
    """Iterate where there is so much to compute that lanes pay, wherever they load."""
    for i in prange(numbers.shape[0]):
        for k in range(numbers.shape[1]):
            x = numbers[i, k]
            for _ in range(20):
                x = 0.5 * (x + numbers[i, k] / x)
            roots[i, k] = x


def sums_of_cells(places, starts, sums):
    """Threads near each other look at the same cells, and walk along the same rows; it depends on the data."""
    for i in prange(sums.size):
        total = np.float32(0)
        cell = np.int32(places[i])
        for c in range(max(cell - 1, 0), min(cell + 2, np.int32(starts.size - 1))):
            for j in range(starts[c], starts[c + 1]):
                apart = places[i] - places[j]
                near = np.float32(1) - apart * apart
                if near > 0:
                    total += near * near * near
        sums[i] = total


def numbers(*shape):
    return DRAW.integers(1, 50, shape).astype(np.float64)


WALKS = {
    sums_of_parts: lambda: (DRAW.integers(0, 9, 1000), np.zeros(7, np.int64)),
    counts_of_parts: lambda: (DRAW.integers(0, 20, 999), np.zeros((9, 20), np.int32)),
    running_means: lambda: (numbers(800), np.zeros(800)),
    tiles_turned: lambda: (numbers(45, 67), np.zeros((67, 45))),
    products: lambda: (DRAW.integers(0, 9, (23, 41)), DRAW.integers(0, 9, 41), np.zeros(23, np.int64)),
}
IN_LANES = {
    sums_of_columns: lambda: (numbers(23, 41), np.zeros(41)),
    roots_of_chains: lambda: (numbers(23, 7), np.zeros((23, 7))),
}


def called(function, make):
    """What is said of the loops of a function, after its results are compared with those in order."""
    arguments = make()
    wanted = [a.copy() for a in arguments]
    function(*wanted)
    made = weft.jit(function)
    made(*arguments)
    assert all(np.allclose(a, b) for a, b in zip(arguments, wanted, strict=True))
    return [r.message for r in made.remarks]


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", WALKS, ids=lambda f: f.__name__)
def test_lanes_that_would_each_walk_on_their_own_are_none(function, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    said = called(function, WALKS[function])
    # Or the data decide: both are tried.
    assert any("runs iteration after iteration" in m or "one after the other, too" in m for m in said)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", IN_LANES, ids=lambda f: f.__name__)
def test_neighbours_and_long_computations_keep_their_lanes(function, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    assert not any("runs iteration after iteration" in m for m in called(function, IN_LANES[function]))


@pytest.mark.parametrize("level", LEVELS)
def test_rows_that_begin_where_data_say_are_tried_in_lanes(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    places = np.sort(DRAW.random(700) * 20).astype(np.float32)
    starts = np.searchsorted(places, np.arange(21)).astype(np.int32)
    sums = np.zeros(700, np.float32)
    compiled = weft.jit(sums_of_cells)
    compiled(places, starts, sums)
    gaps = places[:, None] - places
    near = np.maximum(np.float32(1) - gaps * gaps, 0)
    np.testing.assert_allclose(sums, (near**3).sum(1), rtol=1e-4)
    if level == "x86-64-v4":
        assert any("one after the other, too" in remark.message for remark in compiled.remarks)
