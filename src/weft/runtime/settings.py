"""What a user sets about running: how many threads, and where compiled kernels are kept."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from weft.diag.errors import SettingError
from weft.machine.host import core_count

_chosen_threads: int | None = None


POOL_READY = ctypes.c_int64()
"""1 while the thread pool is as large as is set: machine code looks here."""


def set_num_threads(count: int) -> None:
    """Let launches from now on use so many threads, in place of ``WEFT_NUM_THREADS`` or all cores."""
    global _chosen_threads
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise SettingError(f"the number of threads is a positive integer, not {count!r}")
    _chosen_threads = count
    POOL_READY.value = 0


def get_num_threads() -> int:
    """Return how many threads a launch uses: what was set, else ``WEFT_NUM_THREADS``, else one a core.

    In a worker of Dask's it is one, if nothing else was set: that runs as many tasks at a time as it has cores.
    The environment is read once: every launch asks.
    """
    global _chosen_threads
    if _chosen_threads is None:
        _chosen_threads = _default_threads()
    return _chosen_threads


def _default_threads() -> int:
    text = os.environ.get("WEFT_NUM_THREADS")
    if not text:
        return 1 if _runs_tasks_of_dask() else core_count()
    if not text.isdecimal() or int(text) < 1:
        raise SettingError(f"WEFT_NUM_THREADS is a positive integer, not {text!r}")
    return int(text)


def _runs_tasks_of_dask() -> bool:
    """Whether there is a worker of Dask's in this process."""
    distributed = sys.modules.get("distributed.worker")
    # `get_worker` knows it in tasks only, and the first launch may be elsewhere.
    return distributed is not None and len(distributed.Worker._instances) > 0


def cache_directory() -> Path:
    """Return where compiled kernels are kept; it need not exist yet.

    ``WEFT_CACHE_DIR`` if set, else ``weft`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    chosen = os.environ.get("WEFT_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "weft"
