"""The table of ratios, and what is wanted of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.groups.rows import GroupRow
from bench.output import Goal
from bench.speed.tables import Result, geometric_mean

MEANS = {"PoCL": 2.0, "Intel": 1.3}
"""How many times as fast as an OpenCL runtime, as the geometric mean over all rows."""

TWO_THREADS = 1.85
"""How many times as fast as one thread two are, where computing takes the time."""


def ratios(results: Sequence[Result]) -> str:
    """Return how many times as fast as each peer weft is, one line a row, as a table in Markdown."""
    peers = [m.peer for m in results[0].comparison.measurements[1:]]
    title = "weft is so many times as fast"
    width = max(len(title), *(len(r.row.title) for r in results))
    lines = [
        f"| {title:{width}} | threads | {' | '.join(f'{p:>6}' for p in peers)} |",
        f"|{'-' * (width + 2)}|---:|{'|'.join('---:' for _ in peers)}|",
    ]
    for r in results:
        cells = (_shown(r.comparison.ratio(peer)).rjust(max(6, len(peer))) for peer in peers)
        lines.append(f"| {r.row.title:{width}} | {r.threads:7} | {' | '.join(cells)} |")
    for threads in sorted({r.threads for r in results}):
        means = (_shown(_mean(results, threads, peer)).rjust(max(6, len(peer))) for peer in peers)
        lines.append(f"| {'geometric mean':{width}} | {threads:7} | {' | '.join(means)} |")
    return "\n".join(lines)


def goals(results: Sequence[Result], *, scaling: bool) -> list[Goal]:
    """Hold the figures against what is wanted; `scaling` says whether times on one thread and two compare."""
    wanted = []
    for runtime, least in MEANS.items():
        for threads in sorted({r.threads for r in results}):
            mean = _mean(results, threads, runtime)
            text = f"geometric mean of {least:g} over {runtime} on {_threads(threads)} (it is {_shown(mean)})"
            wanted.append(Goal(text, None if mean is None else mean >= least))
        for r in results:
            ratio = r.comparison.ratio(runtime)
            text = f"{r.row.title}, {_threads(r.threads)}: as fast as {runtime} ({_shown(ratio)})"
            wanted.append(Goal(text, None if ratio is None else ratio >= 1))
    return [*wanted, *(_scaling(results) if scaling else [])]


def _scaling(results: Sequence[Result]) -> Iterable[Goal]:
    times = {(r.row.name, r.threads): r.comparison.median("weft") for r in results}
    for r in results:
        assert isinstance(r.row, GroupRow)
        if r.row.compute_bound and r.threads == 1:
            one, two = times[r.row.name, 1], times.get((r.row.name, 2))
            ratio = one / two if one and two else None
            text = f"{r.row.title}: two threads {TWO_THREADS:g} times as fast as one ({_shown(ratio)})"
            yield Goal(text, None if ratio is None else ratio >= TWO_THREADS)


def _mean(results: Sequence[Result], threads: int, peer: str) -> float | None:
    found = (r.comparison.ratio(peer) for r in results if r.threads == threads)
    return geometric_mean([ratio for ratio in found if ratio])


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _shown(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"
