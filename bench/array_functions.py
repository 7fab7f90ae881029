"""Array expressions, reductions and ufunc methods beside numba, on arrays of 10, 1000 and a million elements.

Run as ``python -m bench.array_functions [--threads N] [names]``. Both sides compile the same text and take turns, round
by round. The table has a call of weft in microseconds, and how many times as long numba takes: by the CPU time of one
thread, to which the BLAS that numba calls is held, too, or with ``--threads`` by the clock, with ``parallel="auto"``
here and ``parallel=True`` there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

# Before it is loaded: otherwise it takes all cores, and what other threads do is in no thread's time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import weft

SIZES = (10, 1000, 1_000_000)
ROUNDS = 15
ROUND_SECONDS = 2e-3


def total(a):
    return a.sum()


def total_of_products(a, b):
    return (a * b).sum()


def expression(a, b):
    return np.sqrt(a) * 2 + b


def greatest(a):
    return a.max()


def place_of_greatest(a):
    return a.argmax()


def deviation(a):
    return a.std()


def inner_product(a, b):
    return np.dot(a, b)


def sums(a):
    return np.cumsum(a)


def selected(a):
    return a[a > 0.5]


def in_order(a):
    return np.sort(a)


def any_above(a):
    return (a > 2).any()


def distance(a):
    return np.sqrt(((a - a.mean()) ** 2).mean())


FUNCTIONS = (
    total, total_of_products, expression, greatest, place_of_greatest, deviation, inner_product, sums, selected,
    in_order, any_above, distance,
)  # fmt: skip


def add(x, y):
    return x + y


Pair = tuple[Callable[..., Any], Callable[..., Any], int]


def pairs(threads: int) -> dict[str, Pair]:
    """What is compared: weft's side, numba's side, and how many arrays each takes."""
    import numba

    ours = weft.jit(parallel="auto") if threads > 1 else weft.jit
    theirs = numba.njit(parallel=threads > 1)
    found: dict[str, Pair] = {
        function.__name__: (ours(function), theirs(function), function.__code__.co_argcount)
        for function in FUNCTIONS
    }
    if threads > 1:
        numba.set_num_threads(threads)
        return found
    mine, other = (make(["float64(float64, float64)"])(add) for make in (weft.vectorize, numba.vectorize))
    found["ufunc"] = mine, other, 2
    for name in ("reduce", "accumulate"):
        found[f"ufunc.{name}"] = getattr(mine, name), getattr(other, name), 1
    return found


def seconds(
    function: Callable[..., Any], args: tuple[Any, ...], times: int, clock: Callable[[], float]
) -> float:
    """The time of a call."""
    begin = clock()
    for _ in range(times):
        function(*args)
    return (clock() - begin) / times


def measured(pair: Pair, size: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Medians of both sides, whose results are compared first."""
    mine, other, count = pair
    a = np.random.default_rng(0).random(size)
    args = (a, a + 1)[:count]
    np.testing.assert_allclose(mine(*args), other(*args), rtol=1e-9)
    for _ in range(16):
        mine(*args)
    times = max(
        1, int(ROUND_SECONDS / max(seconds(mine, args, 1, clock), seconds(other, args, 1, clock), 1e-6))
    )
    taken = [(seconds(mine, args, times, clock), seconds(other, args, times, clock)) for _ in range(ROUNDS)]
    return statistics.median(t for t, _ in taken), statistics.median(t for _, t in taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    weft.set_num_threads(options.threads)
    clock = time.perf_counter if options.threads > 1 else time.thread_time
    print(f"| function | {' | '.join(f'{size} elements, µs | numba' for size in SIZES)} |")
    print(f"|---|{'---:|' * 2 * len(SIZES)}")
    for name, pair in pairs(options.threads).items():
        if options.names and name not in options.names:
            continue
        row = [measured(pair, size, clock) for size in SIZES]
        print(f"| {name} | " + " | ".join(f"{a * 1e6:.2f} | {b / a:.2f}" for a, b in row) + " |", flush=True)


if __name__ == "__main__":
    main()
