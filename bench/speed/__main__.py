"""Runs the rows named on the command line, or all, and prints and keeps the tables."""

from __future__ import annotations

from bench import output
from bench.speed import tables, widths
from bench.speed.command import arguments, measure
from bench.speed.peers import own_loops, peers_of
from bench.speed.rows import ROWS


def main() -> None:
    options = arguments(
        "Measure kernels, and loops over prange, beside gcc, clang and numba.", ROWS, widths.option()
    )
    if options.widths:
        widths.run("speed", ROWS, options, own_loops)
        return
    results = measure(ROWS, options, peers_of)
    loops = tables.of_loops(results)
    goals = [*tables.goals(results), *tables.loops_goals(loops, "prange")]
    print(tables.summary(results))
    print(f"\n{tables.ratios(loops)}")
    print(f"\n{tables.compile_times(results)}")
    print(f"\n{output.goals(goals)}")
    print(f"\nfigures: {output.save('speed', [result.comparison for result in results], goals)}")


if __name__ == "__main__":
    main()
