"""Trees in shared memory whose rounds are written out are loops again, and do what the rounds said."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import cuda, opencl

THREADS = 128


def sums(a, out):
    """The last round asks as what follows does; all that is left in shared memory is looked at."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t < 32:
        tile[t] += tile[t + 32]
    cuda.syncthreads()
    if t < 16:
        tile[t] += tile[t + 16]
    cuda.syncthreads()
    if t < 8:
        tile[t] += tile[t + 8]
    cuda.syncthreads()
    if t < 4:
        tile[t] += tile[t + 4]
    cuda.syncthreads()
    if t < 2:
        tile[t] += tile[t + 2]
    cuda.syncthreads()
    if t < 1:
        tile[t] += tile[t + 1]
    cuda.syncthreads()
    if t == 0:
        out[2 * THREADS] = tile[0]
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def down_to_four(a, out):
    """Two arrays, one of pairs; there are rounds down to a distance of 4, then another one."""
    low = cuda.shared.array(2 * THREADS, np.int32)
    pairs = cuda.shared.array((2 * THREADS, 2), np.float64)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        low[k] = np.int32(a[k] * 100)
        pairs[k, 0], pairs[k, 1] = a[k], -a[k]
    cuda.syncthreads()
    if t < 16:
        low[t] = min(low[t], low[t + 16])
        pairs[t, 1] += pairs[t + 16, 1]
        pairs[t, 0] = max(pairs[t, 0], pairs[t + 16, 0])
    cuda.syncthreads()
    if t < 8:
        low[t] = min(low[t], low[t + 8])
        pairs[t, 1] += pairs[t + 8, 1]
        pairs[t, 0] = max(pairs[t, 0], pairs[t + 8, 0])
    cuda.syncthreads()
    if t < 4:
        low[t] = min(low[t], low[t + 4])
        pairs[t, 1] += pairs[t + 4, 1]
        pairs[t, 0] = max(pairs[t, 0], pairs[t + 4, 0])
    cuda.syncthreads()
    if t < 2:
        low[t] = max(low[t], low[t + 2])
    cuda.syncthreads()
    out[t], out[t + n] = low[t] + pairs[t, 0], pairs[t, 1]


def other_round(a, out):
    """One round does another thing than those around it, so that few are alike."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t < 32:
        tile[t] += tile[t + 32]
    cuda.syncthreads()
    if t < 16:
        tile[t] += tile[t + 16]
    cuda.syncthreads()
    if t < 8:
        tile[t] -= tile[t + 8]
    cuda.syncthreads()
    if t < 4:
        tile[t] += tile[t + 4]
    cuda.syncthreads()
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def other_distances(a, out):
    """What is added is farther away than the distance in one round."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t < 32:
        tile[t] += tile[t + 32]
    cuda.syncthreads()
    if t < 16:
        tile[t] += tile[t + 32]
    cuda.syncthreads()
    if t < 8:
        tile[t] += tile[t + 8]
    cuda.syncthreads()
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def quarters(a, out):
    """Distances are not halved."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t < 64:
        tile[t] += tile[t + 64]
    cuda.syncthreads()
    if t < 16:
        tile[t] += tile[t + 16]
    cuda.syncthreads()
    if t < 4:
        tile[t] += tile[t + 4]
    cuda.syncthreads()
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def without_barrier(a, out):
    """Between two rounds nobody waits: threads read what they have stored themselves."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t < 32:
        tile[t] += tile[t + 64]
    if t < 16:
        tile[t] += tile[t + 64]
    if t < 8:
        tile[t] += tile[t + 64]
    cuda.syncthreads()
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 4])
@pytest.mark.parametrize(
    ("program", "found"),
    [
        (sums, True),
        (down_to_four, True),
        (other_round, False),
        (other_distances, False),
        (quarters, False),
        (without_barrier, False),
    ],
)
def test_rounds_do_what_they_did(program: Callable[..., None], found: bool, width: int | None) -> None:
    a = np.random.default_rng(7).random(2 * THREADS).astype(np.float32)
    options = {} if width is None else {"width": width}
    kernel: Any = cuda.jit(program, **options)
    interpreted: Any = cuda.jit(program, debug=True)
    for n in (128, 80, 64, 32):
        out, wanted = np.zeros(2 * THREADS + 1, np.float32), np.zeros(2 * THREADS + 1, np.float32)
        kernel[1, n](a, out)
        interpreted[1, n](a, wanted)
        assert (out == wanted).all(), n
    messages = [remark.message for remark in kernel.remarks]
    assert any("is a loop again" in message for message in messages) == found
    assert any("waits at no barrier" in message for message in messages) == found


C = """
__kernel void largest(__global const int *a, __global int *out) {
    __local int tile[64];
    int t = get_local_id(0);
    tile[t] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 32) tile[t] = max(tile[t], tile[t + 32]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 16) tile[t] = max(tile[t], tile[t + 16]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 8) tile[t] = max(tile[t], tile[t + 8]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 4) tile[t] = max(tile[t], tile[t + 4]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 2) tile[t] = max(tile[t], tile[t + 2]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 1) tile[t] = max(tile[t], tile[t + 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0) out[get_group_id(0)] = tile[0];
}
"""


def test_opencl_c() -> None:
    a = np.random.default_rng(3).integers(-1000, 1000, 320).astype(np.int32)
    out = np.zeros(5, np.int32)
    kernel = opencl.Program(C).largest
    kernel(320, 64, a, out)
    np.testing.assert_array_equal(out, a.reshape(5, 64).max(1))
    assert any("is a loop again" in remark.message for remark in kernel.remarks)
