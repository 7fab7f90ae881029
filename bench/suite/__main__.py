"""Runs the rows named on the command line, or all, and prints and keeps the tables."""

from __future__ import annotations

from functools import partial

from bench import output
from bench.speed import tables, widths
from bench.speed.command import arguments, measure
from bench.speed.peers import peers_of
from bench.suite.rows import ROWS, SOURCES, loops_of


def main() -> None:
    options = arguments(
        "Measure further kernels, and loops over prange, beside peers.", ROWS, widths.option()
    )
    if options.widths:
        widths.run("suite", ROWS, options, loops_of)
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
