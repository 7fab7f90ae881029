"""What functions with parallel loops need of the thread pool: its entry point, its memory, how many threads.

Compiled code reads the last two from a record, ``{ ptr pool, i64 threads }``, whose address it is linked with. The
record is filled when the user's number of threads has changed, and again after a fork, which leaves the pool empty.
"""

from __future__ import annotations

import ctypes
import os

from weft.runtime.pool import default_pool, thread_limit
from weft.runtime.settings import POOL_READY, get_num_threads

LAUNCH = "weft_pool_launch"
SETTINGS = "weft_parallel_settings"

_settings = (ctypes.c_int64 * 2)()


def parallel_symbols() -> dict[str, int]:
    """The addresses of what compiled code imports."""
    pool = default_pool()
    # Without a pool the record's is null, and nothing is called.
    launch = pool.launch_address if pool else ctypes.addressof(_settings)
    return {LAUNCH: launch, SETTINGS: ctypes.addressof(_settings)}


_prepared = 0
"""For how many threads the record is filled; 0 when it is not."""


def prepare_pool() -> None:
    """Fill the record, and make the workers that the user's number of threads asks for."""
    global _prepared
    wanted = get_num_threads()
    if wanted == _prepared:
        POOL_READY.value = 1
        return
    pool = default_pool()
    threads = thread_limit(wanted)
    _settings[0] = pool.prepare(threads) if pool else 0
    _settings[1] = threads
    _prepared = wanted
    POOL_READY.value = 1


def _forget() -> None:
    global _prepared
    _prepared = POOL_READY.value = 0


os.register_at_fork(after_in_child=_forget)
