"""Each peer in a process of its own.

Thread pools, floating-point modes and pinned cores of one disturb no other, and one that crashes fails alone.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Peer, Prepared

_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is to measure: a peer at a row, on so many cores that no other thread of its may leave."""

    row: str
    peer: str
    threads: int
    expected: tuple[np.ndarray, ...]
    cpu_time: bool
    width: int | None


class Child:
    """A process that prepares a peer when asked to, then checks and samples it."""

    def __init__(self, order: Order) -> None:
        self.peer = Peer(order.peer, self._prepare)
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, order), daemon=True)
        self._process.start()
        theirs.close()

    def close(self) -> None:
        self._connection.close()
        self._process.join(timeout=10)
        self._process.kill()

    def _prepare(self) -> Prepared:
        compile_seconds = self._ask("prepare")
        return Prepared(lambda: self._ask("sample"), lambda: self._ask("check"), compile_seconds)

    def _ask(self, wanted: str) -> Any:
        try:
            self._connection.send(wanted)
            answer = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            raise RuntimeError(f"its process ended with status {self._process.exitcode}") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


def _serve(connection: Connection, order: Order) -> None:
    # Before any library counts the cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-order.threads :])
    with tempfile.TemporaryDirectory() as folder:
        prepared: Prepared | None = None
        while True:
            try:
                wanted = connection.recv()
            except EOFError:
                return
            try:
                if prepared is None:
                    prepared = _prepared(order, Path(folder))
                answers = {"sample": prepared.sample, "check": prepared.check}
                connection.send(answers[wanted]() if wanted in answers else prepared.compile_seconds)
            except ImportError as error:
                connection.send(ImportError(str(error)))
            except Exception as error:
                connection.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _prepared(order: Order, folder: Path) -> Prepared:
    from bench.groups.peers import PEERS
    from bench.groups.rows import ROWS
    from bench.speed.peers import Task

    row = next(row for row in ROWS if row.name == order.row)
    clock = time.process_time if order.cpu_time else time.perf_counter
    task = Task(row, row.make(), order.expected, order.width, clock)
    return PEERS[order.peer](task, order.threads, folder)
