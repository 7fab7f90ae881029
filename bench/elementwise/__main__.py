"""Runs the rows named on the command line, or all, and prints and keeps the tables."""

from __future__ import annotations

from bench import output
from bench.elementwise.peers import peers_of
from bench.elementwise.rows import ROWS
from bench.speed import tables
from bench.speed.command import arguments, measure


def main() -> None:
    options = arguments("Measure elementwise functions beside numba's vectorize, NumPy, gcc and clang.", ROWS)
    results = measure(ROWS, options, peers_of)
    goals = tables.loops_goals(results, "elementwise")
    print(tables.summary(results))
    print(f"\n{tables.ratios(results)}")
    print(f"\n{tables.compile_times(results)}")
    print(f"\n{output.goals(goals)}")
    print(f"\nfigures: {output.save('elementwise', [result.comparison for result in results], goals)}")


if __name__ == "__main__":
    main()
