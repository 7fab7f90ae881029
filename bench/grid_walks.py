"""Walks of the grid: sums and histograms over threads that each take every so many elements.

    python -m bench.grid_walks [--rounds 7]

Each kernel takes turns with itself without the pass that it is about, and with a loop in memory order; medians of CPU
time on one thread. That pass makes threads of iterations in the first task, and runs full lane groups without masks in
the next two; in the last two, whose threads count in the array itself, it finds arrays that threads only update.
``WEFT_CPU`` chooses another instruction set.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft import cuda

THREADS = 256
ELEMENTS = 1 << 24


def scaled(x: Any, out: Any) -> None:
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = np.float32(0.5) * x[i] + out[i]


def summed(x: Any, out: Any) -> None:
    partial = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    partial[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, partial[0])


def counted(x: Any, out: Any) -> None:
    partial = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    partial[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(partial, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(out, t, partial[t])


def counted_at_once(x: Any, out: Any) -> None:
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], 1)


def weighed_at_once(x: Any, out: Any) -> None:
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], np.float32(0.5))


@weft.jit(parallel="auto", fastmath=True)
def scale_in_order(x: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = np.float32(0.5) * x[i] + out[i]


@weft.jit(parallel="auto", fastmath=True)
def sum_in_order(x: Any, out: Any) -> None:
    total = np.float32(0)
    for i in range(x.size):
        total += x[i]
    out[0] = total


@weft.jit(parallel="auto", fastmath=True)
def weigh_in_order(x: Any, out: Any) -> None:
    for i in range(x.size):
        out[x[i]] += np.float32(0.5)


@weft.jit(parallel="auto")
def count_in_order(x: Any, out: Any) -> None:
    for i in range(x.size):
        out[x[i]] += 1


def medians(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Milliseconds of each, which take turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for k in range(rounds + 1):
        for name, run in runs.items():
            begin = time.thread_time()
            run()
            if k:
                times[name].append(time.thread_time() - begin)
    return {name: 1e3 * statistics.median(all_) for name, all_ in times.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    weft.set_num_threads(1)
    rng = np.random.default_rng(0)
    floats = rng.random(ELEMENTS, np.float32)
    octets = rng.integers(0, 256, ELEMENTS).astype(np.uint8)
    walks, full, copies = "grid-walks", "full-groups", "updated-arrays"
    tasks = [
        ("scaled", scaled, walks, scale_in_order, floats, np.zeros(ELEMENTS, np.float32)),
        ("sum", summed, full, sum_in_order, floats, np.zeros(1, np.float32)),
        ("histogram", counted, full, count_in_order, octets, np.zeros(256, np.int32)),
        ("counts", counted_at_once, copies, count_in_order, octets, np.zeros(256, np.int32)),
        ("weights", weighed_at_once, copies, weigh_in_order, octets, np.zeros(256, np.float32)),
    ]
    for name, kernel, left_out, loop, data, out in tasks:
        fast = name == "weights"
        whole, less = (cuda.jit(fastmath=fast, without=names)(kernel) for names in ((), (left_out,)))
        for blocks in (16, 64, 1024, 8192):
            runs: dict[str, Callable[[], object]] = {
                "with": lambda: whole[blocks, THREADS](data, out),  # noqa: B023
                "without": lambda: less[blocks, THREADS](data, out),  # noqa: B023
                "loop": lambda: loop(data, out),  # noqa: B023
            }
            took = medians(runs, rounds)
            print(f"{name:10} {blocks:5} blocks  " + "  ".join(f"{k} {v:7.2f} ms" for k, v in took.items()))


if __name__ == "__main__":
    main()
