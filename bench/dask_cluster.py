"""Compiled functions on a local cluster of processes: seconds by number of workers, and what a task costs.

``python -m bench.dask_cluster --workers 1,2,4``. Each number of workers is a cluster of its own, with one thread a
worker; rounds of the peers take turns on it. A task's cost is the time of tasks that do next to nothing, divided by
their number: what Dask's scheduler takes is part of it, and the same for all peers. Beside the time on the clock stands
the processor time of the workers, which says the same on a busy machine: work is shared without loss where all workers
together take as much of it as one does.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numba
import numpy as np
from distributed import Client, LocalCluster

import weft
import weft.dask

SIDE, CHUNK, ROUNDS, TASKS = 2048, 256, 5, 200


def _escape(x: float, y: float) -> int:
    a, b, n = 0.0, 0.0, 0
    while a * a + b * b < 4.0 and n < 256:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


weft_escape = weft.vectorize(_escape)
_scalar_escape = numba.njit(_escape)


@numba.njit
def numba_escape(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same picture, as a loop: what numba.vectorize makes is compiled again for each task that gets it."""
    out = np.empty((y.shape[0], x.shape[1]), np.int64)
    for i in range(y.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = _scalar_escape(x[0, j], y[i, 0])
    return out


def _add(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = a[i] + b[i]
    return out


weft_add, numba_add = weft.jit(_add), numba.njit(_add)


def _seconds(client: Any, action: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of the workers' processors."""
    before = _processor_time(client)
    start = time.perf_counter()
    action()
    taken = time.perf_counter() - start
    return taken, _processor_time(client) - before


def _processor_time(client: Any) -> float:
    return sum(client.run(time.process_time).values())


def _picture(peer: Callable[..., Any]) -> Any:
    columns = da.linspace(-2.0, 0.5, SIDE, chunks=CHUNK)[None, :]
    rows = da.linspace(-1.25, 1.25, SIDE, chunks=CHUNK)[:, None]
    return da.map_blocks(peer, columns, rows, dtype=np.int64).sum()


def _small(peer: Callable[..., Any], client: Any) -> list[Any]:
    ones = [np.ones(16)] * TASKS
    return client.gather(client.map(peer, ones, ones, pure=False))


def measure(workers: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Medians of both tasks in seconds, on the clock and of processors, by task and peer."""
    pictures = {"weft": weft_escape, "numba": numba_escape}
    adds = {"weft": weft_add, "numba": numba_add, "NumPy": np.add}
    seconds: dict[str, dict[str, list[tuple[float, float]]]] = {"picture": {}, "task": {}}
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        results = {name: int(_picture(peer).compute()) for name, peer in pictures.items()}
        assert len(set(results.values())) == 1, results
        for peer in adds.values():
            _small(peer, client)
        for _ in range(ROUNDS):
            for name, peer in pictures.items():
                seconds["picture"].setdefault(name, []).append(_seconds(client, _picture(peer).compute))
            for name, peer in adds.items():
                clock, processor = _seconds(client, lambda peer=peer: _small(peer, client))
                seconds["task"].setdefault(name, []).append((clock / TASKS, processor / TASKS))
    return {
        task: {
            name: (statistics.median(t for t, _ in times), statistics.median(t for _, t in times))
            for name, times in peers.items()
        }
        for task, peers in seconds.items()
    }


def main() -> None:
    """Print a table by number of workers."""
    parser = argparse.ArgumentParser(description="compiled functions on a local cluster")
    parser.add_argument("--workers", default="1,2", help="numbers of workers, with commas between them")
    counts = [int(n) for n in parser.parse_args().workers.split(",")]
    print("milliseconds, of which processors of workers")
    print("workers    picture: weft             numba  task: weft           numba           NumPy")
    for workers in counts:
        found = measure(workers)
        picture = "".join(f"{1e3 * t:10.0f} {1e3 * p:6.0f}" for t, p in found["picture"].values())
        task = "".join(f"{1e3 * t:9.2f} {1e3 * p:5.2f}" for t, p in found["task"].values())
        print(f"{workers:7}    {picture}   {task}", flush=True)


if __name__ == "__main__":
    main()
