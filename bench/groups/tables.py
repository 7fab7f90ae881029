"""What is wanted of the ratios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.groups.rows import GroupRow
from bench.output import Goal
from bench.speed.tables import Result, mean_ratio, on_threads, shown

MEANS = {"PoCL": 2.0, "Intel": 1.3}
"""How many times as fast as an OpenCL runtime, as the geometric mean over all rows."""

TWO_THREADS = 1.85
"""How many times as fast as one thread two are, where computing takes the time."""


def goals(results: Sequence[Result], *, scaling: bool) -> list[Goal]:
    """Hold the figures against what is wanted; `scaling` says whether times on one thread and two compare."""
    wanted = []
    for runtime, least in MEANS.items():
        for threads in sorted({r.threads for r in results}):
            mean = mean_ratio(results, threads, runtime)
            text = (
                f"geometric mean of {least:g} over {runtime} on {on_threads(threads)} (it is {shown(mean)})"
            )
            wanted.append(Goal(text, None if mean is None else mean >= least))
        for r in results:
            ratio = r.comparison.ratio(runtime)
            text = f"{r.row.title}, {on_threads(r.threads)}: as fast as {runtime} ({shown(ratio)})"
            wanted.append(Goal(text, None if ratio is None else ratio >= 1))
    return [*wanted, *(_scaling(results) if scaling else [])]


def _scaling(results: Sequence[Result]) -> Iterable[Goal]:
    times = {(r.row.name, r.threads): r.comparison.median("weft") for r in results}
    for r in results:
        assert isinstance(r.row, GroupRow)
        if r.row.compute_bound and r.threads == 1:
            one, two = times[r.row.name, 1], times.get((r.row.name, 2))
            ratio = one / two if one and two else None
            text = f"{r.row.title}: two threads {TWO_THREADS:g} times as fast as one ({shown(ratio)})"
            yield Goal(text, None if ratio is None else ratio >= TWO_THREADS)
