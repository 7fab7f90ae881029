"""The peers of a row: all write their results to an array that is there, on options that mean the same."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

import weft
from bench.harness import Peer, Prepared
from bench.speed.c_compilers import clang, gcc
from bench.speed.peers import Task, by_c

SOURCES = Path(__file__).parent / "c"


def peers_of(task: Task, threads: int, folder: Path) -> list[Peer]:
    """Return weft and all peers for a number of threads."""
    return [
        Peer("weft", lambda: _weft(task, threads, folder)),
        Peer("numba", lambda: _numba(task, threads)),
        Peer("gcc", lambda: by_c(task, gcc, SOURCES, threads, folder)),
        Peer("clang", lambda: by_c(task, clang, SOURCES, threads, folder)),
        Peer("NumPy", lambda: _numpy(task, threads)),
    ]


def _weft(task: Task, threads: int, folder: Path) -> Prepared:
    from bench.elementwise import functions

    function = weft.vectorize(vars(functions)[task.row.peer], fastmath=True, width=task.width)
    *operands, results = task.own_problem().arguments
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        os.environ["WEFT_CACHE_DIR"] = empty
        begin = time.perf_counter()
        function(*operands, out=results)
        compile_seconds = time.perf_counter() - begin
    weft.set_num_threads(threads)
    problem = task.own_problem()
    *operands, results = problem.arguments
    return task.prepared(problem, lambda: function(*operands, out=results), compile_seconds)


def _numba(task: Task, threads: int) -> Prepared:
    import numba

    from bench.elementwise import functions

    numba.set_num_threads(threads)
    problem = task.own_problem()
    *operands, results = problem.arguments
    names = [str(np.asarray(a).dtype) for a in problem.arguments]
    signature = f"{names[-1]}({', '.join(names[:-1])})"
    target = "parallel" if threads > 1 else "cpu"
    begin = time.perf_counter()
    function = numba.vectorize([signature], target=target, fastmath=True)(vars(functions)[task.row.peer])
    compile_seconds = time.perf_counter() - begin
    return task.prepared(problem, lambda: function(*operands, out=results), compile_seconds)


def _numpy(task: Task, threads: int) -> Prepared:
    if threads > 1:
        raise ImportError("it runs on one thread")
    problem = task.own_problem()
    *operands, results = problem.arguments

    def run() -> None:
        results[...] = problem.by_numpy(*operands)

    return task.prepared(problem, run, 0.0)
