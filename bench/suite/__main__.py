"""Runs the rows named on the command line, or all, and prints and keeps the tables."""

from __future__ import annotations

import argparse
import time
from functools import partial

from bench import output
from bench.speed import tables
from bench.speed.command import arguments, measure
from bench.speed.peers import peers_of
from bench.suite import widths
from bench.suite.rows import ROWS, SOURCES, loops_of


def main() -> None:
    further = argparse.ArgumentParser(add_help=False)
    further.add_argument("--widths", action="store_true", help="compare the widths of weft, not the peers")
    options = arguments("Measure further kernels, and loops over prange, beside peers.", ROWS, further)
    if options.widths:
        rows = [row for row in ROWS if not options.rows or row.name in options.rows]
        clock = time.thread_time if options.cpu_time else time.perf_counter
        compared = [c for row in rows for c in widths.both(row, clock, options.rounds)]
        print(widths.table(compared))
        print(f"\nfigures: {output.save('suite-widths', compared)}")
        return
    results = measure(ROWS, options, partial(peers_of, sources=SOURCES, loops=loops_of))
    loops = tables.of_loops(results)
    goals = [*tables.goals(results), *tables.loops_goals(loops, "prange")]
    print(tables.summary(results))
    print(f"\n{tables.ratios(loops)}")
    print(f"\n{tables.compile_times(results)}")
    print(f"\n{output.goals(goals)}")
    print(f"\nfigures: {output.save('suite', [result.comparison for result in results], goals)}")


if __name__ == "__main__":
    main()
