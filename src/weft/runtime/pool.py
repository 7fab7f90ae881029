"""The thread pool: creating its threads, and calling into its machine code (`weft.runtime.pool_ir`).

A launch is one call through ctypes, without the GIL; the calling thread takes part in the work. How Ctrl-C ends one
is in `weft.runtime.interrupts`. Any number of Python threads may launch at once: a number of launches share the
workers, more run on their callers alone. After a fork the child has no workers and makes its own. Workers are never
joined: they sleep, hold nothing of Python's, and their code and memory are never freed, so the interpreter may shut
down around them.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
import weakref

from weft.machine.host import core_count
from weft.runtime.interrupts import interruptible, interrupts
from weft.runtime.own_code import own_code
from weft.runtime.pool_ir import (
    LAUNCH,
    MAX_THREADS,
    POOL_ALIGNMENT,
    POOL_SIZE,
    SPIN_NS,
    WORKER,
    pool_module,
    supported,
)
from weft.runtime.threads import start_thread
from weft.target.jit import LoadedCode
from weft.target.machine import TargetSpec
from weft.target.once import once

JOB = struct.Struct("@PPqqq")
"""A job: function, context, groups, threads, chunk."""

SPIN = 30_000
"""Nanoseconds that a worker looks out for the next launch before it sleeps: about what waking costs."""


class Pool:
    """Worker threads, made as launches ask for them.

    Parameters
    ----------
    code
        The pool's machine code.
    """

    def __init__(self, code: LoadedCode) -> None:
        self._worker = code.address(WORKER)
        self.launch_address = code.address(LAUNCH)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._launch = interruptible(self.launch_address, kind)
        self._reset()
        _pools.add(self)

    @property
    def workers(self) -> int:
        """How many worker threads there are, in this process."""
        return self._workers

    def launch(self, job: int, threads: int) -> int:
        """Run a job and return its status: 0, or the first that a call of its function returned.

        Raises what a signal handler raises in the meantime, with some groups run in part or not at all.

        Parameters
        ----------
        job
            Address of a `JOB`, read before the call returns.
        threads
            What the job says; so many workers, less one, are made if there are fewer.
        """
        return self._launch(self.prepare(threads), job)

    def prepare(self, threads: int) -> int:
        """Make workers for launches by `threads` threads, and return the address of the pool's memory."""
        if threads - 1 > self._workers:
            self._grow(threads - 1)
        return self._memory

    def _grow(self, wanted: int) -> None:
        with self._growing:
            # Spinning helps only on a core that nobody else wants.
            spin = SPIN if wanted < core_count() else 0
            ctypes.c_int64.from_address(self._memory + SPIN_NS).value = spin
            while self._workers < wanted:
                name = f"weft-{self._workers + 1}"
                start_thread(self._worker, self._memory, name, interrupts().signal)
                self._workers += 1

    def _reset(self) -> None:
        self._growing = threading.Lock()
        self._workers = 0
        self._memory = _zeroed(POOL_SIZE, POOL_ALIGNMENT)


def _zeroed(size: int, alignment: int) -> int:
    """Return the address of zeroed memory that is never freed."""
    libc = ctypes.CDLL(None)
    libc.calloc.restype = ctypes.c_void_p
    libc.calloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    address = libc.calloc(1, size + alignment)
    if not address:
        raise MemoryError("no memory for the thread pool")
    return address + -address % alignment


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _reset_pools_after_fork() -> None:
    # The old memory stays: threads that the fork left behind in the parent have launches in it.
    for pool in _pools:
        pool._reset()


os.register_at_fork(after_in_child=_reset_pools_after_fork)


@once
def default_pool() -> Pool | None:
    """Return the pool of this process; None where there is none, and launches run on their callers."""
    spec = TargetSpec.chosen(level=0)
    return Pool(_pool_code(spec)) if supported(spec.triple) else None


def thread_limit(wanted: int) -> int:
    """Return how many threads a launch may use when the user wants so many."""
    return min(wanted, MAX_THREADS) if default_pool() else 1


def _pool_code(spec: TargetSpec) -> LoadedCode:
    imports = interrupts().shared
    return own_code("pool", pool_module(spec.triple), (LAUNCH, WORKER), spec, imports)
