"""``python -m bench.hints``: the table of docs/divergence.md, before and after, interleaved, medians."""

from __future__ import annotations

import argparse
import statistics
import time

import weft
from bench.hints.pairs import PAIRS, Pair, Side


def measure(pair: Pair, rounds: int, size: int | None = None) -> tuple[float, float]:
    """Milliseconds of CPU time of a launch, before and after."""
    before, after = pair.sides(size or pair.size)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        for side, found in zip((before, after), times, strict=True):
            found.append(_time(side))
    first, second = (1e3 * statistics.median(found[1:]) for found in times)
    return first, second


def _time(side: Side) -> float:
    begin = time.process_time()
    side.run()
    return time.process_time() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    weft.set_num_threads(1)
    print("| kernel | finding | before, ms | after, ms | faster |")
    print("|---|---|---|---|---|")
    for pair in PAIRS:
        before, after = measure(pair, options.rounds)
        print(f"| {pair.name} | {pair.kind} | {before:.2f} | {after:.2f} | {before / after:.1f} × |")


if __name__ == "__main__":
    main()
