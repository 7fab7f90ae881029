"""What each part of vectorization is worth: the columns of Karrenberg and Hack's Table 1 (2012), a program a row.

All columns run the same kernel, in lane groups of the same width but for the scalar one, whose result, vouched for by
NumPy or SciPy, is what the others have to give.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import output
from bench.ablation_rows import IRREGULAR, PROGRAMS, REGULAR, Program
from bench.groups.peers import by_weft, launcher
from bench.harness import Comparison, Peer, compare
from bench.speed.peers import Task
from bench.speed.tables import geometric_mean, shown

ROUNDS = 5

SCALAR = "scalar"
ALL = "all"

COLUMNS: dict[str, dict[str, Any]] = {
    SCALAR: {"width": 1},
    "naive": {
        "uniform_values": False,
        "uniform_control": False,
        "scalar_counters": False,
        "boscc": "off",
    },
    "UniVal": {"uniform_control": False, "boscc": "off"},
    "BOSCC": {"uniform_control": False, "boscc": "auto"},
    "BOSCC on": {"uniform_control": False, "boscc": "on"},
    "UniCF": {"boscc": "off"},
    ALL: {},
}
"""Options of `cuda.jit` for each."""

STEPS = (
    ("naive", SCALAR),
    ("UniVal", "naive"),
    ("BOSCC", "UniVal"),
    ("BOSCC on", "UniVal"),
    ("UniCF", "UniVal"),
    (ALL, "UniCF"),
    (ALL, SCALAR),
)
"""A column, and what it is held against."""


@dataclass(frozen=True, slots=True)
class Result:
    """A program in all columns."""

    program: Program
    comparison: Comparison

    def speedup(self, column: str, over: str) -> float | None:
        """Return how many times as fast as another column one is."""
        own, other = self.comparison.median(column), self.comparison.median(over)
        return other / own if own and other else None


def measure(
    program: Program, folder: Path, rounds: int = ROUNDS, size: int | None = None, width: int | None = None
) -> Result:
    """Measure a program in all columns, which take turns, by CPU time on one thread."""
    task = Task.of(program.row(size))
    task.width, task.clock = width, time.thread_time
    columns = dict(COLUMNS)
    if program.votes:
        del columns[SCALAR]
    else:
        alone = task.own_problem()
        launcher(task, alone, {}, {"fastmath": True, **COLUMNS[SCALAR]})()
        if alone.complaint(task.expected) is None:
            task.expected = tuple(alone.arguments[i] for i in alone.outputs)
    peers = [
        Peer(name, lambda options=options: by_weft(task, 1, folder, **options))
        for name, options in columns.items()
    ]
    return Result(program, compare(program.title, peers, rounds))


def table(results: Sequence[Result]) -> str:
    """Return how many times as long as with all parts each column takes, one line a program, as a table in Markdown."""
    columns = [name for name in COLUMNS if name != ALL]
    title = f"takes so many times as long as '{ALL}'"
    width = max(len(title), *(len(r.program.title) for r in results))
    lines = [
        f"| {title:{width}} | {' | '.join(f'{name:>6}' for name in columns)} | {ALL:>7} |",
        f"|{'-' * (width + 2)}|{'|'.join('---:' for _ in columns)}|---:|",
    ]
    for r in results:
        cells = (shown(r.speedup(ALL, name)).rjust(max(6, len(name))) for name in columns)
        taken = r.comparison.median(ALL)
        duration = "-" if taken is None else output.duration(taken)
        lines.append(f"| {r.program.title:{width}} | {' | '.join(cells)} | {duration:>7} |")
    return "\n".join(lines)


def means(results: Sequence[Result]) -> str:
    """Return the geometric means of what each step gains, over the programs of each kind, as a table in Markdown."""
    kinds = (("irregular", IRREGULAR), ("regular", REGULAR), ("all", PROGRAMS))
    lines = [
        "| geometric mean over | " + " | ".join(f"{own} / {other}" for own, other in STEPS) + " |",
        f"|---|{'|'.join('---:' for _ in STEPS)}|",
    ]
    for kind, programs in kinds:
        chosen = [r for r in results if r.program in programs]
        found = [[s for r in chosen if (s := r.speedup(*step))] for step in STEPS]
        cells = (
            shown(geometric_mean(f)).rjust(len(" / ".join(s))) for f, s in zip(found, STEPS, strict=True)
        )
        lines.append(f"| {f'{len(chosen)} {kind}':19} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure kernels with parts of vectorization left out.")
    names = [program.name for program in PROGRAMS]
    parser.add_argument("programs", nargs="*", choices=[*names, []], help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--width", type=int, help="lanes; weft chooses by default")
    options = parser.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            if not options.programs or program.name in options.programs:
                results.append(measure(program, Path(folder), options.rounds, width=options.width))
                print(output.table(results[-1].comparison), end="\n\n", flush=True)
    print(table(results))
    print(f"\n{means(results)}")
    print(f"\nfigures: {output.save('ablation', [result.comparison for result in results])}")


if __name__ == "__main__":
    main()
