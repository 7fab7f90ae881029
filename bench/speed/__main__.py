"""Runs the rows named on the command line, or all, and prints and keeps the table."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench import output
from bench.harness import ROUNDS, compare
from bench.speed import tables
from bench.speed.peers import Task, peers_of
from bench.speed.rows import ROWS


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure kernels beside gcc, clang and numba.")
    parser.add_argument("rows", nargs="*", choices=[*(row.name for row in ROWS), []], help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--width", type=int, help="lanes for weft; it chooses by default")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="on one thread, count its CPU time: for machines that are not idle",
    )
    options = parser.parse_args()

    results: list[tables.Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for row in (row for row in ROWS if not options.rows or row.name in options.rows):
            task = Task.of(row)
            task.width = options.width
            for threads in options.threads:
                task.clock = time.thread_time if options.cpu_time and threads == 1 else time.perf_counter
                title = f"{row.title}, {threads} thread{'s' * (threads > 1)}"
                comparison = compare(title, peers_of(task, threads, Path(folder)), options.rounds)
                results.append(tables.Result(row, threads, comparison))
                print(output.table(comparison), end="\n\n", flush=True)
    print(tables.summary(results))
    print(f"\n{tables.compile_times(results)}")
    goals = tables.goals(results)
    print(f"\n{output.goals(goals)}")
    print(f"\nfigures: {output.save('speed', [result.comparison for result in results], goals)}")


if __name__ == "__main__":
    main()
