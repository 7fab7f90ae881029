"""Numbers that all lanes have, where those of lanes are known to equal them."""

import numpy as np
import pytest

import weft
from weft import cuda
from weft.target.machine import TargetSpec


def upper_triangles(a):
    matrix, j = cuda.blockIdx.x, cuda.threadIdx.x
    factors = cuda.shared.array(24, np.float32)
    for k in range(24):
        if j == k:
            for i in range(j + 1, 24):
                factors[i] = a[matrix, i, j] / a[matrix, j, j]
        cuda.syncthreads()
        for i in range(k + 1, 24):
            a[matrix, i, j] -= factors[i] * a[matrix, k, j]
        cuda.syncthreads()


def sums_of_one_row(a, wanted, out):
    for row in weft.prange(len(a)):
        total = np.float32(0)
        if row == wanted and a[0, 0] == 0:
            for i in range(row, a.shape[1]):
                total += a[row, i]
        elif row != wanted + 1:
            total = np.float32(row)
        out[row] = total


def remarks_of(compiled) -> str:
    return " ".join(r.message for r in compiled.remarks)


LEAVES = "leave this loop in different iterations"


@pytest.mark.parametrize("left_out", [(), ("common-numbers", "narrowing")])
def test_what_one_thread_does_is_at_the_place_that_all_know(left_out: tuple[str, ...]) -> None:
    a = (np.random.default_rng(1).random((3, 24, 24)) + 9 * np.eye(24)).astype(np.float32)
    expected = a.astype(np.float64)
    for k in range(24):
        factor = expected[:, k + 1 :, k : k + 1] / expected[:, k : k + 1, k : k + 1]
        expected[:, k + 1 :] -= factor * expected[:, k : k + 1]
    kernel = cuda.jit(upper_triangles, without=left_out)
    kernel[3, 24](a)
    np.testing.assert_allclose(a, expected, rtol=2e-4, atol=2e-4)
    assert (LEAVES in remarks_of(kernel)) == bool(left_out)


def test_iterations_know_it_behind_two_conditions() -> None:
    a = np.arange(30 * 40, dtype=np.float32).reshape(30, 40)
    out = np.zeros(30, np.float32)
    loop = weft.jit(sums_of_one_row, width=8)
    loop(a, 17, out)
    expected = np.arange(30, dtype=np.float32)
    expected[17], expected[18] = a[17, 17:].sum(), 0
    np.testing.assert_array_equal(out, expected)
    assert LEAVES not in remarks_of(loop)


def tile_with_edges(a, out):
    """Two threads load what is beside the tile: at places computed of their numbers before."""
    tile = cuda.shared.array(66, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 64 + t
    tile[t + 1] = a[i + 1]
    if t == 0:
        tile[0] = a[i]
    if t == 63:
        tile[65] = a[i + 2] if i + 2 < a.size - 1 else np.float32(-1)
    cuda.syncthreads()
    out[i] = tile[t] + 2 * tile[t + 1] + 3 * tile[t + 2]


def beside_the_edge(a, out):
    """What is computed of the number in the same place is another thread's where that is not known."""
    t, edge = cuda.threadIdx.x, cuda.blockIdx.x + 5
    i, other = cuda.blockIdx.x * 64 + t, t ^ 1
    out[i] = a[i]
    if t == edge:
        out[i] = a[i + other] + i
    elif other == edge:
        out[i] = a[i - other + t + 1] - i


@pytest.mark.parametrize("width", [None, 4, 64])
@pytest.mark.parametrize("left_out", [(), ("common-numbers", "narrowing")])
def test_what_was_computed_of_it_before_is_computed_again(
    left_out: tuple[str, ...], width: int | None
) -> None:
    a = np.random.default_rng(2).random(4 * 64 + 2).astype(np.float32)
    for program in (tile_with_edges, beside_the_edge):
        kernel = (
            cuda.jit(program, without=left_out, width=width) if width else cuda.jit(program, without=left_out)
        )
        out, wanted = np.zeros(4 * 64, np.float32), np.zeros(4 * 64, np.float32)
        b = np.concatenate([a, a])
        kernel[4, 64](b, out)
        cuda.jit(program, debug=True)[4, 64](b, wanted)
        assert (out == wanted).all()


def test_what_one_thread_loads_has_no_mask() -> None:
    a = np.random.default_rng(2).random(4 * 64 + 2).astype(np.float32)
    masked: list[int] = []
    for left_out in ((), ("common-numbers", "narrowing")):
        kernel = cuda.jit(tile_with_edges, without=left_out, width=32)
        kernel[4, 64](a, np.zeros(4 * 64, np.float32))
        masked.append(
            sum("@llvm.masked." in line and "call" in line for line in str(kernel.inspect_llvm()).split("\n"))
        )
    # SSE2 has no masked loads at all.
    assert masked[0] == 0 and (masked[1] > 0 or not TargetSpec.chosen().isa.masks_memory(32))
