"""Runs the rows named on the command line, or all, and prints and keeps the tables."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing

from bench import output
from bench.groups import tables
from bench.groups.peers import PEERS
from bench.groups.processes import Child, Order
from bench.groups.rows import ROWS
from bench.harness import ROUNDS, compare
from bench.speed.tables import Result, compile_times, summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure work-group kernels beside OpenCL runtimes and loops."
    )
    parser.add_argument("rows", nargs="*", choices=[*(row.name for row in ROWS), []], help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--width", type=int, help="lanes for weft; it chooses by default")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="on one thread, count the process's CPU time: for machines that are not idle",
    )
    options = parser.parse_args()

    results: list[Result] = []
    for row in (row for row in ROWS if not options.rows or row.name in options.rows):
        expected = row.make().expected()
        for threads in options.threads:
            cpu_time = options.cpu_time and threads == 1
            orders = [Order(row.name, peer, threads, expected, cpu_time, options.width) for peer in PEERS]
            with ExitStack() as running:
                children = [running.enter_context(closing(Child(order))) for order in orders]
                title = f"{row.title}, {threads} thread{'s' * (threads > 1)}"
                comparison = compare(title, [child.peer for child in children], options.rounds)
            results.append(Result(row, threads, comparison))
            print(output.table(comparison), end="\n\n", flush=True)
    print(summary(results))
    print(f"\n{tables.ratios(results)}")
    print(f"\n{compile_times(results)}")
    goals = tables.goals(results, scaling=not options.cpu_time)
    print(f"\n{output.goals(goals)}")
    print(f"\nfigures: {output.save('groups', [result.comparison for result in results], goals)}")


if __name__ == "__main__":
    main()
