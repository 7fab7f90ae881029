"""What kernels know of arrays of less than 2 GiB: with rows of known lengths they have fewer rows."""

import re

import numpy as np
import pytest

from examples.irregular.kd_tree import heap_of, nearest
from weft import cuda
from weft.cuda.build import start
from weft.frontend.python.typeof import typeof
from weft.options import CompileOptions, Timings


@pytest.mark.parametrize("known", [(), ((2, 2),)], ids=["unknown", "two"])
def test_nodes_of_a_walk_have_32_bits(known: tuple[tuple[int, int], ...]) -> None:
    points = np.zeros((127, 2), np.float32)
    types = tuple(map(typeof, (points, points, np.zeros(127, np.float32))))
    started, _ = start(nearest.py_func, types, CompileOptions(width=8, known=known), Timings())
    text = started.finish().text
    # Half as many rows of two elements: twice the number of one fits in 32 bits, and is not negative.
    assert bool(re.search(r"range\(i64 0, 268435456\) %points\.shape\.0", text)) == bool(known)
    assert bool(re.search(r"select <8 x i1> [^,]*, <8 x i64>", text)) != bool(known)


def test_rows_that_lie_on_each_other_are_not_bounded() -> None:
    row = np.lib.stride_tricks.as_strided(np.zeros(2, np.float32), (127, 2), (0, 4))
    types = tuple(map(typeof, (row, np.zeros((127, 2), np.float32), np.zeros(127, np.float32))))
    started, _ = start(nearest.py_func, types, CompileOptions(width=8, known=((2, 2),)), Timings())
    assert "range(i64 0, 268435456) %points.shape.0" not in started.finish().text


def test_the_nearest_points_are_found() -> None:
    rng = np.random.default_rng(3)
    points, queries = heap_of(rng.random((127, 2), np.float32)), rng.random((300, 2), np.float32)
    expected = ((queries[:, None] - points[None]) ** 2).sum(axis=2).min(axis=1)
    kernel, found = cuda.jit(nearest.py_func, width=8), np.zeros(300, np.float32)
    for _ in range(2):
        kernel[3, 128](points, queries, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
