"""Sum of a vector: each thread adds up a strided share, each group folds its shares as a tree."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 1 << 24
THREADS = 256
MOST_GROUPS = 256


@cuda.jit
def group_sums(values, sums):
    """Write the sum of each group's share of `values`."""
    partial = cuda.shared.array(THREADS, dtype=np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
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
        sums[cuda.blockIdx.x] = partial[0]


def reduce_sum(values: np.ndarray) -> np.float32:
    """Return the sum of a float32 vector, by two launches."""
    groups = min(MOST_GROUPS, blocks_for(values.size, THREADS))
    sums, total = np.zeros(groups, np.float32), np.zeros(1, np.float32)
    group_sums[groups, THREADS](values, sums)
    group_sums[1, THREADS](sums, total)
    return total[0]


def main(size: int = SIZE) -> None:
    values = np.random.default_rng(1).random(size, dtype=np.float32)
    total = timed(f"reduction of {size} numbers", lambda: reduce_sum(values))
    agree("sum", total, values.sum(dtype=np.float64), rtol=1e-5)


if __name__ == "__main__":
    main()
