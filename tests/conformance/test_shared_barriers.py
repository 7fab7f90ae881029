"""Shared memory, static and dynamic, and barriers in every position where all threads reach them."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, given, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

VECTOR = to_out(np.int64, of(small, np.int64, size=96), size=96)
# At most this many threads a group: what the static arrays below have room for.
MOST = 1024


@cases.kernel(VECTOR, threads=96)
def reverse_in_the_group(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < out.size:
        out[i] = s[cuda.blockDim.x - 1 - t]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=96), size=96), threads=96)
def tree_reduction(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    width = cuda.blockDim.x
    cuda.syncthreads()
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            s[t] += s[t + half]
        cuda.syncthreads()
        width = half
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cases.kernel(VECTOR, threads=96)
def inclusive_scan(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        add = s[t - step] if t >= step else 0
        cuda.syncthreads()
        s[t] += add
        cuda.syncthreads()
        step *= 2
    if i < out.size:
        out[i] = s[t]


@cases.kernel(VECTOR, threads=96)
def values_live_across_barriers(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    mine = x[i] * 3 if i < x.size else 0
    s[t] = mine
    cuda.syncthreads()
    neighbour = s[(t + 1) % cuda.blockDim.x]
    cuda.syncthreads()
    s[t] = neighbour - mine
    cuda.syncthreads()
    if i < out.size:
        out[i] = s[(t + 1) % cuda.blockDim.x] * 1000 + mine + neighbour


@cases.kernel(VECTOR, threads=96)
def barrier_in_a_for_loop(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < x.size else 1
    for k in range(4):
        s[t] = v + k
        cuda.syncthreads()
        v = v * 2 + s[(t + k) % cuda.blockDim.x]
        cuda.syncthreads()
    if i < out.size:
        out[i] = v


@cases.kernel(to_out(np.int64, of(small, np.int64, size=96), given(3), size=96), threads=96)
def barrier_under_uniform_control(out, x, mode):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    if mode > 2:
        cuda.syncthreads()
        v = s[cuda.blockDim.x - 1 - t]
        cuda.syncthreads()
    else:
        v = -1
    if mode == 5:
        cuda.syncthreads()
    if i < out.size:
        out[i] = v


@cases.kernel(VECTOR, threads=96)
def threads_that_returned_do_not_count(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = 0
    cuda.syncthreads()
    if i >= out.size or t % 3 == 2:
        return
    s[t] = x[i]
    cuda.syncthreads()
    s[t] += 1
    if t >= 1 and t % 3 == 1:
        out[i] = s[t] * 2
    else:
        out[i] = s[t]


@cases.kernel(VECTOR, threads=96)
def barrier_in_nested_loops_with_break(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0
    for a in range(3):
        for b in range(5):
            if b > a:
                break
            s[t] = v
            cuda.syncthreads()
            v += s[(t + a + b) % cuda.blockDim.x]
            cuda.syncthreads()
        if a == 1:
            continue
        v += a
    if i < out.size:
        out[i] = v


def count_and_or(out, x):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0
    count = cuda.syncthreads_count(v > 50)
    every = cuda.syncthreads_and(v < 98)
    some = cuda.syncthreads_or(v == 7)
    if t == 0:
        out[cuda.blockIdx.x] = count * 100 + (10 if every else 0) + (1 if some else 0)


cases.add(count_and_or, VECTOR, "syncthreads_count_and_or", threads=96)


@cases.kernel(to_out(np.float32, of(floats, np.float32, size=96), size=96), threads=96, dynamic_bytes=4096)
def dynamic_shared_memory(out, x):
    s = cuda.shared.array(0, dtype=np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    if i < out.size:
        out[i] = s[cuda.blockDim.x - 1 - t]


@cases.kernel(to_out(np.float32, of(floats, np.float32, size=96), size=96), threads=96, dynamic_bytes=8192)
def parts_of_dynamic_shared_memory(out, x):
    s = cuda.shared.array(0, dtype=np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.grid(1)
    first, second = s[:n], s[-n:]
    first[t] = x[i] if i < x.size else np.float32(0)
    second[::-1][t] = first[t] * 2
    cuda.syncthreads()
    if i < out.size:
        out[i] = second[t] + first[n - 1 - t] + s.size + len(s[1::3]) + s[-1]


@cases.kernel(VECTOR, threads=96)
def several_shared_arrays_of_several_types(out, x):
    a = cuda.shared.array(MOST, dtype=np.int8)
    b = cuda.shared.array(MOST, dtype=np.float64)
    c = cuda.shared.array((2, MOST), dtype=np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0
    a[t] = v
    b[t] = v * 0.5
    c[0, t] = v * 2
    c[1, t] = v * 3
    cuda.syncthreads()
    o = cuda.blockDim.x - 1 - t
    if i < out.size:
        out[i] = a[o] + int(b[o] * 2) + c[0, o] + c[1, t]


@cases.kernel(
    lambda rng: (np.ones((16, 24), np.float32), floats(rng, np.float32, (24, 16))), grid=(3, 2), block=(8, 8)
)
def tiled_transpose(out, x):
    tile = cuda.shared.array((8, 9), dtype=np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    # The grid covers the output; the tile is read at the transposed place.
    r, c = cuda.blockIdx.x * 8 + ty, cuda.blockIdx.y * 8 + tx
    tile[ty, tx] = x[r, c]
    cuda.syncthreads()
    out[row, column] = tile[tx, ty]


@cases.kernel(
    lambda rng: (
        np.ones((8, 12), np.float32),
        small(rng, np.float32, (8, 20), high=9),
        small(rng, np.float32, (20, 12), high=9),
    ),
    grid=(3, 2),
    block=(4, 4),
)
def tiled_matrix_product(c, a, b):
    sa = cuda.shared.array((4, 4), dtype=np.float32)
    sb = cuda.shared.array((4, 4), dtype=np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    s = np.float32(0)
    for k in range(0, a.shape[1], 4):
        sa[ty, tx] = a[row, k + tx]
        sb[ty, tx] = b[k + ty, column]
        cuda.syncthreads()
        for j in range(4):
            s += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    c[row, column] = s


@cases.kernel(lambda rng: (small(rng, np.int32, 64, high=1000),), grid=2, block=32)
def bitonic_sort_in_shared_memory(x):
    s = cuda.shared.array(32, dtype=np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    size = 2
    while size <= 32:
        stride = size // 2
        while stride > 0:
            cuda.syncthreads()
            other = t ^ stride
            if other > t:
                ascending = (t & size) == 0
                if (s[t] > s[other]) == ascending:
                    s[t], s[other] = s[other], s[t]
            stride //= 2
        size *= 2
    cuda.syncthreads()
    x[i] = s[t]


@cases.kernel(lambda rng: (np.ones(24, np.int64), small(rng, np.int64, 24)), grid=2, block=(2, 3, 2))
def group_in_three_dimensions(out, x):
    s = cuda.shared.array((2, 3, 2), dtype=np.int64)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    linear = tx + 2 * (ty + 3 * tz)
    i = cuda.blockIdx.x * 12 + linear
    s[tz, ty, tx] = x[i]
    cuda.syncthreads()
    out[i] = s[1 - tz, 2 - ty, 1 - tx] * 100 + cuda.blockDim.y


def _exchange(s, t, v):
    """Hand a value to the neighbour, through shared memory and two barriers."""
    s[t] = v
    cuda.syncthreads()
    got = s[(t + 1) % cuda.blockDim.x]
    cuda.syncthreads()
    return got


@cases.kernel(VECTOR, threads=96)
def barrier_in_a_called_function(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0
    v += _exchange(s, t, v)
    v *= _exchange(s, t, v + 1)
    if i < out.size:
        out[i] = v


@cases.kernel(VECTOR, threads=96)
def shared_scalar_of_the_group(out, x):
    best = cuda.shared.array(1, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t == 0:
        best[0] = -1
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.max(best, 0, x[i])
    cuda.syncthreads()
    if i < out.size:
        out[i] = best[0] - x[i]


@cases.kernel(VECTOR, threads=96)
def loop_of_equal_trip_count_with_a_barrier(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    i = cuda.grid(1)
    v = 0
    for k in range(t, 3 * n, n):
        s[t] = k
        cuda.syncthreads()
        v += s[n - 1 - t]
        cuda.syncthreads()
    if i < out.size:
        out[i] = v + x[i]


@cases.kernel(VECTOR, threads=96)
def fences_change_nothing(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]
        cuda.threadfence()
        out[i] += 1
        cuda.threadfence_block()
        out[i] *= 2
        cuda.threadfence_system()


@cases.kernel(VECTOR, threads=96)
def barrier_without_shared_memory(out, x):
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < out.size:
        out[i] = v + 1


@cases.kernel(VECTOR, threads=96)
def local_array_live_across_a_barrier(out, x):
    s = cuda.shared.array(MOST, dtype=np.int64)
    mine = cuda.local.array(4, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    for k in range(4):
        mine[k] = t * 10 + k
    s[t] = mine[t % 4]
    cuda.syncthreads()
    mine[1] += s[(t + 2) % cuda.blockDim.x]
    cuda.syncthreads()
    if i < out.size:
        out[i] = mine[0] + mine[1] + mine[2] + mine[3] + x[i]


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)
