"""Shapes of lane spaces of several dimensions: what neighbours have to do with each other, against enumeration."""

import itertools
import random

import numpy as np
import pytest

from weft.analysis.divergence.threads import ThreadSet
from weft.analysis.shapes import SYMBOLIC, Product, Shape
from weft.analysis.shapes.lattice import linear_stride
from weft.analysis.shapes.runs import find_runs
from weft.codegen.widen.lanes import LaneSpace

SPACES = ((8,), (8, 2), (4, 4), (1, 8), (2, 4, 2), (2, 1, 4))


def addresses(lanes: LaneSpace, shape: Shape, rng: random.Random) -> list[int]:
    """An address for each lane, of which `shape` holds."""
    chosen = [rng.randrange(-90, 90) if s is SYMBOLIC else s for s in shape.strides]
    bases: dict[tuple[int, ...], int] = {}
    result: list[int] = []
    for lane in range(lanes.width):
        at = [lanes.coordinate(lane, d) for d in range(len(lanes.extents))]
        unrelated = tuple(c for c, s in zip(at, chosen, strict=True) if s is None)
        base = bases.setdefault(unrelated, rng.randrange(1000, 9000))
        result.append(base + sum(c * s for c, s in zip(at, chosen, strict=True) if s is not None))
    return result


@pytest.mark.parametrize("extents", SPACES)
def test_runs_are_neighbours_and_shared_elements_are_the_same(extents: tuple[int, ...]) -> None:
    rng = random.Random(f"runs {extents}")
    lanes, domain = LaneSpace(extents), Product(extents)
    found = 0
    for strides in itertools.product((0, 4, -4, 8, 32, SYMBOLIC, None), repeat=len(extents)):
        shape = domain.strided(strides, 64, exact=False)
        dims = [d for d in range(len(extents)) if rng.random() < 0.7]
        runs = find_runs(extents, shape, 4, dims)
        if runs is None:
            continue
        found += 1
        values = addresses(lanes, shape, rng)
        assert set(runs.same) <= set(dims)
        own = [t for t in range(lanes.width) if lanes.at_origin(t, runs.same) == t]
        assert len(own) == runs.length * runs.count
        for t, value in enumerate(values):
            assert value == values[lanes.at_origin(t, runs.same)], (strides, runs)
        for k, t in enumerate(own):
            step = -4 if runs.downward else 4
            assert values[t] == values[own[k - k % runs.length]] + step * (k % runs.length), (strides, runs)
    assert found or len(extents) == 1


@pytest.mark.parametrize("extents", SPACES)
def test_a_linear_stride_is_that_of_all_neighbours(extents: tuple[int, ...]) -> None:
    lanes, domain = LaneSpace(extents), Product(extents)
    for strides in itertools.product((0, 1, 2, 4, 8, 16, -1), repeat=len(extents)):
        shape = domain.strided(strides)
        offsets = lanes.offsets([s for s in shape.strides if isinstance(s, int)])
        steps = set(np.diff(offsets).tolist())
        assert linear_stride(extents, shape.strides) == (steps.pop() if len(steps) == 1 else None)
    assert linear_stride(extents, (None,) * len(extents)) is None


@pytest.mark.parametrize("extents", SPACES)
def test_lane_numbers_and_ids_have_the_shapes_of_their_values(extents: tuple[int, ...]) -> None:
    domain, lanes = Product(extents), LaneSpace(extents)
    threads = ThreadSet.lanes(None)
    threads = type(threads)(threads.scope, domain)
    number = np.arange(lanes.width).reshape(extents, order="F")
    shape = threads.lane_id(32)
    assert shape.is_strided
    assert domain.contains(shape, number, None, 32)
    assert not domain.contains(shape, number + 1, None, 32)
    assert linear_stride(extents, shape.strides) == 1
    for d, extent in enumerate(extents):
        begin = 3 * extent
        position = begin + np.indices(extents)[d]
        assert domain.contains(threads.local_id(d, 64), position, None, 64)
        assert domain.contains(threads.global_id(d, 64), position + 5, None, 64)
