"""Plain loops in Python: in order, and as ``parallel="auto"`` runs them, beside numba.

``python -m bench.sequential [NAMES] [--nests] [--threads N] [--rounds N]``: of the loops below, or of the kernels of
PolyBench in plain Python (`bench.loop_nests`). Every result is compared with that of the function in
order, to the last bit. numba's ``parallel=True`` leaves loops over `range` to LLVM.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import weft
from bench.harness import Comparison, Peer, Prepared, Status, compare, placed
from bench.loop_nests import NESTS, Arguments


def product(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0.0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def product_by_rows(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def product_sum_outside(a, b, c):
    for k in range(a.shape[1]):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def relax(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25


def covariance(x, c):
    for i in range(x.shape[1]):
        for j in range(i, x.shape[1]):
            s = 0.0
            for k in range(x.shape[0]):
                s += x[k, i] * x[k, j]
            c[i, j] = s


def steps(numbers, counts):
    for i in range(numbers.size):
        n, count = numbers[i], 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        counts[i] = count


def shift(x, y):
    for i in range(x.size - 1):
        x[i] = x[i + 1] * 0.5 + y[i]


def clip(x, y, low, high):
    for i in range(x.size):
        v = x[i]
        if v < low:
            v = low
        if v > high:
            v = high
        y[i] = v * v


def smallest(x):
    best, at = x[0], 0
    for i in range(1, x.size):
        if x[i] < best:
            best, at = x[i], i
    return at


def search(x, value):
    for i in range(x.size):
        if x[i] == value:
            return i
    return -1


def compact(x, out):
    k = 0
    for i in range(x.size):
        if x[i] > 0.5:
            out[k] = x[i]
            k += 1
    return k


def running(x, sums):
    s = 0
    for i in range(x.size):
        s += x[i]
        sums[i] = s


def brightness(r, g, b, counts):
    for i in range(r.size):
        counts[int((0.299 * r[i] + 0.587 * g[i] + 0.114 * b[i]) * 255.99)] += 1


def checksum(x):
    s = 0
    for i in range(x.size):
        s ^= x[i] * 31 + i
    return s


def matrices(rng: np.random.Generator) -> tuple[Any, ...]:
    return *rng.random((2, 400, 400)), np.zeros((400, 400))


PROGRAMS: dict[str, tuple[Callable[..., Any], Arguments]] = {
    "product": (product, matrices),
    "product by rows": (product_by_rows, matrices),
    "product, sum outside": (product_sum_outside, matrices),
    "relax": (relax, lambda rng: (rng.random((600, 600)), np.zeros((600, 600)))),
    "covariance": (covariance, lambda rng: (rng.random((300, 300)), np.zeros((300, 300)))),
    "steps": (steps, lambda rng: (rng.integers(1, 1 << 20, 20_000), np.zeros(20_000, np.int64))),
    "shift": (shift, lambda rng: (rng.random(100_000), rng.random(100_000))),
    "clip": (clip, lambda rng: (rng.random(100_000), np.zeros(100_000), 0.2, 0.7)),
    "smallest": (smallest, lambda rng: (rng.random(100_000),)),
    "search": (search, lambda rng: (rng.integers(0, 1000, 100_000), -1)),
    "compact": (compact, lambda rng: (rng.random(100_000), np.zeros(100_000))),
    "running": (running, lambda rng: (rng.integers(0, 99, 100_000), np.zeros(100_000, np.int64))),
    "brightness": (brightness, lambda rng: (*rng.random((3, 100_000)), np.zeros(256, np.int64))),
    "checksum": (checksum, lambda rng: (rng.integers(0, 1 << 40, 100_000),)),
}


def peers_of(function: Callable[..., Any], arguments: Arguments, threads: int) -> list[Peer]:
    """The loop in parallel, the loop in order, and numba's."""
    in_order = weft.jit(function)

    def numba() -> Callable[..., Any]:
        import numba

        # That it finds nothing to run in parallel is in the table.
        warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
        numba.set_num_threads(threads)
        return numba.njit(parallel=True)(function)

    makers: dict[str, Callable[[], Callable[..., Any]]] = {
        "auto": lambda: weft.jit(function, parallel="auto"),
        "in order": lambda: in_order,
        "numba": numba,
    }
    return [Peer(name, _prepared(make, in_order, arguments, threads)) for name, make in makers.items()]


def _prepared(
    make: Callable[[], Callable[..., Any]], reference: Callable[..., Any], arguments: Arguments, threads: int
) -> Callable[[], Prepared]:
    clock = time.process_time if threads == 1 else time.perf_counter

    def prepare() -> Prepared:
        compiled, args = make(), placed(arguments(np.random.default_rng(1)))
        arrays = [(a, a.copy()) for a in args if isinstance(a, np.ndarray)]

        def check() -> str | None:
            ours, theirs = arguments(np.random.default_rng(1)), arguments(np.random.default_rng(1))
            results = compiled(*ours), reference(*theirs)
            same = results[0] == results[1] and all(map(np.array_equal, ours, theirs))
            return None if same else "another result than in order"

        def sample() -> float:
            for array, first in arrays:
                array[...] = first
            begin = clock()
            compiled(*args)
            return clock() - begin

        return Prepared(sample, check)

    return prepare


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.sequential", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join((*PROGRAMS, *NESTS))}")
    parser.add_argument("--nests", action="store_true", help="the kernels of PolyBench")
    parser.add_argument(
        "--threads", type=int, default=1, help="1 measures CPU time, more the time that passes"
    )
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    weft.set_num_threads(options.threads)
    wrong, ratios = False, []
    print(f"| loop | {' | '.join(('auto', 'in order', 'numba'))} | speedup |\n|---|---:|---:|---:|---:|")
    for name in options.names or (NESTS if options.nests else PROGRAMS):
        function, make = (PROGRAMS | NESTS)[name]
        found = compare(name, peers_of(function, make, options.threads), options.rounds)
        wrong |= any(m.status in (Status.WRONG, Status.FAILED) for m in found.measurements)
        cells = [_cell(found, m.peer) for m in found.measurements]
        others = [r for peer in ("in order", "numba") if (r := found.ratio(peer)) is not None]
        if others:
            ratios.append(min(others))
        print(f"| {name} | {' | '.join(cells)} | {min(others, default=math.nan):.2f} |")
    if ratios:
        print(f"\ngeometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
    return wrong


def _cell(found: Comparison, peer: str) -> str:
    median = found.median(peer)
    if median is not None:
        return f"{median * 1e3:.3f} ms"
    return next(m.status.value for m in found.measurements if m.peer == peer)


if __name__ == "__main__":
    sys.exit(main())
