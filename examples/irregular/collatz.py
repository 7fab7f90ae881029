"""Collatz: how many steps from each number down to one; neighbours take very different numbers of steps."""

from __future__ import annotations

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 20_000
THREADS = 256
LARGEST = 113_382
"""The largest start from which no number on the way leaves 32 bits."""


@cuda.jit
def collatz(steps):
    """Count the steps of the number i + 1."""
    i = cuda.grid(1)
    if i < steps.size:
        n = np.int32(i + 1)
        count = np.int32(0)
        while n != 1:
            if n & 1:
                n = 3 * n + 1
            else:
                n >>= 1
            count += 1
        steps[i] = count


def by_numpy(count: int) -> np.ndarray:
    """Return the steps of the numbers from one, all advanced together."""
    numbers, steps = np.arange(1, count + 1), np.zeros(count, np.int32)
    running = np.flatnonzero(numbers != 1)
    while running.size:
        n = numbers[running]
        numbers[running] = np.where(n & 1, 3 * n + 1, n >> 1)
        steps[running] += 1
        running = running[numbers[running] != 1]
    return steps


def problems(size: int = SIZE) -> list[Problem]:
    count = min(size, LARGEST)
    steps = np.zeros(count, np.int32)
    return [Problem(collatz, (steps,), blocks_for(count, THREADS), THREADS, (0,), lambda: (by_numpy(count),))]
