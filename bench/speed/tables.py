"""The table of all rows: times, and how many times as fast as the fastest peer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.harness import Comparison, Status
from bench.output import Goal, duration
from bench.speed.rows import Row

DIVERGENT_MEAN = 5.0

LOOPS_MEAN = 2.0
"""How many times as fast as the faster of `COMPILERS` loops and elementwise functions are, over the divergent ones."""

COMPILERS = ("numba", "clang")
AS_FAST = 0.95
"""What counts as another's speed: the memory's noise is no less."""


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


def ratios(results: Sequence[Result]) -> str:
    """Return how many times as fast as each peer weft is, one line a row, as a table in Markdown."""
    peers = [m.peer for m in results[0].comparison.measurements[1:]]
    title = f"{results[0].comparison.measurements[0].peer} is so many times as fast"
    width = max(len(title), *(len(r.row.title) for r in results))
    lines = [
        f"| {title:{width}} | threads | {' | '.join(f'{p:>6}' for p in peers)} |",
        f"|{'-' * (width + 2)}|---:|{'|'.join('---:' for _ in peers)}|",
    ]
    for r in results:
        cells = (shown(r.comparison.ratio(peer)).rjust(max(6, len(peer))) for peer in peers)
        lines.append(f"| {r.row.title:{width}} | {r.threads:7} | {' | '.join(cells)} |")
    for threads in sorted({r.threads for r in results}):
        means = (shown(mean_ratio(results, threads, peer)).rjust(max(6, len(peer))) for peer in peers)
        lines.append(f"| {'geometric mean':{width}} | {threads:7} | {' | '.join(means)} |")
    return "\n".join(lines)


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


def loops_goals(results: Sequence[Result], form: str) -> list[Goal]:
    """Hold the first peer of a form of loops against numba and clang."""
    wanted: list[Goal] = []
    for threads in sorted({r.threads for r in results}):
        chosen = [r for r in results if r.threads == threads]
        for r in chosen:
            ratio = r.comparison.ratio("numba")
            text = f"{form}: {r.row.title}, {on_threads(threads)}: numba's speed (it is {shown(ratio)} of it)"
            wanted.append(Goal(text, _reached(ratio, AS_FAST)))
        fastest = (
            min((x for peer in COMPILERS if (x := r.comparison.ratio(peer))), default=None)
            for r in chosen
            if r.row.divergent
        )
        mean = geometric_mean([ratio for ratio in fastest if ratio])
        text = f"{form}, {on_threads(threads)}: geometric mean of {LOOPS_MEAN:g} over the divergent ones"
        wanted.append(Goal(f"{text} (it is {shown(mean)})", _reached(mean, LOOPS_MEAN)))
    return wanted


def of_loops(results: Iterable[Result]) -> list[Result]:
    """Return the results with the loops over `prange` in the place of the kernels, where they were measured."""
    found: list[Result] = []
    for r in results:
        own, *others = (m for m in r.comparison.measurements if m.peer != "weft")
        if own.status is Status.MEASURED:
            found.append(Result(r.row, r.threads, Comparison(r.comparison.title, [own, *others])))
    return found


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean, None of nothing.

    >>> geometric_mean([2.0, 8.0])
    4.0
    """
    return math.prod(values) ** (1 / len(values)) if values else None


def mean_ratio(results: Iterable[Result], threads: int, peer: str) -> float | None:
    """Return the geometric mean of how many times as long as the first peer another takes, where it was measured."""
    found = (r.comparison.ratio(peer) for r in results if r.threads == threads)
    return geometric_mean([ratio for ratio in found if ratio])


def on_threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def shown(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _reached(value: float | None, wanted: float) -> bool | None:
    return None if value is None else value >= wanted


def _time(comparison: Comparison, peer: str) -> str:
    median = comparison.median(peer)
    if median is not None:
        return duration(median)
    return str(next(m.status for m in comparison.measurements if m.peer == peer))


def _reason(results: Sequence[Result], peer: str) -> str:
    return next(m.detail or str(m.status) for m in results[0].comparison.measurements if m.peer == peer)
