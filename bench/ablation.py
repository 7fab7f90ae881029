"""What each part of vectorization is worth: a program a row, a way to compile it a column.

The columns are those of Karrenberg and Hack's Table 1 (2012), or of Moll (2021), who compares if-conversion of all
branches (§8), partial linearization (`RV`) and the same with BOSCC gadgets (`nab/rv` and `nab/boscc` in Fig. 13.1,
§13.2).

All columns run the same kernel, in lane groups of the same width but for the scalar one, whose result, vouched for by
NumPy or SciPy, is what the others have to give.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Collection, Sequence
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

CONFIGURATIONS: dict[str, dict[str, Any]] = {
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


@dataclass(frozen=True, slots=True)
class Columns:
    """What a table shows.

    Parameters
    ----------
    shown
        The configuration of each column, by what the column is called; the last one is what all are held against.
    steps
        Columns, and what each is held against in the table of means.
    """

    shown: dict[str, str]
    steps: tuple[tuple[str, str], ...]


COLUMNS = {
    "karrenberg": Columns(
        {name: name for name in CONFIGURATIONS},
        (
            ("naive", SCALAR),
            ("UniVal", "naive"),
            ("BOSCC", "UniVal"),
            ("BOSCC on", "UniVal"),
            ("UniCF", "UniVal"),
            (ALL, "UniCF"),
            (ALL, SCALAR),
        ),
    ),
    "moll": Columns(
        {SCALAR: SCALAR, "if-converted": "UniVal", "RV": "UniCF", "RV+BOSCC": ALL},
        (
            ("if-converted", SCALAR),
            ("RV", "if-converted"),
            ("RV+BOSCC", "RV"),
            ("RV", SCALAR),
            ("RV+BOSCC", SCALAR),
        ),
    ),
}
"""By the author whose columns they are."""


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
    program: Program,
    folder: Path,
    rounds: int = ROUNDS,
    size: int | None = None,
    width: int | None = None,
    wanted: Collection[str] = tuple(CONFIGURATIONS),
) -> Result:
    """Measure a program in the configurations that are wanted, which take turns, by CPU time on one thread."""
    task = Task.of(program.row(size))
    task.width, task.clock = width, time.thread_time
    columns = {name: options for name, options in CONFIGURATIONS.items() if name in wanted}
    if program.votes:
        columns.pop(SCALAR, None)
    else:
        alone = task.own_problem()
        launcher(task, alone, {}, {"fastmath": True, **CONFIGURATIONS[SCALAR]})()
        if alone.complaint(task.expected) is None:
            task.expected = tuple(alone.arguments[i] for i in alone.outputs)
    peers = [
        Peer(name, lambda options=options: by_weft(task, 1, folder, **options))
        for name, options in columns.items()
    ]
    return Result(program, compare(program.title, peers, rounds))


def table(results: Sequence[Result], columns: Columns) -> str:
    """Return how many times as long as the last column each takes, one line a program, as a table in Markdown."""
    *others, last = columns.shown
    title = f"takes so many times as long as '{last}'"
    width = max(len(title), *(len(r.program.title) for r in results))
    lines = [
        f"| {title:{width}} | {' | '.join(f'{name:>6}' for name in others)} | {last:>7} |",
        f"|{'-' * (width + 2)}|{'|'.join('---:' for _ in others)}|---:|",
    ]
    full = columns.shown[last]
    for r in results:
        cells = (shown(r.speedup(full, columns.shown[name])).rjust(max(6, len(name))) for name in others)
        taken = r.comparison.median(full)
        duration = "-" if taken is None else output.duration(taken)
        lines.append(f"| {r.program.title:{width}} | {' | '.join(cells)} | {duration:>7} |")
    return "\n".join(lines)


def means(results: Sequence[Result], columns: Columns) -> str:
    """Return the geometric means of what each step gains, over the programs of each kind, as a table in Markdown."""
    kinds = (("irregular", IRREGULAR), ("regular", REGULAR), ("all", PROGRAMS))
    lines = [
        "| geometric mean over | " + " | ".join(f"{own} / {other}" for own, other in columns.steps) + " |",
        f"|---|{'|'.join('---:' for _ in columns.steps)}|",
    ]
    for kind, programs in kinds:
        chosen = [r for r in results if r.program in programs]
        steps = [(columns.shown[own], columns.shown[other]) for own, other in columns.steps]
        found = [[s for r in chosen if (s := r.speedup(*step))] for step in steps]
        cells = (
            shown(geometric_mean(f)).rjust(len(" / ".join(s)))
            for f, s in zip(found, columns.steps, strict=True)
        )
        lines.append(f"| {f'{len(chosen)} {kind}':19} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure kernels with parts of vectorization left out.")
    names = [program.name for program in PROGRAMS]
    parser.add_argument("programs", nargs="*", choices=[*names, []], help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--width", type=int, help="lanes; weft chooses by default")
    parser.add_argument(
        "--columns", nargs="+", choices=COLUMNS, default=["karrenberg"], help="default: karrenberg"
    )
    options = parser.parse_args()
    tables = [COLUMNS[name] for name in options.columns]
    wanted = {name for columns in tables for name in columns.shown.values()}
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            if not options.programs or program.name in options.programs:
                results.append(
                    measure(program, Path(folder), options.rounds, width=options.width, wanted=wanted)
                )
                print(output.table(results[-1].comparison), end="\n\n", flush=True)
    for columns in tables:
        print(f"{table(results, columns)}\n\n{means(results, columns)}\n")
    print(f"figures: {output.save('ablation', [result.comparison for result in results])}")


if __name__ == "__main__":
    main()
