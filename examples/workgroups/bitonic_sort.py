"""Bitonic sort in shared memory: each group sorts a stretch of the input by compare-exchange steps."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, timed
from weft import cuda

SIZE = 1 << 20
STRETCH = 1024
THREADS = STRETCH // 2


@cuda.jit
def sort_stretches(values):
    """Sort each stretch of `STRETCH` values; a thread does one compare-exchange a step."""
    shared = cuda.shared.array(STRETCH, dtype=np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * STRETCH
    shared[t] = values[start + t]
    shared[t + THREADS] = values[start + t + THREADS]
    length = 2
    while length <= STRETCH:
        distance = length // 2
        while distance > 0:
            cuda.syncthreads()
            low = 2 * t - (t & (distance - 1))
            high = low + distance
            ascending = (low & length) == 0
            if (shared[low] > shared[high]) == ascending:
                shared[low], shared[high] = shared[high], shared[low]
            distance //= 2
        length *= 2
    cuda.syncthreads()
    values[start + t] = shared[t]
    values[start + t + THREADS] = shared[t + THREADS]


def sort(values: np.ndarray) -> np.ndarray:
    """Return float32 values with each stretch sorted; their number is a multiple of `STRETCH`."""
    result = values.copy()
    sort_stretches[result.size // STRETCH, THREADS](result)
    return result


def main(size: int = SIZE) -> None:
    stretches = max(1, size // STRETCH)
    values = np.random.default_rng(7).random(stretches * STRETCH, dtype=np.float32)
    result = timed(f"bitonic sort of {stretches} stretches of {STRETCH}", lambda: sort(values))
    agree("sort", result.reshape(stretches, STRETCH), np.sort(values.reshape(stretches, STRETCH)))


if __name__ == "__main__":
    main()
