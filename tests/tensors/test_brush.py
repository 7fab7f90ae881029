"""Brushes and projections of every door: what options mean, and the same results as one thread after the other."""

import re
from pathlib import Path

import numpy as np
import pytest

import weft
from pairs import WHOLE
from tensors.nests import run
from weft import cuda, prange
from weft.brush import Brush, brush_of
from weft.diag.errors import ArgumentError, SignatureError

BRUSHES = [((2, 4), None), ((4, 4), (0, 1)), ((8, 1), None), ((1, 8), (0, 1)), ((2, 16), (1, 0))]
SHAPES = [(0, 3), (3, 3), (2, 37), (17, 21)]


def lanes(brush: Brush) -> list[tuple[int, ...]]:
    """The coordinates at each lane."""
    return sorted(np.ndindex(*brush.extents), key=brush.lane)


@pytest.mark.parametrize(
    ("projection", "first_lanes"),
    [
        ((2, 1, 0), [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0)]),
        ((0, 1, 2), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)]),
        ((1, 2, 0), [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0)]),
    ],
)
def test_figure_11_7_projections_of_a_cube(projection, first_lanes) -> None:
    brush = brush_of((2, 2, 2), projection)
    assert brush is not None
    assert lanes(brush)[:5] == first_lanes
    assert [brush.lane(c) for c in lanes(brush)] == list(range(8))


@pytest.mark.parametrize(
    ("brush", "projection"),
    [((4, 3), None), ((4,), None), ((16, 8), None), ((1, 1), None), ((2, 2, 2, 2), None), ("4by4", None), (4, None),
     ((4, 4), (1,)), ((4, 4), (1, 1)), ((4, 4), "1;0"), (None, (1, 0)), ((2.0, 4), None)],
)  # fmt: skip
def test_what_is_no_brush_is_refused(brush, projection) -> None:
    with pytest.raises(SignatureError):
        brush_of(brush, projection)


def test_a_brush_has_a_width_of_its_own() -> None:
    with pytest.raises(SignatureError, match="both a brush and a width"):
        weft.jit(lambda: None, brush=(4, 4), width=16)
    assert brush_of("4x16", "1,0") == Brush((4, 16), (1, 0))


def jacobi(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            b[j, i] = 0.2 * (a[j - 1, i] + a[j, i - 1] + a[j, i] + a[j, i + 1] + a[j + 1, i])


def transposed(a, b):
    for j in prange(a.shape[1]):
        for i in prange(a.shape[0]):
            b[i, j] = a.T[j, i] + 1


def divergent(a, b):
    for j in prange(a.shape[0]):
        scale = j * 0.5
        for i in prange(a.shape[1] - 1, -1, -2):
            x, steps = a[j, i], 0
            while x > 0.1 and steps < 9:
                x *= 0.7
                steps += 1
            if steps % 2 == 1:
                b[j, i] = steps + scale
            else:
                b[j, i] = x


def shared_row(a, b):
    for j in prange(a.shape[0]):
        for i in prange(a.shape[1]):
            total = 0.0
            for k in range(min(a.shape[0], a.shape[1])):
                total += a[j, k] * a[k, i]
            b[j, i] = total


@pytest.mark.spread
@pytest.mark.parametrize(("brush", "projection"), BRUSHES)
@pytest.mark.parametrize("function", [jacobi, transposed, divergent, shared_row])
def test_nests_of_prange(function, brush, projection) -> None:
    brushed = weft.jit(function, brush=brush, projection=projection)
    for shape in SHAPES:
        a, b = np.random.default_rng(1).random(shape), np.zeros(shape)
        wanted = b.copy()
        brushed(a, b)
        function(a, wanted)
        assert np.allclose(b, wanted, rtol=1e-13), shape
    assert any(f"as a box of {'x'.join(map(str, brush))}" in str(r) for r in brushed.remarks)


def test_reductions_over_a_nest() -> None:
    @weft.jit(brush=(4, 4), projection=(0, 1))
    def total(a, least):
        count, largest = 0, 0.0
        for j in prange(a.shape[0]):
            for i in prange(a.shape[1]):
                if a[j, i] > least:
                    count += 1
                largest = max(largest, a[j, i])
        return count, largest

    for shape in SHAPES:
        a = np.random.default_rng(1).random(shape)
        assert total(a, 0.4) == ((a > 0.4).sum(), a.max(initial=0.0))


def test_a_brush_of_fewer_dimensions_takes_the_innermost_loops() -> None:
    @weft.jit(brush=(2, 4))
    def scaled(a, b):
        for k in prange(a.shape[0]):
            for j in prange(a.shape[1]):
                for i in prange(a.shape[2]):
                    b[k, j, i] = a[k, j, i] * 2 + k

    a = np.random.default_rng(1).random((3, 5, 7))
    b = np.zeros_like(a)
    scaled(a, b)
    assert np.array_equal(b, a * 2 + np.arange(3)[:, None, None])


def test_what_is_no_nest_runs_as_before_with_a_remark() -> None:
    @weft.jit(brush=(2, 4))
    def triangle(a):
        for j in prange(a.shape[0]):
            for i in prange(j, a.shape[1]):
                a[j, i] = i - j

    a = np.zeros((9, 9))
    triangle(a)
    assert np.array_equal(a, np.triu(np.arange(9) - np.arange(9)[:, None]))
    assert any(
        "not vectorized together: how often the inner loop runs depends" in str(r) for r in triangle.remarks
    )


@pytest.mark.parametrize(("brush", "projection"), BRUSHES)
def test_kernels(brush, projection) -> None:
    @cuda.jit(brush=brush, projection=projection)
    def turned(a, b):
        tile = cuda.shared.array((8, 8), np.float64)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if y < a.shape[0] and x < a.shape[1]:
            tile[ty, tx] = a[y, x]
        cuda.syncthreads()
        x, y = cuda.blockIdx.y * 8 + tx, cuda.blockIdx.x * 8 + ty
        if x < a.shape[0] and y < a.shape[1]:
            b[y, x] = tile[tx, ty] + 1 if tile[tx, ty] > 0.5 else tile[tx, ty]

    a = np.random.default_rng(1).random((19, 29))
    b = np.zeros((29, 19))
    turned[(4, 3), (8, 8)](a, b)
    assert np.array_equal(b, np.where(a > 0.5, a + 1, a).T)


@pytest.mark.parametrize(
    ("brush", "projection"),
    [((2, 4, 4), None), ((2, 2, 2), (0, 1, 2)), ((4, 1, 4), (2, 0, 1)), ((1, 2, 8), (1, 2, 0))],
)
def test_kernels_of_three_dimensions(brush, projection) -> None:
    @cuda.jit(brush=brush, projection=projection)
    def numbered(b):
        x, y, z = cuda.grid(3)
        if z < b.shape[0] and y < b.shape[1] and x < b.shape[2] and x % 3 != 1:
            b[z, y, x] = x - 3 * y + 5 * z

    b = np.zeros((5, 9, 13))
    numbered[(2, 3, 3), (8, 4, 2)](b)
    z, y, x = np.indices(b.shape)
    assert np.array_equal(b, np.where(x % 3 != 1, x - 3 * y + 5 * z, 0))


PROGRAM = """
void turned(long n, long m, double *restrict b, const double *restrict a) {
  for (long j = 0; j < n; j++)
    for (long i = 0; i < m; i++)
      b[i * n + j] = a[j * m + i];
}
"""


@pytest.mark.parametrize(("brush", "projection"), [("4x8", "1,0"), ("4x4", "0,1")])
def test_nests_of_c(tmp_path: Path, brush, projection) -> None:
    file = tmp_path / "turned.c"
    file.write_text(PROGRAM)
    a, b = np.random.default_rng(1).random((13, 21)), np.zeros((21, 13))
    made = weft.vectorize_ir(
        file, "turned", loop="nest", brush=brush, projection=projection, check_with=[13, 21, b, a]
    )
    assert made.loops == 1
    assert f"as a box of {brush}" in str(made.remarks)


def test_options_of_nests_of_c(tmp_path: Path) -> None:
    file = tmp_path / "turned.c"
    file.write_text(PROGRAM)
    with pytest.raises(ArgumentError, match="a nest with a width"):
        weft.vectorize_ir(file, "turned", loop="nest", width=8)
    # A transposition gains by any box.
    assert re.search(
        r"as a box of \d+x\d+, which takes", str(weft.vectorize_ir(file, "turned", loop="nest").remarks)
    )
    with pytest.raises(ArgumentError, match="brushes are for nests"):
        weft.vectorize_ir(file, "turned", brush="4x4")


@pytest.mark.parametrize("first", range(0, 40, 4 if WHOLE else 8))
def test_random_nests(first, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    for seed in range(first, first + (4 if WHOLE else 1)):
        run(seed, 8)


def test_nests_that_are_found_to_be_parallel(tmp_path: Path) -> None:
    pytest.importorskip("islpy")
    file = tmp_path / "turned.c"
    file.write_text(PROGRAM)
    a, b = np.random.default_rng(1).random((13, 21)), np.zeros((21, 13))
    made = weft.vectorize_ir(file, "turned", loop="auto", brush="4x4", check_with=[13, 21, b, a])
    assert "as a box of 4x4" in str(made.remarks)
