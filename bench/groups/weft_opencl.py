"""weft's own door for OpenCL C as a peer: the programs that the OpenCL runtimes run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.groups.opencl_runtimes import OPTIONS, SOURCES, extents_of
from bench.groups.rows import GroupRow
from bench.harness import Prepared
from bench.speed.peers import Task
from weft import opencl, set_num_threads


def weft_opencl(task: Task, threads: int, folder: Path) -> Prepared:
    """Return the row's program in OpenCL C, compiled by weft."""
    assert isinstance(task.row, GroupRow)
    set_num_threads(threads)
    os.environ["WEFT_CACHE_DIR"] = str(folder)
    problem = task.own_problem()
    begin = time.perf_counter()
    program = opencl.Program(SOURCES / f"{task.row.peer}.cl", " ".join(OPTIONS), width=task.width)
    launches = []
    for launch in task.row.launches(problem):
        grid, block = extents_of(launch.grid), extents_of(launch.block)
        size = tuple(groups * items for groups, items in zip(grid, block, strict=True))
        launches.append((program.kernel(launch.name), size, tuple(block), _passed(launch.arguments)))

    def run() -> None:
        for kernel, size, local, arguments in launches:
            kernel(size, local, *arguments)

    run()
    compile_seconds = time.perf_counter() - begin
    for i in problem.outputs:
        problem.arguments[i][...] = task.problem.arguments[i]
    return task.prepared(problem, run, compile_seconds)


def _passed(arguments: tuple[Any, ...]) -> list[Any]:
    """An array as its buffer and extents, as the programs take it."""
    passed: list[Any] = []
    for argument in arguments:
        passed += [argument, *argument.shape] if isinstance(argument, np.ndarray) else [argument]
    return passed
