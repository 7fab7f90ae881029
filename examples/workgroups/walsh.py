"""Fast Walsh-Hadamard transform: the first stages in shared memory, the wide ones by one launch each."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, timed
from weft import cuda

SIZE = 1 << 20
STRETCH = 512
THREADS = STRETCH // 2


@cuda.jit
def narrow_stages(values):
    """Do all butterflies that stay within a stretch of `STRETCH` values."""
    shared = cuda.shared.array(STRETCH, dtype=np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * STRETCH
    shared[t] = values[start + t]
    shared[t + THREADS] = values[start + t + THREADS]
    distance = 1
    while distance < STRETCH:
        cuda.syncthreads()
        low = 2 * t - (t & (distance - 1))
        a, b = shared[low], shared[low + distance]
        shared[low] = a + b
        shared[low + distance] = a - b
        distance *= 2
    cuda.syncthreads()
    values[start + t] = shared[t]
    values[start + t + THREADS] = shared[t + THREADS]


@cuda.jit
def wide_stage(values, distance):
    """Do the butterflies of one distance; one a thread."""
    t = cuda.grid(1)
    if t < values.size // 2:
        low = 2 * t - (t & (distance - 1))
        a, b = values[low], values[low + distance]
        values[low] = a + b
        values[low + distance] = a - b


def transform(values: np.ndarray) -> np.ndarray:
    """Return the transform of a float32 vector of at least `STRETCH` values, a power of two."""
    result = values.copy()
    groups = result.size // STRETCH
    narrow_stages[groups, THREADS](result)
    distance = STRETCH
    while distance < result.size:
        wide_stage[groups, THREADS](result, distance)
        distance *= 2
    return result


def by_numpy(values: np.ndarray) -> np.ndarray:
    result, distance = values.astype(np.float64), 1
    while distance < result.size:
        pairs = result.reshape(-1, 2, distance)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        distance *= 2
    return result


def main(size: int = SIZE) -> None:
    count = max(STRETCH, 1 << (size - 1).bit_length())
    # Small whole numbers: their sums are exact in float32.
    values = np.random.default_rng(15).integers(-4, 5, count).astype(np.float32)
    result = timed(f"Walsh transform of {count} numbers", lambda: transform(values))
    agree("transform", result, by_numpy(values))


if __name__ == "__main__":
    main()
