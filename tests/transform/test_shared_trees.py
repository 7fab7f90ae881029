"""Trees in shared memory in the first lane group do what their rounds say in any work-group (`trees_in_lanes`)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import cuda, opencl

THREADS = 128


def sums(a, out, first):
    """All that is left in shared memory is looked at."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def first_told(a, out, first):
    """Where the first distance is no power of two, or too short, rounds are as they were."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    s = first
    while s > 0:
        if t < s:
            tile[t] = tile[t] * np.float32(0.5) + tile[t + s]
        cuda.syncthreads()
        s >>= 1
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def of_the_group(a, out, first):
    """The number of threads is halved in front of each round; two arrays, one of pairs, go together."""
    low = cuda.shared.array(2 * THREADS, np.int32)
    pairs = cuda.shared.array((2 * THREADS, 2), np.float64)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        low[k] = np.int32(a[k] * 100)
        pairs[k, 0], pairs[k, 1] = a[k], -a[k]
    cuda.syncthreads()
    s = n // 2
    while s > 0:
        if t < s:
            low[t] = min(low[t], low[t + s])
            pairs[t, 1] += pairs[t + s, 1] * s
            pairs[t, 0] = max(pairs[t, 0], pairs[t + s, 0])
        cuda.syncthreads()
        s //= 2
    out[t], out[t + n] = low[t] + pairs[t, 0], pairs[t, 1]


def waits_first(a, out, first):
    """A round begins with its barrier: behind the last one, threads read what others have stored in other rounds."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    s = 64
    while s > 4:
        cuda.syncthreads()
        if s > t:
            tile[t] += tile[t + s]
        s >>= 1
    if t >= 16:
        out[t], out[t + n] = tile[t % 16 + 16], tile[t + n] + tile[t]


def own_before(a, out, first):
    """What a thread has stored just before its first round it reads without a barrier, and so behind the last one."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t < 64:
        tile[t] *= np.float32(3)
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[0] = tile[0]


def some_return(a, out, first):
    """Threads that have returned take no part: what they would have done is not done."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    if t >= first:
        return
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def of_threads(a, out, first):
    """What a thread adds is its own, and no element."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    mine = a[t] * a[t]
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s] * mine
        cuda.syncthreads()
        s //= 2
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def over_each_other(a, out, first):
    """Elements of one array are those of the other, one further."""
    tile = cuda.shared.array(2 * THREADS + 1, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s] + tile[t + s + 1]
        cuda.syncthreads()
        s //= 2
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def halves_behind(a, out, first):
    """What is halved counts in a round, and may be odd."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    s = first
    while True:
        half = s // 2
        if half == 0:
            break
        if t < half:
            tile[t] += tile[t + half] * np.float32(s)
        cuda.syncthreads()
        s = half
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


def quarters(a, out, first):
    """Distances are not halved."""
    tile = cuda.shared.array(2 * THREADS, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * THREADS, n):
        tile[k] = a[k]
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 4
    for k in range(t, 2 * THREADS, n):
        out[k] = tile[k]


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 4])
@pytest.mark.parametrize(
    ("program", "firsts", "threads", "found"),
    [
        (sums, (0,), (128, 80, 64, 32), True),
        (first_told, (64, 48, 2, 0), (128, 96), True),
        (of_the_group, (0,), (128, 64, 96, 16), True),
        (waits_first, (0,), (128, 64), True),
        (own_before, (0,), (128, 64), True),
        (some_return, (128, 70, 30), (128,), False),
        (of_threads, (0,), (128,), False),
        (over_each_other, (0,), (128,), False),
        (halves_behind, (128, 129), (128,), False),
        (quarters, (0,), (128,), False),
    ],
)
def test_trees_do_what_their_rounds_say(
    program: Callable[..., None],
    firsts: tuple[int, ...],
    threads: tuple[int, ...],
    found: bool,
    width: int | None,
) -> None:
    a = np.random.default_rng(7).random(2 * THREADS).astype(np.float32)
    kernel: Any = cuda.jit(program, width=width) if width else cuda.jit(program)
    interpreted: Any = cuda.jit(program, debug=True)
    for first in firsts:
        for n in threads:
            out, wanted = np.zeros(2 * THREADS, np.float32), np.zeros(2 * THREADS, np.float32)
            kernel[1, n](a, out, first)
            interpreted[1, n](a, wanted, first)
            assert (out == wanted).all(), (first, n)
    told = any(
        "this tree in shared memory waits at no barrier" in remark.message for remark in kernel.remarks
    )
    assert told == found


def rows(a, out):
    """Of several rows of threads, each of which does the same."""
    tile = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s //= 2
    out[cuda.threadIdx.y, t] = tile[t]


def test_a_work_group_of_several_rows_has_rounds() -> None:
    a = np.random.default_rng(3).integers(0, 1000, 64).astype(np.int32)
    out = np.zeros((3, 64), np.int32)
    cuda.jit(rows)[1, (64, 3)](a, out)
    assert (out[:, 0] == a.max()).all()
    assert (out == out[0]).all()


def sums_of_rows(a, out, first):
    tile = cuda.shared.array((4, 128), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(x, 128, cuda.blockDim.x):
        tile[y, k] = a[y, k]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if x < s:
            tile[y, x] += tile[y, x + s]
        cuda.syncthreads()
        s //= 2
    for k in range(x, 128, cuda.blockDim.x):
        out[y, k] = tile[y, k]


def totals_of_rows(a, out, first):
    """Only a row's first thread looks at what is its own; rows are longer by one element."""
    tile = cuda.shared.array((4, 65), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(x, 64, cuda.blockDim.x):
        tile[y, k] = a[y, k]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if x < s:
            tile[y, x] += tile[y, x + s]
        cuda.syncthreads()
        s //= 2
    if x == 0:
        out[y, 0] = tile[y, 0]


def totals_of_other_rows(a, out, first):
    """A row's first thread looks at what is the one's before: behind a barrier."""
    tile = cuda.shared.array((4, 64), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(x, 64, cuda.blockDim.x):
        tile[y, k] = a[y, k]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if x < s:
            tile[y, x] += tile[y, x + s]
        cuda.syncthreads()
        s //= 2
    if x == 0:
        out[y, 0] = tile[(y + 1) % cuda.blockDim.y, 0]


def greatest_of_rows(a, out, first):
    """The distance is told by the launch, two arrays go together."""
    tile = cuda.shared.array((4, 128), np.float32)
    place = cuda.shared.array((4, 128), np.int64)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(x, 128, cuda.blockDim.x):
        tile[y, k] = a[y, k]
        place[y, k] = k
    cuda.syncthreads()
    s = first
    while s > 0:
        if x < s:
            tile[y, x] = max(tile[y, x], tile[y, x + s])
            place[y, x] += place[y, x + s]
        cuda.syncthreads()
        s //= 2
    for k in range(x, 128, cuda.blockDim.x):
        out[y, k] = tile[y, k] + place[y, k]


def in_each_other(a, out, first):
    """Rows are shorter than what trees access."""
    tile = cuda.shared.array(256, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(x, 256, cuda.blockDim.x):
        tile[k] = a[0, k % 128]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if x < s:
            tile[y * 32 + x] = max(tile[y * 32 + x], tile[y * 32 + x + s])
        cuda.syncthreads()
        s //= 2
    out[0, 0] = 1


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 4])
@pytest.mark.parametrize(
    ("program", "firsts", "found"),
    [
        (sums_of_rows, (0,), True),
        (totals_of_rows, (0,), True),
        (totals_of_other_rows, (0,), True),
        (greatest_of_rows, (64, 32, 48, 2), True),
        (in_each_other, (0,), False),
    ],
)
def test_rows_of_threads_have_trees_of_their_own(
    program: Callable[..., None], firsts: tuple[int, ...], found: bool, width: int | None
) -> None:
    a = np.random.default_rng(7).random((4, 128)).astype(np.float32)
    kernel: Any = cuda.jit(program, width=width) if width else cuda.jit(program)
    interpreted: Any = cuda.jit(program, debug=True)
    for first in firsts:
        for block in ((64, 3), (128, 4), (64, 1), (96, 2), (48, 3), (32, 4)):
            if found:
                out, wanted = np.zeros((4, 128), np.float32), np.zeros((4, 128), np.float32)
                kernel[1, block](a, out, first)
                interpreted[1, block](a, wanted, first)
                assert (out == wanted).all(), (first, block)
    if not found:
        kernel[1, (64, 1)](a, np.zeros((4, 128), np.float32), 0)
    told = any("waits at no barrier: in rows" in remark.message for remark in kernel.remarks)
    assert told == found


def planes(a, out):
    """Of several planes of threads, each of which does the same."""
    tile = cuda.shared.array((3, 64), np.int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[x]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if x < s:
            tile[y, x] = max(tile[y, x], tile[y, x + s])
        cuda.syncthreads()
        s //= 2
    out[cuda.threadIdx.z, y, x] = tile[y, x]


def test_a_work_group_of_several_planes_has_rounds() -> None:
    a = np.random.default_rng(3).integers(0, 1000, 64).astype(np.int32)
    out = np.zeros((2, 3, 64), np.int32)
    cuda.jit(planes)[1, (64, 3, 2)](a, out)
    assert (out[:, :, 0] == a.max()).all()
    assert (out == out[0, 0]).all()


OPENCL = """
kernel void tree(global const float *a, global float *out, unsigned row, local float *tile) {
  unsigned t = get_local_id(0), n = get_local_size(0);
  local float *mine = tile + row * 2;
  for (unsigned k = t; k < 256; k += n) mine[k] = a[k];
  for (unsigned s = n / 2; s > 0; s >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < s) mine[t] = fmax(mine[t], mine[t + s] * 0.75f);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (unsigned k = t; k < 256; k += n) out[k] = mine[k];
}"""

CUDA_C = """
template <int B> __global__ void tree(const float *a, float *out) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  for (int k = t; k < 256; k += blockDim.x) tile[k] = a[k];
  __syncthreads();
  for (int s = B / 2; s > 0; s >>= 1) {
    if (t < s) tile[t] = fmaxf(tile[t], tile[t + s] * 0.75f);
    __syncthreads();
  }
  for (int k = t; k < 256; k += blockDim.x) out[k] = tile[k];
}"""


@pytest.mark.parametrize("threads", [128, 96])
def test_trees_of_opencl_and_cuda_c(threads: int) -> None:
    a = np.random.default_rng(5).random(2 * THREADS).astype(np.float32)
    wanted, s = a.copy(), threads // 2
    while s > 0:
        wanted[:s] = np.maximum(wanted[:s], wanted[s : 2 * s] * np.float32(0.75))
        s //= 2
    out = np.zeros_like(a)
    kernel = opencl.Program(OPENCL).tree
    kernel(threads, threads, a, out, 3, opencl.LocalMemory(2048))
    assert (out == wanted).all()
    other = np.zeros_like(a)
    module = cuda.Module(CUDA_C)
    of_cuda: Any = module[f"tree<{threads}>"]
    of_cuda[1, threads](a, other)
    assert (other == wanted).all()
    found = [
        any("this tree in shared memory waits at no barrier" in r.message for r in k.remarks)
        for k in (kernel, of_cuda)
    ]
    assert found == [True, threads == 128]


OPENCL_ROWS = """
kernel void tree(global const float *a, global float *out) {
  local float tile[4][64];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = a[y * 64 + x];
  for (int s = 32; s > 0; s >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x < s) tile[y][x] = fmax(tile[y][x], tile[y][x + s] * 0.75f);
  }
  if (x == 0) out[y] = tile[y][0];
}"""

CUDA_C_ROWS = """
__global__ void tree(const float *a, float *out) {
  __shared__ float tile[4 * 64];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y * 64 + x] = a[y * 64 + x];
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (x < s) tile[y * 64 + x] = fmaxf(tile[y * 64 + x], tile[y * 64 + x + s] * 0.75f);
    __syncthreads();
  }
  if (x == 0) out[y] = tile[y * 64];
}"""


def test_trees_of_rows_in_opencl_and_cuda_c() -> None:
    a = np.random.default_rng(5).random((4, 64)).astype(np.float32)
    wanted, s = a.copy(), 32
    while s > 0:
        wanted[:, :s] = np.maximum(wanted[:, :s], wanted[:, s : 2 * s] * np.float32(0.75))
        s //= 2
    out, other = np.zeros(4, np.float32), np.zeros(4, np.float32)
    kernel = opencl.Program(OPENCL_ROWS).tree
    kernel((64, 4), (64, 4), a, out)
    assert (out == wanted[:, 0]).all()
    of_cuda: Any = cuda.Module(CUDA_C_ROWS).tree
    of_cuda[1, (64, 4)](a, other)
    assert (other == wanted[:, 0]).all()
    for k in (kernel, of_cuda):
        assert any("waits at no barrier: in rows" in r.message for r in k.remarks)
