"""Runs the rows named on the command line, or all, and prints and keeps the tables."""

from __future__ import annotations

from contextlib import ExitStack, closing

from bench import output
from bench.groups import tables
from bench.groups.peers import PEERS
from bench.groups.processes import Child, Order
from bench.groups.rows import ROWS
from bench.harness import compare
from bench.speed.command import arguments
from bench.speed.tables import Result, compile_times, ratios, summary


def main() -> None:
    options = arguments("Measure work-group kernels beside OpenCL runtimes and loops.", ROWS)
    rows = [row for row in ROWS if not options.rows or row.name in options.rows]
    expected = {row.name: row.make().expected() for row in rows}
    results: list[Result] = []
    for threads in options.threads:
        cpu_time = options.cpu_time and threads == 1
        with ExitStack() as running:
            orders = (Order(peer, threads, cpu_time, options.width) for peer in PEERS)
            children = [running.enter_context(closing(Child(order))) for order in orders]
            for row in rows:
                peers = [child.peer(row.name, expected[row.name]) for child in children]
                title = f"{row.title}, {threads} thread{'s' * (threads > 1)}"
                comparison = compare(title, peers, options.rounds)
                results.append(Result(row, threads, comparison))
                print(output.table(comparison), end="\n\n", flush=True)
    print(summary(results))
    print(f"\n{ratios(results)}")
    print(f"\n{compile_times(results)}")
    goals = tables.goals(results, scaling=not options.cpu_time)
    print(f"\n{output.goals(goals)}")
    print(f"\nfigures: {output.save('groups', [result.comparison for result in results], goals)}")


if __name__ == "__main__":
    main()
