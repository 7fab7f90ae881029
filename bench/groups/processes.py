"""Each peer in a process of its own, which measures one row after the other.

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

SETTLE = 0.3
"""Seconds before a sample on several threads: those of the peer before look for more work for a while, on our cores."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which peer a process measures, on so many cores, and what it counts: time, or its own CPU time."""

    peer: str
    threads: int
    cpu_time: bool = False
    width: int | None = None


class Child:
    """A process that prepares a peer for a row when asked to, then checks and samples it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, order), daemon=True)
        self._process.start()
        theirs.close()

    def peer(self, row: str, expected: tuple[np.ndarray, ...]) -> Peer:
        """Return the peer at a row, whose results should be the `expected` ones."""

        def prepare() -> Prepared:
            compile_seconds = self._ask("prepare", row, expected)
            return Prepared(self._sample, lambda: self._ask("check"), compile_seconds)

        return Peer(self._order.peer, prepare)

    def _sample(self) -> float:
        if self._order.threads > 1:
            time.sleep(SETTLE)
        return self._ask("sample")

    def close(self) -> None:
        self._connection.close()
        self._process.join(timeout=10)
        self._process.kill()

    def _ask(self, *wanted: object) -> Any:
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
    prepared: Prepared | None = None
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                wanted, *details = connection.recv()
            except EOFError:
                return
            answer: object
            try:
                if wanted == "prepare":
                    # The arrays of the row before are not needed any more.
                    prepared = None
                    prepared = _prepared(order, *details, Path(tempfile.mkdtemp(dir=folder)))
                    answer = prepared.compile_seconds
                else:
                    assert prepared is not None
                    answer = prepared.sample() if wanted == "sample" else prepared.check()
            except ImportError as error:
                answer = ImportError(str(error))
            except Exception as error:
                answer = RuntimeError(f"{type(error).__name__}: {error}")
            connection.send(answer)


def _prepared(order: Order, name: str, expected: tuple[np.ndarray, ...], folder: Path) -> Prepared:
    from bench.groups.peers import PEERS
    from bench.groups.rows import ROWS
    from bench.speed.peers import Task

    row = next(row for row in ROWS if row.name == name)
    clock = time.process_time if order.cpu_time else time.perf_counter
    task = Task(row, row.make(), expected, order.width, clock=clock)
    return PEERS[order.peer](task, order.threads, folder)
