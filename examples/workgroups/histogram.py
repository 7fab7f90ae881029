"""Histogram of bytes: each group counts into bins of its own in shared memory, then adds them to the total."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 1 << 24
BINS = 256
THREADS = 256
MOST_GROUPS = 128


@cuda.jit
def count_bytes(data, counts):
    """Count a strided share of `data` a group."""
    own = cuda.shared.array(BINS, dtype=np.int32)
    t = cuda.threadIdx.x
    for k in range(t, BINS, cuda.blockDim.x):
        own[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(own, data[i], 1)
    cuda.syncthreads()
    for k in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, k, own[k])


def histogram(data: np.ndarray) -> np.ndarray:
    """Return how often each byte occurs in a uint8 vector."""
    counts = np.zeros(BINS, np.int32)
    count_bytes[min(MOST_GROUPS, blocks_for(data.size, THREADS)), THREADS](data, counts)
    return counts


def main(size: int = SIZE) -> None:
    data = np.random.default_rng(8).binomial(255, 0.4, size).astype(np.uint8)
    counts = timed(f"histogram of {size} bytes", lambda: histogram(data))
    agree("histogram", counts, np.bincount(data, minlength=BINS))


if __name__ == "__main__":
    main()
