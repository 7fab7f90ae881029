"""The width that weft chooses, beside the others: how much longer it takes than the best of them."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.harness import Comparison, Peer, Prepared, Status, compare
from bench.speed.peers import Task, by_weft, by_weft_jit
from bench.speed.rows import Row
from bench.speed.tables import geometric_mean
from bench.suite.rows import loops_of

WIDTHS = (1, 4, 8, 16, 32, 64)
CHOSEN = "chosen"

_FORMS: dict[str, Callable[[Task, Path], Prepared]] = {
    "kernel": lambda task, folder: by_weft(task, 1, folder),
    "prange": lambda task, folder: by_weft_jit(task, 1, folder, loops_of),
}


def compared(row: Row, form: str, clock: Callable[[], float], rounds: int) -> Comparison:
    """Measure one form of a row at the width chosen, and at all others, by turns on one thread."""
    task = Task.of(row)
    task.clock = clock
    tasks = {CHOSEN: task, **{str(width): dataclasses.replace(task, width=width) for width in WIDTHS}}
    with tempfile.TemporaryDirectory() as folder:
        peers = [Peer(name, lambda own=own: _FORMS[form](own, Path(folder))) for name, own in tasks.items()]
        return compare(f"{row.title}, {form}", peers, rounds)


def both(row: Row, clock: Callable[[], float], rounds: int) -> list[Comparison]:
    """Compare the widths of the kernel, and of the loop."""
    return [compared(row, form, clock, rounds) for form in _FORMS]


def table(comparisons: Sequence[Comparison]) -> str:
    """Return how many times as long as the best width each takes, one line a form of a row, in Markdown."""
    title = "takes so many times as long as the best"
    size = max(len(title), *(len(c.title) for c in comparisons))
    names = (CHOSEN, *map(str, WIDTHS))
    lines = [
        f"| {title:{size}} | {' | '.join(f'{name:>6}' for name in names)} |",
        f"|{'-' * (size + 2)}|{'|'.join('---:' for _ in names)}|",
    ]
    losses: list[float] = []
    for c in comparisons:
        medians = {m.peer: m.median for m in c.measurements if m.status is Status.MEASURED}
        best = min(medians.values(), default=1.0)
        if CHOSEN in medians:
            losses.append(medians[CHOSEN] / best)
        cells = (f"{medians[n] / best:6.2f}" if n in medians else "     -" for n in names)
        lines.append(f"| {c.title:{size}} | {' | '.join(cells)} |")
    mean = geometric_mean(losses)
    return "\n".join([*lines, "", f"geometric mean of what was chosen: {mean:.3f}" if mean else ""])
