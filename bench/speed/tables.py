"""The table of all rows: times, and how many times as fast as the fastest peer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.harness import Comparison, Status
from bench.output import Goal, duration
from bench.speed.rows import Row

DIVERGENT_MEAN = 5.0


@dataclass(frozen=True, slots=True)
class Result:
    """A row on so many threads."""

    row: Row
    threads: int
    comparison: Comparison

    @property
    def fastest(self) -> str | None:
        """The fastest peer, None when none was measured."""
        peers = [m for m in self.comparison.measurements if not m.peer.startswith("weft")]
        others = [m for m in peers if m.status is Status.MEASURED]
        return min(others, key=lambda m: m.median).peer if others else None

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the fastest peer."""
        return self.comparison.ratio(self.fastest) if self.fastest else None


def summary(results: Sequence[Result]) -> str:
    """Return one line a row as a table in Markdown, which terminals show well enough."""
    peers = [m.peer for m in results[0].comparison.measurements]
    shown = [peer for peer in peers if any(r.comparison.median(peer) is not None for r in results)]
    titles = max(len(r.row.title) for r in results)
    lines = [
        f"| {'kernel':{titles}} | threads | {' | '.join(f'{p:>8}' for p in shown)} | fastest | speedup | wanted |"
    ]
    lines.append(f"|{'-' * (titles + 2)}|---:|{'|'.join('---:' for _ in shown)}|---|---:|---:|")
    for r in results:
        times = " | ".join(f"{_time(r.comparison, peer):>8}" for peer in shown)
        ratio = f"{r.speedup:.2f}" if r.speedup else "-"
        wanted = f"{r.row.wanted:g}" if r.row.wanted and r.threads == 1 else ""
        lines.append(
            f"| {r.row.title:{titles}} | {r.threads:7} | {times} | {r.fastest or '-':7} | {ratio:>7} | {wanted:>6} |"
        )
    absent = [f"{peer} ({_reason(results, peer)})" for peer in peers if peer not in shown]
    return "\n".join([*lines, *(["", "Not measured: " + ", ".join(absent)] if absent else [])])


def compile_times(results: Sequence[Result]) -> str:
    """Return what compiling took each peer, a line a row; no time of `summary` has it in it."""
    single = [r for r in results if r.threads == results[0].threads]
    lines = ["compilation, not in the times above"]
    for r in single:
        taken = [
            f"{m.peer} {duration(m.compile_seconds)}" for m in r.comparison.measurements if m.compile_seconds
        ]
        lines.append(f"  {r.row.name:18} {', '.join(taken)}")
    return "\n".join(lines)


def goals(results: Iterable[Result]) -> list[Goal]:
    """Hold the figures on one thread against what is wanted of them."""
    single = [r for r in results if r.threads == 1]
    wanted = [
        Goal(f"{r.row.title}: {r.row.wanted:g} times the fastest peer", _reached(r.speedup, r.row.wanted))
        for r in single
        if r.row.wanted
    ]
    divergent = [r.speedup for r in single if r.row.divergent]
    mean = geometric_mean([s for s in divergent if s])
    if divergent:
        value = f" (it is {mean:.2f})" if mean else ""
        text = f"geometric mean of {DIVERGENT_MEAN:g} over {len(divergent)} divergent kernels{value}"
        wanted.append(Goal(text, _reached(mean if all(divergent) else None, DIVERGENT_MEAN)))
    return wanted


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean, None of nothing.

    >>> geometric_mean([2.0, 8.0])
    4.0
    """
    return math.prod(values) ** (1 / len(values)) if values else None


def _reached(value: float | None, wanted: float) -> bool | None:
    return None if value is None else value >= wanted


def _time(comparison: Comparison, peer: str) -> str:
    median = comparison.median(peer)
    if median is not None:
        return duration(median)
    return str(next(m.status for m in comparison.measurements if m.peer == peer))


def _reason(results: Sequence[Result], peer: str) -> str:
    return next(m.detail or str(m.status) for m in results[0].comparison.measurements if m.peer == peer)
