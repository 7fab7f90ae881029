"""How workers share their cores with weft's threads."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from weft.diag.errors import SettingError
from weft.runtime.settings import set_num_threads


class _Threads(WorkerPlugin):
    """Sets how many threads a launch has, on workers that are there and those to come."""

    name = "weft-threads"

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def setup(self, worker: Any) -> None:
        set_num_threads(self.threads)


def share_cores(client: Any, threads: int) -> None:
    """Let each launch and call use so many threads on all workers of a cluster, also on those that join later.

    A worker runs as many tasks at a time as it has threads of Dask's. Without this each of them has one thread of
    weft's, so that a worker keeps as many cores busy as it was told to. Where a worker has cores of its own beyond
    that, as with ``dask worker --nthreads 1`` on a machine with 8, launches may have all of them.

    Parameters
    ----------
    client
        The ``distributed.Client``.
    threads
        Threads of a launch.

    Raises
    ------
    SettingError
        The number is not positive.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise SettingError(f"the number of threads is a positive integer, not {threads!r}")
    client.register_plugin(_Threads(threads))
