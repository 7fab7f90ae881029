"""Karrenberg and Hack's Table 1: nine applications in OpenCL C, by weft's driver with parts left out, PoCL and Intel.

All run the same host program through pyopencl, each in a process of its own and on one thread; a sample is the CPU time
of that process from the first launch to the queue's end, without compilation and transfers.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bench import levels, output
from bench.groups.opencl_runtimes import INTEL, POCL, choose_intel, choose_pocl, device_of
from bench.harness import ROUNDS, Comparison, Peer, Prepared, compare
from examples.opencl.applications import APPLICATIONS, HERE, Application, error_of
from weft import opencl

FAST = ("-cl-mad-enable", "-cl-finite-math-only", "-cl-unsafe-math-optimizations")
"""What all are compiled under, as in `bench.groups`."""

WEFT = "weft"

COLUMNS: dict[str, tuple[str, ...]] = {
    "all": (),
    "scalar": ("-weft-width=1",),
    "naive": (
        *("-weft-uniform-values=off", "-weft-uniform-control=off"),
        *("-weft-scalar-counters=off", "-weft-boscc=off"),
    ),
    "UniVal": ("-weft-uniform-control=off", "-weft-boscc=off"),
    "UniCF": ("-weft-boscc=off",),
}
"""Build options of weft in each column of the paper's; `all` is what it does by default."""

RUNTIMES = {"PoCL": POCL, "Intel": INTEL}

WANTED = {"x86-64-v3": {"Intel": 1.7, "PoCL": 3.2}, "x86-64-v4": {"Intel": 2.5, "PoCL": 5.0}}
"""Geometric means that are wanted, by level of instructions."""

SMALL = 2e-3
"""At which scale NumPy checks the results; at full size all have to give what weft does."""

_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Order:
    """What a process measures: an application at some scale, in a column, at a level of instructions."""

    column: str
    name: str
    scale: float
    level: str


class Child:
    """A process that measures one column of one application."""

    def __init__(self, order: Order) -> None:
        self.column = order.column
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, order), daemon=True)
        self._process.start()
        theirs.close()

    def peer(self, expected: list[np.ndarray]) -> Peer:
        """The column as a peer; the first one that is asked for its result adds it to what is expected."""

        def check() -> str | None:
            result = self._ask("result")
            if not expected:
                expected.append(result)
            error = float(np.abs(result - expected[0]).max() / max(np.abs(expected[0]).max(), 1e-30))
            return None if error < 1e-3 else f"off by {error:.2g} of the largest number"

        return Peer(self.column, lambda: Prepared(lambda: self._ask("sample"), check, self._ask("prepare")))

    def close(self) -> None:
        self._connection.close()
        self._process.join(timeout=10)
        self._process.kill()

    def _ask(self, wanted: str) -> Any:
        try:
            self._connection.send(wanted)
            answer = self._connection.recv()
        except (EOFError, ConnectionError):
            raise RuntimeError("its process has ended") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


class Host:
    """The host program of an application: the runtime's buffers for its arrays, and its launches.

    Buffers are the runtime's own, since NumPy's large arrays begin 16 bytes behind a page: vectors of 64 bytes would
    all lie in two cache lines.
    """

    def __init__(self, application: Application, name: str, device: Any, options: Sequence[str]) -> None:
        import pyopencl as cl

        warnings.simplefilter("ignore", cl.CompilerWarning)
        self.application = application
        self._cl = cl
        context = cl.Context([device])
        self._queue = cl.CommandQueue(context)
        arrays = {id(a): a for launch in application.launches for a in launch[3] if isinstance(a, np.ndarray)}
        self._arrays = list(arrays.values())
        self._kept = [a.copy() for a in self._arrays]
        writable = cl.mem_flags.READ_WRITE
        self._buffers = {key: cl.Buffer(context, writable, a.nbytes) for key, a in arrays.items()}
        program = cl.Program(context, (HERE / f"{name}.cl").read_text())
        program.build([*FAST, *application.options.split(), *options], cache_dir=False)
        self._launches = [self._launch(program, *launch) for launch in application.launches]

    def _launch(
        self, program: Any, name: str, size: Any, local: Any, values: Sequence[Any]
    ) -> Callable[[], None]:
        kernel = self._cl.Kernel(program, name)
        kernel.set_args(*map(self._passed, values))
        sizes = [[n] if isinstance(n, int) else list(n) for n in (size, local)]
        return lambda: self._cl.enqueue_nd_range_kernel(self._queue, kernel, *sizes)

    def _passed(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._buffers[id(value)]
        if isinstance(value, opencl.LocalMemory):
            return self._cl.LocalMemory(value.nbytes)
        return np.int32(value) if isinstance(value, int) else np.float32(value)

    def run(self) -> float:
        """Run the application on its first data; seconds of CPU time."""
        for array, before in zip(self._arrays, self._kept, strict=True):
            self._cl.enqueue_copy(self._queue, self._buffers[id(array)], before)
        self._queue.finish()
        begin = time.process_time()
        for launch in self._launches:
            launch()
        self._queue.finish()
        seconds = time.process_time() - begin
        for array in self._arrays:
            self._cl.enqueue_copy(self._queue, array, self._buffers[id(array)])
        return seconds

    def result(self) -> np.ndarray:
        """Some of the last run's results, far apart."""
        numbers = self.application.result().reshape(-1)
        return numbers[:: -(-numbers.size // 65_521)].astype(np.float64)


def prepared(order: Order, folder: Path) -> Host:
    """The host program of an order, whose results NumPy has checked at a small scale."""
    os.environ["PYOPENCL_NO_CACHE"] = "1"
    if order.column in RUNTIMES:
        (choose_pocl if order.column == "PoCL" else choose_intel)(1, folder)
        os.environ.update(levels.RUNTIMES[order.level])
        device, options = device_of(RUNTIMES[order.column]), ()
    else:
        from weft.opencl.driver_library import vendor_folder

        os.environ.update(WEFT_CPU=order.level, WEFT_NUM_THREADS="1", OCL_ICD_VENDORS=str(vendor_folder()))
        device, options = device_of(WEFT), COLUMNS[order.column]
    small = Host(APPLICATIONS[order.name](SMALL), order.name, device, options)
    small.run()
    if (error := error_of(small.application)) > small.application.tolerance:
        raise ValueError(f"wrong: off by {error:.2g} of the largest number")
    host = Host(APPLICATIONS[order.name](order.scale), order.name, device, options)
    host.run()
    return host


def _serve(connection: Connection, order: Order) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    host: Host | None = None
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                wanted = connection.recv()
            except EOFError:
                return
            try:
                if wanted == "prepare":
                    begin = time.perf_counter()
                    host = prepared(order, Path(folder))
                    answer: object = time.perf_counter() - begin
                else:
                    assert host is not None
                    answer = host.run() if wanted == "sample" else host.result()
            except ImportError as error:
                answer = ImportError(str(error))
            except Exception as error:
                answer = RuntimeError(f"{type(error).__name__}: {error}")
            connection.send(answer)


def measure(name: str, scale: float, level: str, columns: Sequence[str], rounds: int = ROUNDS) -> Comparison:
    """Measure an application in all columns, which take turns."""
    expected: list[np.ndarray] = []
    with ExitStack() as running:
        children = [
            running.enter_context(closing(Child(Order(column, name, scale, level)))) for column in columns
        ]
        return compare(f"{name}, {level}", [child.peer(expected) for child in children], rounds)


def table(results: dict[str, Comparison]) -> str:
    """Milliseconds in each column and the ratios that are wanted, as a table in Markdown."""
    columns = [m.peer for m in next(iter(results.values())).measurements]
    steps = [
        ("UniVal / naive", "naive", "UniVal"), ("UniCF / UniVal", "UniVal", "UniCF"), ("over PoCL", "PoCL", "all"),
        ("over Intel", "Intel", "all"),
    ]  # fmt: skip
    titles = [*columns, *(step[0] for step in steps)]
    lines = [f"| milliseconds | {' | '.join(titles)} |", f"|---|{'---:|' * len(titles)}"]
    found: dict[str, list[float]] = {step[0]: [] for step in steps}
    for name, comparison in results.items():
        cells = [_number(comparison.median(column), 1e3) for column in columns]
        for title, other, own in steps:
            times = comparison.median(other), comparison.median(own)
            ratio = times[0] / times[1] if times[0] and times[1] else None
            found[title] += [ratio] if ratio else []
            cells.append(_number(ratio))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [_number(math.exp(sum(map(math.log, r)) / len(r)) if r else None) for r in found.values()]
    lines.append(f"| geometric mean |{' |' * len(columns)} {' | '.join(means)} |")
    return "\n".join(lines)


def _number(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.{2 if value * factor < 100 else 0}f}"


def goals(results: dict[str, Comparison], level: str) -> list[output.Goal]:
    """The means that are wanted, and that no row loses."""
    found = []
    for runtime, wanted in WANTED[level].items():
        ratios = {name: r for name, c in results.items() if (r := c.ratio(runtime))}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios)) if ratios else None
        text = f"geometric mean over {runtime} at least {wanted:g}: {_number(mean)}"
        found.append(output.Goal(text, None if mean is None else mean >= wanted))
        lost = [f"{name} ({r:.2f})" for name, r in ratios.items() if r < 1]
        text = f"no row slower than {runtime}: {', '.join(lost) or 'none is'}"
        found.append(output.Goal(text, not lost if ratios else None))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the applications of Karrenberg and Hack's Table 1.")
    parser.add_argument("names", nargs="*", choices=[*APPLICATIONS, []], help="default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="of the paper's sizes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--level", choices=[*WANTED], default="x86-64-v4", help="instructions that all may use"
    )
    columns = [*COLUMNS, *RUNTIMES]
    parser.add_argument("--columns", nargs="+", choices=columns, default=columns)
    options = parser.parse_args()
    chosen = ["all", *(column for column in options.columns if column != "all")]
    results: dict[str, Comparison] = {}
    for name in options.names or APPLICATIONS:
        results[name] = measure(name, options.scale, options.level, chosen, options.rounds)
        print(output.table(results[name]), end="\n\n", flush=True)
    wanted = goals(results, options.level)
    print(f"{table(results)}\n\n{output.goals(wanted)}\n")
    print(f"figures: {output.save('table1', list(results.values()), wanted)}")


if __name__ == "__main__":
    main()
