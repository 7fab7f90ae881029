"""One process makes an entry of the compile cache while the others that want it wait.

Many workers that start together ask for the same code at the same time. Whoever comes first locks a file beside the
entry; the kernel takes the lock back when a process ends, however it ends. Nobody waits for ever: who has waited for
`PATIENCE` seconds makes the entry too, which is a waste of time and nothing else, as both write the same bytes. Where
files cannot be locked, as on some network file systems, all make it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 60.0
"""Seconds after which a process no longer waits for another one: that may be stopped, or wait in turn."""

_FIRST_LOOK, _LAST_LOOK = 0.002, 0.05
_MODE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

_mine: set[Path] = set()


@contextlib.contextmanager
def only_maker(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a file, which is made for that and removed afterwards, if it can be had in time.

    A thread that holds it may take it again. Threads of one process do not exclude each other here: `made_once` does
    that.
    """
    if path in _mine:
        yield
        return
    descriptor = _locked(path, time.monotonic() + patience)
    if descriptor is None:
        yield
        return
    _mine.add(path)
    try:
        yield
    finally:
        _mine.discard(path)
        # Before the lock goes: who gets it then sees that the file is another one, or none.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _locked(path: Path, until: float) -> int | None:
    """A descriptor of the file that is locked; None where that cannot be, or not in time."""
    pause = _FIRST_LOOK
    while True:
        try:
            descriptor = os.open(path, _MODE, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                return descriptor
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(descriptor)
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)
        except OSError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the path still leads to the file: who had the lock before may have removed it."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    return False
