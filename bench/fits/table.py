"""The times of all codes that were made of the programs, on one level; kept in a file, and added to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.fits.codes import Code, measure
from bench.fits.program import Program
from bench.output import RESULTS


@dataclass(slots=True)
class Table:
    """Times of codes, as multiples of that of the program's first code.

    Parameters
    ----------
    level
        The instruction set level.
    times, labels
        Of each program, by the key of the code.
    """

    level: str
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return RESULTS / f"fits-{self.level}.json"

    @classmethod
    def kept(cls, level: str) -> Table:
        """Return the table as it was left, or an empty one."""
        table = cls(level)
        if table.file.exists():
            kept = json.loads(table.file.read_text())
            table.times, table.labels = kept["times"], kept["labels"]
        return table

    def save(self) -> None:
        """Keep it."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({"times": self.times, "labels": self.labels}, indent=1))

    def add(self, program: Program, codes: Sequence[Code], rounds: int) -> None:
        """Measure those that are new, beside the first one of all."""
        times = self.times.setdefault(program.name, {})
        labels = self.labels.setdefault(program.name, {})
        first = codes[0]
        wanted = {code.key: code for code in reversed(codes) if code.key not in times}
        wanted.pop(first.key, None)
        if not wanted and first.key in times:
            return
        measured = [first, *wanted.values()]
        seconds = measure(program, measured, rounds)
        for code, taken in zip(measured, seconds, strict=True):
            times.setdefault(code.key, taken / seconds[0])
            labels.setdefault(code.key, code.label)

    def loss(self, program: Program, key: str) -> float:
        """Return how many times as long as the best code of a program one takes."""
        times = self.times[program.name]
        return times[key] / min(times.values())

    def widths(self, program: Program) -> dict[int, float]:
        """Return the times at each width."""
        labels = self.labels[program.name]
        of = {label: self.times[program.name][key] for key, label in labels.items()}
        return {int(label.split()[1]): time for label, time in of.items() if label.startswith("width ")}

    def line(self, program: Program) -> str:
        """Return the times of the codes of a program over that of the fastest."""
        labels = self.labels[program.name]
        return f"{program.name:18} " + ", ".join(f"{labels[k]} {self.loss(program, k):.2f}" for k in labels)
