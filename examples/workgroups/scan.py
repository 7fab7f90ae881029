"""Inclusive and exclusive prefix sums: a scan in each group, a scan of the groups' sums, and a correction."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 1 << 22
THREADS = 256


@cuda.jit
def scan_groups(values, result, sums):
    """Scan each group's stretch inclusively (Hillis and Steele), and write its sum."""
    shared = cuda.shared.array(THREADS, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = values[i] if i < values.size else 0
    cuda.syncthreads()
    distance = 1
    while distance < THREADS:
        before = shared[t - distance] if t >= distance else 0
        cuda.syncthreads()
        shared[t] += before
        cuda.syncthreads()
        distance *= 2
    if i < result.size:
        result[i] = shared[t]
    if t == THREADS - 1:
        sums[cuda.blockIdx.x] = shared[t]


@cuda.jit
def add_group_offsets(result, offsets):
    """Add to each group's stretch what the groups before it sum to."""
    i = cuda.grid(1)
    group = cuda.blockIdx.x
    if i < result.size and group > 0:
        result[i] += offsets[group - 1]


@cuda.jit
def make_exclusive(values, result):
    """Turn an inclusive scan into the exclusive one."""
    i = cuda.grid(1)
    if i < result.size:
        result[i] -= values[i]


def inclusive_scan(values: np.ndarray) -> np.ndarray:
    """Return the inclusive prefix sums of an int64 vector."""
    groups = blocks_for(values.size, THREADS)
    result, sums = np.zeros_like(values), np.zeros(groups, np.int64)
    scan_groups[groups, THREADS](values, result, sums)
    if groups > 1:
        add_group_offsets[groups, THREADS](result, inclusive_scan(sums))
    return result


def exclusive_scan(values: np.ndarray) -> np.ndarray:
    """Return the exclusive prefix sums of an int64 vector."""
    result = inclusive_scan(values)
    make_exclusive[blocks_for(values.size, THREADS), THREADS](values, result)
    return result


def main(size: int = SIZE) -> None:
    values = np.random.default_rng(2).integers(-1000, 1000, size)
    inclusive = timed(f"inclusive scan of {size} numbers", lambda: inclusive_scan(values))
    exclusive = timed(f"exclusive scan of {size} numbers", lambda: exclusive_scan(values))
    wanted = np.cumsum(values)
    agree("inclusive scan", inclusive, wanted)
    agree("exclusive scan", exclusive, wanted - values)


if __name__ == "__main__":
    main()
