"""The command line of the benches that have rows, and the loop over rows and threads."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import levels, output
from bench.harness import ROUNDS, Peer, compare
from bench.speed.peers import Task
from bench.speed.rows import Row
from bench.speed.tables import Result


def arguments(
    description: str, rows: Sequence[Row], further: argparse.ArgumentParser | None = None
) -> argparse.Namespace:
    """Read the command line; a bench may have further options."""
    parser = argparse.ArgumentParser(description=description, parents=[further] if further else [])
    parser.add_argument("rows", nargs="*", choices=[*(row.name for row in rows), []], help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peers", nargs="+", help="who is measured, as the table names them; default: all")
    parser.add_argument("--width", type=int, help="lanes for weft; it chooses by default")
    parser.add_argument(
        "--tune",
        action="store_const",
        const="measure",
        help="let weft measure which width is best, in advance",
    )
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="on one thread, count its CPU time: for machines that are not idle",
    )
    parser.add_argument(
        "--level", choices=levels.LEVELS, help="instructions that all may use; default: all there are"
    )
    options = parser.parse_args()
    levels.begin_again(options.level)
    levels.hold(options.level)
    return options


def measure(
    rows: Sequence[Row], options: argparse.Namespace, peers_of: Callable[[Task, int, Path], list[Peer]]
) -> list[Result]:
    """Compare the peers at the rows that were asked for, and print each comparison."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for row in (row for row in rows if not options.rows or row.name in options.rows):
            task = Task.of(row)
            task.width, task.tune = options.width, options.tune
            for threads in options.threads:
                task.clock = time.thread_time if options.cpu_time and threads == 1 else time.perf_counter
                title = f"{row.title}, {threads} thread{'s' * (threads > 1)}"
                peers = [
                    peer
                    for peer in peers_of(task, threads, Path(folder))
                    if not options.peers or peer.name in options.peers
                ]
                comparison = compare(title, peers, options.rounds)
                results.append(Result(row, threads, comparison))
                print(output.table(comparison), end="\n\n", flush=True)
    return results
