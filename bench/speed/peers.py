"""The peers of a row: each gets a problem of its own, checked before it is timed."""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import weft
from bench.harness import Peer, Prepared, placed
from bench.speed.c_compilers import SOURCES, build, build_ispc, caller, clang, gcc
from bench.speed.rows import Row
from examples.irregular.problem import Checked
from weft import cuda, set_num_threads
from weft.diag.remarks import Remark

_RUNS = re.compile(
    r"(?<!nest )runs (?:(\d+) (?:threads|iterations) at a time|thread after thread|iteration after iteration)"
)
Run = Callable[[], object]
Loops = Callable[..., Any]
Expected = tuple[np.ndarray, ...]


@dataclasses.dataclass(slots=True)
class Task:
    """A row with its problem and the answer, computed once for all peers."""

    row: Row
    problem: Checked
    expected: Expected
    width: int | None = None
    tune: str | None = None
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def of(cls, row: Row) -> Task:
        problem = row.make()
        return cls(row, problem, problem.expected())

    def own_problem(self) -> Checked:
        """Return the problem with arrays of its own, which lie in their pages as every other peer's do."""
        return dataclasses.replace(self.problem, arguments=placed(self.problem.arguments))

    def prepared(
        self,
        problem: Checked,
        run: Run,
        compile_seconds: float,
        upload: Run = lambda: None,
        download: Run = lambda: None,
        remarks: Sequence[Remark] = (),
    ) -> Prepared:
        """Return a peer ready to be timed: what it writes is put back as it was before each run, unmeasured.

        A peer that has to be given the arrays for a run brings what moves them there and back.
        """
        kept = [(problem.arguments[i], problem.arguments[i].copy()) for i in problem.outputs]

        def restore() -> None:
            for array, before in kept:
                array[...] = before
            upload()

        def sample() -> float:
            restore()
            begin = self.clock()
            run()
            seconds = self.clock() - begin
            download()
            return seconds

        def check() -> str | None:
            restore()
            run()
            download()
            return problem.complaint(self.expected)

        return Prepared(sample, check, compile_seconds, _lanes(remarks))


def _lanes(remarks: Sequence[Remark]) -> str:
    """The width of what weft compiled last, and "or 1" where threads by themselves are tried, too."""
    told = " ".join(remark.message for remark in remarks)
    found = _RUNS.findall(told)
    tries = (
        "for threads one after the other, too" in told or "for iterations one after the other, too" in told
    )
    return (found[-1] or "1") + " or 1" * tries if found else ""


def own_loops(task: Task) -> Loops:
    """Return the loops of a row of this bench."""
    from bench.speed import loops_divergent, loops_rays, loops_regular

    modules = (loops_divergent, loops_rays, loops_regular)
    return next(vars(module)[task.row.peer] for module in modules if task.row.peer in vars(module))


def peers_of(
    task: Task,
    threads: int,
    folder: Path,
    sources: Path = SOURCES,
    loops: Callable[[Task], Loops] = own_loops,
) -> list[Peer]:
    """Return weft and all peers for a number of threads; a bench has C and loops of its own."""
    return [
        Peer("weft", lambda: by_weft(task, threads, folder)),
        Peer("weft.jit", lambda: by_weft_jit(task, threads, folder, loops)),
        Peer("gcc", lambda: by_c(task, gcc, sources, threads, folder)),
        Peer("clang", lambda: by_c(task, clang, sources, threads, folder)),
        Peer("numba", lambda: by_numba(task, loops(task), threads)),
        Peer("ispc", lambda: by_ispc(task, sources.parent / "ispc", threads, folder)),
        Peer("taichi", lambda: _taichi(task, threads)),
    ]


def by_weft(task: Task, threads: int, folder: Path) -> Prepared:
    problem = task.own_problem()
    kernel = cuda.jit(problem.kernel.py_func, fastmath=True, width=task.width, tune=task.tune)
    set_num_threads(threads)
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        os.environ["WEFT_CACHE_DIR"] = empty
        begin = time.perf_counter()
        task.row.launch(kernel, problem)
        compile_seconds = sum(kernel.timings.values()) or time.perf_counter() - begin
    problem = task.own_problem()
    run = lambda: task.row.launch(kernel, problem)  # noqa: E731
    return task.prepared(problem, run, compile_seconds, remarks=kernel.remarks)


def by_weft_jit(
    task: Task, threads: int, folder: Path, loops: Callable[[Task], Loops] = own_loops
) -> Prepared:
    """The loops that numba is given, compiled by weft."""
    compiled = weft.jit(loops(task), fastmath=True, width=task.width, tune=task.tune)
    set_num_threads(threads)
    arguments = task.own_problem().arguments
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        os.environ["WEFT_CACHE_DIR"] = empty
        compiled(*arguments)
    compile_seconds = sum(compiled.timings.values())
    problem = task.own_problem()
    arguments = problem.arguments
    return task.prepared(problem, lambda: compiled(*arguments), compile_seconds, remarks=compiled.remarks)


def by_c(task: Task, command: Callable[[], list[str]], sources: Path, threads: int, folder: Path) -> Prepared:
    """Return a compiler with the row's function in C."""
    problem = task.own_problem()
    place = Path(tempfile.mkdtemp(dir=folder))
    source = sources / f"{task.row.peer}.c"
    library, compile_seconds = build(command(), source, threads, place, task.row.real)
    run = caller(getattr(library, task.row.peer), problem.arguments)
    return task.prepared(problem, run, compile_seconds)


def by_numba(task: Task, loops: Loops, threads: int) -> Prepared:
    """Return numba with a function of loops, parallel where there are threads for it."""
    import numba

    numba.set_num_threads(threads)
    compiled = numba.njit(loops, fastmath=True, parallel=threads > 1)
    problem = task.own_problem()
    arguments = problem.arguments
    begin = time.perf_counter()
    compiled.compile(tuple(map(numba.typeof, arguments)))
    compile_seconds = time.perf_counter() - begin
    return task.prepared(problem, lambda: compiled(*arguments), compile_seconds)


def by_ispc(task: Task, sources: Path, threads: int, folder: Path) -> Prepared:
    """Return ISPC with the version for the row, or else the one for all rows with the same function in C."""
    if threads > 1:
        raise ImportError("its versions run on one thread")
    problem = task.own_problem()
    own = (sources / f"{task.row.name}.ispc").exists()
    name = task.row.name if own else task.row.peer
    place = Path(tempfile.mkdtemp(dir=folder))
    library, compile_seconds = build_ispc(sources / f"{name}.ispc", place, task.row.real)
    run = caller(getattr(library, name), problem.arguments)
    return task.prepared(problem, run, compile_seconds)


def _taichi(task: Task, threads: int) -> Prepared:
    from bench.speed.taichi_peer import by_taichi

    return by_taichi(task, threads)
