"""Compiling once: threads that ask for the same code at the same time wait for the one that makes it.

One thread compiles at a time. A thread that forks first waits for it, and for who else is in LLVM: the child would
otherwise wait for ever for threads that it does not have.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

from weft.target.signals import raising_behind_finalizers

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

COMPILING = threading.RLock()
"""Held by the thread that compiles, which may take it again.

It is not LLVM's, which garbage may need at any time: of a thread, perhaps, whose lock on an import the compiler needs.
"""


def made_once(table: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """Return the entry of a table, made when there is none yet."""
    known = table.get(key)
    if known is None:
        with COMPILING, raising_behind_finalizers(), _collecting_later():
            known = table.get(key)
            if known is None:
                known = table[key] = make()
    return known


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Look for cycles of garbage only afterwards: a compilation is short, and takes a tenth longer otherwise."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def once(make: Callable[[], V]) -> Callable[[], V]:
    """Decorate a function whose first result is kept, and whose every caller gets that one."""
    kept = functools.cache(make)

    @functools.cache
    @functools.wraps(make)
    def locked() -> V:
        with COMPILING, raising_behind_finalizers():
            return kept()

    return locked


FORK_LOCKS: list[AbstractContextManager[Any]] = [COMPILING]
"""What a thread takes before it forks, in this order; LLVM's lock is here once LLVM is loaded."""

_held = ExitStack()


def _before_fork() -> None:
    for lock in FORK_LOCKS:
        _held.enter_context(lock)


def _after_fork() -> None:
    _held.close()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
