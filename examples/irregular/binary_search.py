"""Binary search for many keys in one sorted array: the innermost loop of XSBench."""

from __future__ import annotations

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 20_000
THREADS = 256


@cuda.jit
def lower_neighbour(values, keys, places):
    """Find the last element that is not above the key, or the first element."""
    i = cuda.grid(1)
    if i < keys.size:
        key = keys[i]
        low = 0
        high = values.size
        while high - low > 1:
            middle = (low + high) // 2
            if values[middle] > key:
                high = middle
            else:
                low = middle
        places[i] = low


def searches(elements: int, keys: int) -> Problem:
    """Return a search for random keys in a random sorted array."""
    rng = np.random.default_rng(5)
    values = np.sort(rng.random(elements, dtype=np.float32))
    wanted = rng.random(keys, dtype=np.float32)
    return Problem(
        lower_neighbour,
        (values, wanted, np.zeros(keys, np.int32)),
        blocks_for(keys, THREADS),
        THREADS,
        (2,),
        lambda: (np.maximum(np.searchsorted(values, wanted, "right") - 1, 0),),
    )


def problems(size: int = SIZE) -> list[Problem]:
    return [searches(5 * size, size)]
