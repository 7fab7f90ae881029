"""Rows of threads: lane groups go on from work-group to work-group, and guards cut rows short."""

import numpy as np
import pytest

from weft import cuda
from weft.codegen.run_unit import RunUnit


@pytest.mark.parametrize("dimension", [0, 1])
def test_runs_of_groups_make_whole_lane_groups(dimension: int) -> None:
    unit = RunUnit(16, dimension)
    for size in range(1, 1025):
        block = (size, 1, 1) if dimension == 0 else (1, size, 1)
        groups = unit.groups(block)
        assert groups * size % 16 == 0
        assert groups == 1 or (groups // 2) * size % 16 != 0
    assert RunUnit().groups((7, 1, 1)) == 1


def visit(out, first, last, height):
    x, y = cuda.grid(2)
    if first <= x < last and y < height:
        out[y, x] += 1


def visit_in_group(out, first, last, height):
    x, y = cuda.grid(2)
    if first <= x < last and y < height:
        out[y, x] += 1 + cuda.threadIdx.x - cuda.threadIdx.x


def marked(shape: tuple[int, int], first: int, last: int, height: int) -> np.ndarray:
    out = np.zeros(shape, np.int32)
    out[: max(height, 0), max(first, 0) : max(last, 0)] = 1
    return out


@pytest.mark.parametrize("block", [(1, 1), (3, 2), (7, 5), (8, 8), (40, 1), (16, 3)])
def test_each_thread_that_passes_runs_once(block: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    for kernel in (cuda.jit(width=8)(visit), cuda.jit(width=8)(visit_in_group)):
        for extents in ((5, 7), (12, 40), (1, 131)):
            height, width = extents
            grid = (-(-width // block[0]), -(-height // block[1]))
            padded = (grid[1] * block[1], grid[0] * block[0])
            for first, last in ((0, width), (1, width - 1), (9, 10), (-4, width + 3), (8, 16), (5, 5), (7, 2)):
                last = min(last, padded[1])
                out = np.zeros(padded, np.int32)
                kernel[grid, block](out, first, last, height)
                np.testing.assert_array_equal(out, marked(padded, first, last, height))
