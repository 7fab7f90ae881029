"""What a user waits for: imports, compilation, reloading, launching, interpreting.

Peers: numba's njit on the same computation written as loops (compiled for one core), and numba-cuda's
simulator on the same kernel. Run as ``python -m bench.latency [--rounds N]``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import output
from bench.harness import ROUNDS, Comparison, Measurement, Peer, Prepared, Status, compare, timed
from bench.output import Goal
from bench.processes import cold, warm
from bench.workloads import WORKLOADS, Workload, launch, mandelbrot

# numba reads it when it is imported, which the peers do.
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

LAUNCHES = 1000


def imports(cache: Path, rounds: int) -> Comparison:
    """Compare the import that each user writes."""
    names = ("weft", "numba", "numba-cuda simulator")
    return compare("import, fresh process", [cold(n, (n, "import"), cache) for n in names], rounds)


def first_compile(name: str, cache: Path, rounds: int) -> Comparison:
    """Compare the first call in a process whose disk cache is empty."""
    peers = [cold(peer, (peer, "first", name), cache) for peer in ("weft", "numba")]
    return compare(f"{name}: first call, fresh process, nothing cached", peers, rounds)


def reload(name: str, cache: Path, rounds: int) -> Comparison:
    """Compare the first call in a process whose disk cache has the kernel."""
    peers = [warm(peer, (peer, "first", name), cache / name) for peer in ("weft", "numba, cached")]
    return compare(f"{name}: first call, fresh process, from the disk cache", peers, rounds)


def warm_compile(name: str, cache: Path, rounds: int) -> list[Comparison]:
    """Compare compilation once everything is loaded, and split ours into its stages."""
    workload = WORKLOADS[name]()
    stages: dict[str, list[float]] = {}

    def weft() -> Prepared:
        def compile_once() -> None:
            with tempfile.TemporaryDirectory(dir=cache) as empty:
                os.environ["WEFT_CACHE_DIR"] = empty
                kernel = launch(workload, workload.output())
            for stage, seconds in kernel.timings.items():
                stages.setdefault(stage, []).append(seconds)

        return Prepared(timed(compile_once), lambda: _check(workload, lambda out: launch(workload, out)))

    def numba() -> Prepared:
        import numba

        from bench.loops import LOOPS

        def call(out: np.ndarray) -> None:
            numba.njit(LOOPS[name])(*workload.inputs, out)

        return Prepared(timed(lambda: call(workload.output())), lambda: _check(workload, call))

    whole = compare(f"{name}: compilation, warm", [Peer("weft", weft), Peer("numba", numba)], rounds)
    if not stages:
        return [whole]
    parts = [Measurement(stage, Status.MEASURED, seconds=taken[-rounds:]) for stage, taken in stages.items()]
    return [whole, Comparison(f"{name}: weft's part of that by stage", parts)]


def warm_launch(threads: int, rounds: int) -> Comparison:
    """Compare calls of a compiled kernel that has three arrays and next to nothing to do."""
    a, b, c = np.arange(64, dtype=np.float32), np.ones(64, np.float32), np.zeros(64, np.float32)

    def prepared(call: Callable[[], object]) -> Prepared:
        def check() -> str | None:
            c[:] = 0
            call()
            return None if np.array_equal(c, a + b) else "the sum is wrong"

        return Prepared(timed(call, LAUNCHES), check)

    def weft() -> Prepared:
        from bench.workloads import add
        from weft import set_num_threads

        set_num_threads(threads)
        configured = add[2, 32]
        return prepared(lambda: configured(a, b, c))

    def numba() -> Prepared:
        import numba

        from bench.loops import add as add_loops

        numba.set_num_threads(threads)
        compiled = numba.njit(parallel=threads > 1)(add_loops)
        return prepared(lambda: compiled(a, b, c))

    title = f"launch of a compiled kernel, three arrays, {threads} thread{'s' * (threads > 1)}"
    return compare(title, [Peer("weft", weft), Peer("numba", numba)], rounds)


def interpreter(rounds: int) -> Comparison:
    """Compare the interpreter, its sanitizer on, with numba-cuda's simulator on 64 by 64 threads."""
    workload = mandelbrot(64, 64)

    def weft() -> Prepared:
        return _prepared(workload, lambda out: launch(workload, out, debug=True))

    def simulator() -> Prepared:
        from numba import cuda

        # The same function, with numba's module in the place of weft's.
        names = {**workload.kernel.__globals__, "cuda": cuda}
        kernel = cuda.jit(types.FunctionType(workload.kernel.__code__, names))
        return _prepared(workload, lambda out: kernel[workload.grid, workload.block](*workload.inputs, out))

    peers = [Peer("weft interpreter", weft), Peer("numba-cuda simulator", simulator)]
    return compare("interpreting mandelbrot, 64 x 64 threads", peers, rounds)


def wanted(results: dict[str, Comparison]) -> list[Goal]:
    """Hold the figures against what is wanted of them."""
    goals = []
    for name in WORKLOADS:
        goals.append(
            _at_least(f"{name}: numba's first compile takes 3 times ours", results[f"first {name}"], 3)
        )
        goals.append(_at_most(f"{name}: reload in 15 ms", results[f"reload {name}"], 15e-3))
        text = f"{name}: our passes take at most twice LLVM's time"
        goals.append(_at_most_times(text, results.get(f"warm {name} 1"), "passes", "llvm", 2))
    text = "mandelbrot: source to machine code in 60 ms, warm"
    goals.append(_at_most(text, results["warm mandelbrot 0"], 60e-3))
    goals.append(_at_most("warm launch in 15 µs on one thread", results["launch 1"], 15e-6))
    goals.append(_at_most("warm launch in 40 µs on two threads", results["launch 2"], 40e-6))
    goals.append(
        _at_least("numba-cuda's simulator takes 20 times our interpreter", results["interpreter"], 20)
    )
    return goals


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a user waits for.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds

    results: dict[str, Comparison] = {}

    def show(key: str, comparison: Comparison) -> None:
        results[key] = comparison
        print(output.table(comparison), end="\n\n", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        show("import", imports(cache, rounds))
        for name in WORKLOADS:
            show(f"first {name}", first_compile(name, cache / "cold", rounds))
            show(f"reload {name}", reload(name, cache, rounds))
            for index, comparison in enumerate(warm_compile(name, cache, rounds)):
                show(f"warm {name} {index}", comparison)
        for threads in (1, 2):
            show(f"launch {threads}", warm_launch(threads, rounds))
        show("interpreter", interpreter(rounds))
    goals = wanted(results)
    print(output.goals(goals))
    print(f"\nfigures: {output.save('latency', list(results.values()), goals)}")


def _check(workload: Workload, run: Callable[[np.ndarray], Any]) -> str | None:
    result = workload.output()
    run(result)
    return workload.complaint(result)


def _prepared(workload: Workload, run: Callable[[np.ndarray], Any]) -> Prepared:
    return Prepared(timed(lambda: run(workload.output())), lambda: _check(workload, run))


def _at_most(text: str, comparison: Comparison, seconds: float) -> Goal:
    median = comparison.median(comparison.measurements[0].peer)
    return Goal(text, None if median is None else median <= seconds)


def _at_most_times(text: str, comparison: Comparison | None, part: str, other: str, ratio: float) -> Goal:
    ours, theirs = (comparison.median(p) if comparison is not None else None for p in (part, other))
    return Goal(text, None if ours is None or theirs is None else ours <= ratio * theirs)


def _at_least(text: str, comparison: Comparison, ratio: float) -> Goal:
    measured = comparison.ratio(comparison.measurements[1].peer)
    return Goal(text, None if measured is None else measured >= ratio)


if __name__ == "__main__":
    main()
