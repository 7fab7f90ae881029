"""Tables for the terminal, JSON for keeping."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec import to_builtins

from bench.harness import Comparison, Measurement, Status
from weft.cli.info import collect

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Goal:
    """Something wanted of the figures; `met` is None when a figure it needs is lacking."""

    text: str
    met: bool | None


def duration(seconds: float) -> str:
    """Return a time with three digits and the unit that suits it.

    >>> duration(0.0123), duration(1.5), duration(4.2e-6)
    ('12.3 ms', '1.50 s', '4.20 µs')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        scaled = seconds * factor
        if scaled >= 1 or unit == "µs":
            digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
            return f"{scaled:.{digits}f} {unit}"
    raise AssertionError("the last unit takes every time")


def table(comparison: Comparison) -> str:
    """Return a comparison as lines: peer, median, least and greatest, ratio to the first peer."""
    width = max(len(measurement.peer) for measurement in comparison.measurements)
    rows = (f"  {m.peer:{width}}  {_figures(comparison, m)}" for m in comparison.measurements)
    return "\n".join([comparison.title, *rows])


def goals(wanted: Sequence[Goal]) -> str:
    """Return which goals are met."""
    marks = {True: "met", False: "NOT MET", None: "not measured"}
    return "\n".join(["wanted", *(f"  {marks[goal.met]:12}  {goal.text}" for goal in wanted)])


def save(name: str, comparisons: Sequence[Comparison], wanted: Sequence[Goal] = ()) -> Path:
    """Write the figures, and what they were measured on, under `RESULTS`; return the file."""
    data = {
        "bench": name,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": to_builtins(collect()),
        "comparisons": [asdict(comparison) for comparison in comparisons],
        "goals": [asdict(goal) for goal in wanted],
    }
    file = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1))
    return file


def _figures(comparison: Comparison, measurement: Measurement) -> str:
    if measurement.status is not Status.MEASURED:
        return (
            f"{measurement.status}: {measurement.detail}" if measurement.detail else str(measurement.status)
        )
    spread = f"{duration(min(measurement.seconds))} to {duration(max(measurement.seconds))}"
    ratio = comparison.ratio(measurement.peer)
    shown = f"{ratio:8.2f} x" if ratio is not None else ""
    return f"{duration(measurement.median):>8}  {spread:22} {shown}".rstrip()
