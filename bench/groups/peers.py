"""The peers of a row, as functions that prepare them in the process that they are called in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.groups import opencl_runtimes
from bench.groups.rows import GroupRow
from bench.groups.weft_opencl import weft_opencl
from bench.harness import Prepared
from bench.speed.c_compilers import build, caller, clang, gcc
from bench.speed.peers import Loops, Run, Task, by_ispc, by_numba, by_weft_jit
from examples.irregular.problem import Problem
from weft import cuda, set_num_threads

SOURCES = Path(__file__).parent / "c"


def by_weft(task: Task, threads: int, folder: Path, **options: Any) -> Prepared:
    """Return weft with these options of `cuda.jit`."""
    options = {"fastmath": True, "width": task.width, **options}
    set_num_threads(threads)
    os.environ["WEFT_CACHE_DIR"] = str(folder)
    kernels: dict[str, cuda.Kernel] = {}
    launcher(task, task.own_problem(), kernels, options)()
    compile_seconds = sum(sum(kernel.timings.values()) for kernel in kernels.values())
    problem = task.own_problem()
    return task.prepared(problem, launcher(task, problem, kernels, options), compile_seconds)


def launcher(
    task: Task, problem: Problem, kernels: dict[str, cuda.Kernel], options: Mapping[str, Any]
) -> Run:
    """Return the launches of a row one after the other, by kernels that are made where they are not there yet."""
    assert isinstance(task.row, GroupRow)
    launches = []
    for launch in task.row.launches(problem):
        if launch.name not in kernels:
            kernels[launch.name] = cuda.jit(launch.kernel.py_func, **options)
        launches.append((kernels[launch.name][launch.grid, launch.block], launch.arguments))

    def run() -> None:
        for configured, arguments in launches:
            configured(*arguments)

    return run


def _c(command: Callable[[], list[str]], version: str) -> Callable[[Task, int, Path], Prepared]:
    def prepare(task: Task, threads: int, folder: Path) -> Prepared:
        if threads > 1:
            raise ImportError("its loops are for one thread")
        library, compile_seconds = build(command(), SOURCES / f"{task.row.peer}.c", threads, folder)
        function = getattr(library, task.row.peer + version, None)
        if function is None:
            raise ImportError("blocks would change nothing")
        problem = task.own_problem()
        return task.prepared(problem, caller(function, problem.arguments), compile_seconds)

    return prepare


def _loops(task: Task) -> Loops:
    from bench.groups import loops

    return vars(loops)[task.row.peer]


def _numba(task: Task, threads: int, folder: Path) -> Prepared:
    return by_numba(task, _loops(task), threads)


PEERS: dict[str, Callable[[Task, int, Path], Prepared]] = {
    "weft": by_weft,
    "weft.jit": lambda task, threads, folder: by_weft_jit(task, threads, folder, _loops),
    "weft, OpenCL C": weft_opencl,
    "PoCL": opencl_runtimes.pocl,
    "Intel": opencl_runtimes.intel,
    "numba": _numba,
    "gcc": _c(gcc, ""),
    "gcc blocked": _c(gcc, "_blocked"),
    "clang": _c(clang, ""),
    "clang blocked": _c(clang, "_blocked"),
    "ispc": lambda task, threads, folder: by_ispc(task, SOURCES.parent / "ispc", threads, folder),
}
