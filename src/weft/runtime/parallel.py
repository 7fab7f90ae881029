"""What functions with parallel loops need of the thread pool: its entry point, its memory, how many threads.

Compiled code reads the last two from a record, ``{ ptr pool, i64 threads }``, whose address it is linked with.
"""

from __future__ import annotations

import ctypes

from weft.runtime.pool import default_pool, thread_limit
from weft.runtime.settings import get_num_threads

LAUNCH = "weft_pool_launch"
SETTINGS = "weft_parallel_settings"

_settings = (ctypes.c_int64 * 2)()


def parallel_symbols() -> dict[str, int]:
    """The addresses of what compiled code imports."""
    pool = default_pool()
    # Without a pool the record's is null, and nothing is called.
    launch = pool.launch_address if pool else ctypes.addressof(_settings)
    return {LAUNCH: launch, SETTINGS: ctypes.addressof(_settings)}


def prepare_pool() -> None:
    """Fill the record, and make the workers that the user's number of threads asks for."""
    pool = default_pool()
    threads = thread_limit(get_num_threads())
    _settings[0] = pool.prepare(threads) if pool else 0
    _settings[1] = threads
