"""Code for arrays of less than 2^31 elements along each dimension, and other code for the rest."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

import weft
from weft import prange
from weft.loops import tuning
from weft.runtime.array_memory import LONG, has_large_extent


def _spread(length: int) -> np.ndarray:
    """A vector of so many elements, all of which are the same one."""
    return np.broadcast_to(np.float64(3), (length,))


@pytest.mark.parametrize("first", [5, LONG - 1, LONG, 3 * LONG])
@pytest.mark.parametrize("second", [7, LONG - 1, LONG, 5 * LONG])
def test_extents_of_others_are_what_they_are(first: int, second: int) -> None:
    @weft.jit
    def twice(a):
        return 2 * a.shape[0] + 1

    for length in (first, second, first, second):
        assert twice(_spread(length)) == 2 * length + 1


def test_loops_along_large_arrays_go_to_their_ends() -> None:
    @weft.jit
    def from_the_end(a, out):
        for i in prange(out.size):
            k = a.shape[0] - 1 - i
            out[i] = k if a[k] == 3.0 else -1

    out = np.zeros(100, np.int64)
    for length in (100, 3 * LONG, 200, LONG):
        from_the_end(_spread(length), out)
        assert np.array_equal(out, length - 1 - np.arange(100))


def test_arrays_in_tuples_and_of_two_dimensions_count() -> None:
    @weft.jit
    def sizes(pair, b):
        return pair[0].shape[0] + b.shape[1]

    small, large = _spread(4), _spread(LONG + 9)
    wide = np.broadcast_to(np.float32(1), (2, 2 * LONG))
    assert sizes((small, small), wide[:, :5]) == 9
    assert sizes((large, small), wide[:, :5]) == LONG + 14
    assert sizes((small, small), wide) == 4 + 2 * LONG
    assert has_large_extent([1, (small, large)]) and not has_large_extent([1, (small, small), wide[:, :3]])


def test_nodes_and_heights_of_walks_have_32_bits_in_lanes() -> None:
    def nearest(points, queries, distances):
        for i in prange(distances.size):
            nodes = np.empty(32, np.int32)
            gaps = np.empty(32, np.float32)
            best = np.float32(3e38)
            top = 0
            node = 0
            gap = np.float32(0)
            while True:
                if gap < best and node < points.shape[0]:
                    d = queries[i, 0] - points[node, 0]
                    other = queries[i, 1] - points[node, 1]
                    best = min(best, d * d + other * other)
                    right = 1 if d > 0 else 0
                    nodes[top] = (2 * node + 2 - right) << 1
                    gaps[top] = d * d
                    top += 1
                    node = 2 * node + 1 + right
                    gap = np.float32(0)
                else:
                    if top == 0:
                        break
                    top -= 1
                    node = nodes[top] >> 1
                    gap = gaps[top]
            distances[i] = best

    rng = np.random.default_rng(1)
    points, queries = rng.random((127, 2), np.float32), rng.random((30, 2), np.float32)
    found, expected = np.zeros(30, np.float32), np.zeros(30, np.float32)
    compiled = weft.jit(nearest, width=8)
    compiled(points, queries, found)
    nearest(points, queries, expected)
    assert np.allclose(found, expected)
    # The version for rows of two elements, of which there are half as many.
    (version,) = compiled._versions.values()
    assert not re.search(r"phi <8 x i64>", version.llvm())


def test_indices_of_small_arrays_have_32_bits_in_lanes() -> None:
    def nearest(points, centres, found):
        for i in prange(points.size):
            best, least = 0, np.float32(3e38)
            for c in range(centres.size):
                distance = abs(points[i] - centres[c])
                if distance < least:
                    best, least = c, distance
            found[i] = best

    compiled = weft.jit(nearest, width=16)
    rng = np.random.default_rng(3)
    points, centres, found = rng.random(300, np.float32), rng.random(9, np.float32), np.zeros(300, np.int64)
    compiled(points, centres, found)
    assert np.array_equal(found, np.abs(points[:, None] - centres).argmin(1))
    (text,) = compiled.inspect_llvm().values()
    choices = [line for line in text.splitlines() if " = select <16 x i1>" in line]
    assert any("<16 x i32>" in line for line in choices)
    assert not any("<16 x i64>" in line for line in choices)


def test_large_arrays_have_code_of_their_own_once() -> None:
    @weft.jit
    def size(a):
        return a.shape[0]

    for length in (LONG, LONG + 1, 3, LONG + 2):
        assert size(_spread(length)) == length
    assert len(size.overloads) == 1 and len(size._of_others) == 1


def test_results_have_extents_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # Checks would copy the result, all 16 GiB of it.
    monkeypatch.setenv("WEFT_CHECK", "0")

    @weft.jit
    def rows(a):
        return a[1:]

    for length in (5, LONG, 6):
        assert rows(_spread(length)).shape == (length - 1,)


@pytest.mark.parametrize("length", [50, LONG])
def test_measured_functions_are_made_for_arrays_as_large(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unmeasured(function, types, options, args, compiled, serving):
        return compiled(replace(options, tune=None))

    monkeypatch.setattr(tuning, "tuned", unmeasured)

    @weft.jit(tune="measure")
    def size(a):
        return a.shape[0]

    assert size(_spread(length)) == length
    (made,) = size.overloads.values()
    assert made.options.small_arrays == (length < LONG)
