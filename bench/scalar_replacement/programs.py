"""What the default policy does to programs that are not made for it: kernels of the other benches and the examples.

Most of them are the same code with and without scalar replacement. The others are run by turns, by CPU time on one
thread: ``python -m bench.scalar_replacement --only programs``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.ablation_rows import PROGRAMS
from bench.fits import fitting
from bench.fits.program import Program
from bench.groups.peers import launcher
from bench.groups.rows import ROWS, GroupRow
from bench.harness import Comparison, Peer, Prepared, compare
from bench.speed.peers import Task
from examples.opencl.applications import APPLICATIONS, HERE
from weft import cuda, opencl, set_num_threads

POLICIES = ("off", "ssrqp")
LEAST_SAMPLE = 5e-3
"""Seconds of a sample: short runs are repeated."""


@dataclass(frozen=True, slots=True)
class Version:
    """A program under one policy.

    Parameters
    ----------
    run
        Runs it.
    results
        What it writes, between runs.
    restore
        Puts that back as it was.
    text
        Its code.
    """

    run: Callable[[], object]
    results: Sequence[np.ndarray]
    restore: Callable[[], None]
    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """A program, and how it is made under a policy."""

    name: str
    make: Callable[[str], Version]


def programs() -> Iterator[Named]:
    """Yield all."""
    for program in PROGRAMS:
        yield Named(f"ablation: {program.name}", lambda policy, p=program: _of_row(p.row(), policy))
    for row in ROWS:
        yield Named(f"groups: {row.name}", lambda policy, r=row: _of_row(r, policy))
    for fit in fitting.PROGRAMS:
        yield Named(f"fits: {fit.name}", lambda policy, f=fit: _of_fit(f, policy))
    for name, make in APPLICATIONS.items():
        yield Named(f"opencl: {name}", lambda policy, n=name, m=make: _of_application(n, m, policy))


def _restoring(arrays: Sequence[np.ndarray]) -> Callable[[], None]:
    kept = [array.copy() for array in arrays]

    def restore() -> None:
        for array, before in zip(arrays, kept, strict=True):
            array[...] = before

    return restore


def _of_row(row: GroupRow, policy: str) -> Version:
    task = Task.of(row)
    problem = task.own_problem()
    arrays = [problem.arguments[i] for i in problem.outputs]
    restore = _restoring(arrays)
    kernels: dict[str, cuda.Kernel] = {}
    run = launcher(task, problem, kernels, {"fastmath": True, "scalar_replacement": policy})
    run()
    texts = [c.lowered().text for kernel in kernels.values() for c in kernel.overloads.values()]
    return Version(run, arrays, restore, "\n".join(texts))


def _of_fit(program: Program, policy: str) -> Version:
    arguments = program.data[0]()
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    restore = _restoring(arrays)
    kernel = cuda.jit(program.kernel, fastmath=program.fast, scalar_replacement=policy)
    configured = kernel[program.launch(arguments)]
    configured(*arguments)
    texts = [c.lowered().text for c in kernel.overloads.values()]
    return Version(lambda: configured(*arguments), arrays, restore, "\n".join(texts))


def _of_application(name: str, make: Callable[[float], Any], policy: str) -> Version:
    application = make(0.02)
    program = opencl.Program(
        (HERE / f"{name}.cl").read_text(), application.options, scalar_replacement=policy
    )
    arrays = list(
        {id(a): a for *_, args in application.launches for a in args if isinstance(a, np.ndarray)}.values()
    )
    restore = _restoring(arrays)

    def run() -> None:
        for kernel, size, local, args in application.launches:
            program.kernel(kernel)(size, local, *args)

    run()
    names = dict.fromkeys(kernel for kernel, *_ in application.launches)
    texts = [c.lowered().text for n in names for c in program.kernel(n).specializations()]
    return Version(run, arrays, restore, "\n".join(texts))


def compared(named: Named, rounds: int) -> Comparison | None:
    """A program with and without, by turns; None where it is the same code."""
    versions = {policy: named.make(policy) for policy in POLICIES}
    first, second = versions.values()
    if first.text == second.text:
        return None
    for version in versions.values():
        version.restore()
        version.run()
    wrong = [
        not np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
        for a, b in zip(first.results, second.results, strict=True)
        if a.dtype.kind in "fiub"
    ]
    peers = [Peer(policy, lambda v=version: _prepared(v, any(wrong))) for policy, version in versions.items()]
    return compare(named.name, peers, rounds)


def _prepared(version: Version, wrong: bool) -> Prepared:
    begin = time.process_time()
    version.run()
    times = max(1, int(LEAST_SAMPLE / max(time.process_time() - begin, 1e-6)))

    def sample() -> float:
        seconds = 0.0
        for _ in range(times):
            version.restore()
            begin = time.process_time()
            version.run()
            seconds += time.process_time() - begin
        return seconds / times

    return Prepared(sample, lambda: "results differ" if wrong else None)


def compare_all(wanted: str, rounds: int, show: Callable[[Comparison], None]) -> tuple[int, list[Comparison]]:
    """Compare the programs whose names hold a text, on one thread; how many there are, and those that differ."""
    set_num_threads(1)
    count, found = 0, []
    for named in programs():
        if wanted not in named.name:
            continue
        count += 1
        comparison = compared(named, rounds)
        if comparison is not None:
            found.append(comparison)
            show(comparison)
    return count, found
