"""Loops over far elements in kernels with barriers run a few rounds at a time for whole work-groups."""

import numpy as np
import pytest

from pairs import pairs
from weft import cuda

THREADS = 32


def sums(values, out, n):
    partial = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += values[i]
    partial[t] = total
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if t < width:
            partial[t] += partial[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


def two_shares(values, out, n):
    """Two values are handed on, the last one read behind the loop, and the loop is written with ``while``."""
    partial = cuda.shared.array(THREADS, np.float32)
    i = cuda.grid(1)
    total, last = np.float32(0), np.float32(-1)
    while n > i:
        last = values[i]
        total += last * i
        i += cuda.gridsize(1)
    partial[cuda.threadIdx.x] = total + i
    cuda.syncthreads()
    out[cuda.grid(1)] = partial[THREADS - 1 - cuda.threadIdx.x] - last


def written(values, out, n):
    """What each thread writes in its rounds is read by others behind the barrier."""
    seen = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        seen[0] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if values[i] > 0:
            cuda.atomic.add(seen, 0, 1)
    cuda.syncthreads()
    out[cuda.grid(1)] = seen[0]


def expected(kernel, values: np.ndarray, n: int, threads: int) -> np.ndarray:
    shares = [values[t:n:threads] for t in range(threads)]
    if kernel is sums:
        return np.array([share.sum() for share in shares], np.float32).reshape(-1, THREADS).sum(1)
    if kernel is written:
        counts = np.array([(share > 0).sum() for share in shares]).reshape(-1, THREADS).sum(1)
        return np.repeat(counts, THREADS).astype(np.float32)
    ends = [t + threads * len(share) for t, share in enumerate(shares)]
    totals = np.array([share @ np.arange(t, n, threads) for t, share in enumerate(shares)]) + ends
    lasts = np.array([share[-1] if len(share) else -1 for share in shares])
    return (totals.reshape(-1, THREADS)[:, ::-1].reshape(-1) - lasts).astype(np.float32)


def says_so(kernel) -> bool:
    return any("run 8 rounds" in r.message for r in kernel.remarks)


@pytest.mark.spread
@pytest.mark.parametrize(
    ("kernel", "groups", "width"), pairs([sums, two_shares, written], [1, 3], [None, 1, 4, 8, 32])
)
def test_threads_do_their_rounds(kernel, groups: int, width: int | None) -> None:
    compiled, threads = cuda.jit(kernel, width=width), groups * THREADS
    values = np.random.default_rng(groups).integers(-4, 5, 20 * threads).astype(np.float32)
    sizes = [0, 1, 31, threads - 1, threads, 7 * threads + 5, 8 * threads - 1, 8 * threads, 8 * threads + 1]
    for n in [*sizes, 16 * threads, 17 * threads + 9, 20 * threads]:
        out = np.zeros(groups if kernel is sums else threads, np.float32)
        compiled[groups, THREADS](values, out, n)
        np.testing.assert_array_equal(out, expected(kernel, values, n, threads), str(n))
    assert says_so(compiled)


@pytest.mark.parametrize(
    ("step", "n"),
    [(1, 40), (5, 40), (1 << 27, 1 << 30), (1 << 28, 1 << 30), ((1 << 31) - 1, 40), (-(1 << 28), 40)],
)
def test_numbers_that_wrap_around_do_so(step: int, n: int) -> None:
    @cuda.jit
    def count(values, out, n, step):
        meets = cuda.shared.array(1, np.int32)
        rounds, i = 0, np.int32(cuda.threadIdx.x)
        while i < n:
            rounds += values[cuda.threadIdx.x]
            i += step * np.int32(cuda.gridDim.x)
        meets[0] = 1
        cuda.syncthreads()
        out[cuda.threadIdx.x] = rounds + meets[0]

    out = np.zeros(8, np.int64)
    count[1, 8](np.ones(8, np.int64), out, np.int32(n), np.int32(step))
    assert says_so(count)
    assert np.array_equal(out, [_rounds(t, n, step) + 1 for t in range(8)])


def _rounds(i: int, n: int, step: int) -> int:
    rounds = 0
    while i < n:
        rounds += 1
        i = (i + step + 2**31) % 2**32 - 2**31
    return rounds


def bounded_by_shares(values, out, n):
    """Threads have bounds of their own."""
    partial = cuda.shared.array(THREADS, np.float32)
    total, t = np.float32(0), cuda.threadIdx.x
    for i in range(cuda.grid(1), n - t, cuda.gridsize(1)):
        total += values[i]
    partial[t] = total
    cuda.syncthreads()
    out[cuda.grid(1)] = partial[0]


def of_few_threads(values, out, n):
    """Not all threads come to the loop."""
    partial = cuda.shared.array(THREADS, np.float32)
    total, t = np.float32(0), cuda.threadIdx.x
    if t % 3 == 0:
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            total += values[i]
    partial[t] = total
    cuda.syncthreads()
    out[cuda.grid(1)] = partial[0]


def near(values, out, n):
    """Elements are no further apart than a work-group has threads."""
    partial = cuda.shared.array(THREADS, np.float32)
    total, t = np.float32(0), cuda.threadIdx.x
    for i in range(t, n, cuda.blockDim.x):
        total += values[i]
    partial[t] = total
    cuda.syncthreads()
    out[cuda.grid(1)] = partial[0]


@pytest.mark.parametrize("kernel", [bounded_by_shares, of_few_threads, near])
def test_other_loops_stay(kernel) -> None:
    values, out = np.arange(900, dtype=np.float32), np.zeros(2 * THREADS, np.float32)
    compiled = cuda.jit(kernel)
    compiled[2, THREADS](values, out, 900)
    assert not says_so(compiled)
    first = values[:: THREADS if kernel is near else 2 * THREADS].sum()
    assert out[0] == first
