"""The width that weft chooses, beside the others, and what it measures: how much longer they take than the best."""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import output
from bench.harness import Comparison, Peer, Prepared, Status, compare
from bench.speed.peers import Loops, Task, by_weft, by_weft_jit
from bench.speed.rows import Row
from bench.speed.tables import geometric_mean
from weft.runtime.tuning import MEASURE

WIDTHS = (1, 4, 8, 16, 32, 64)
CHOSEN, TUNED = "chosen", "tuned"


def option() -> argparse.ArgumentParser:
    """Return the option that asks for widths, for the command lines of benches."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--widths",
        action="store_true",
        help="compare the widths of weft, not the peers; with --tune that, too",
    )
    return parser


def run(name: str, rows: Sequence[Row], options: argparse.Namespace, loops: Callable[[Task], Loops]) -> None:
    """Compare the widths of the kernels and the loops that were asked for; print and keep the table."""
    clock = time.thread_time if options.cpu_time else time.perf_counter
    measured: list[Comparison] = []
    tuned = options.tune is not None
    for row in (row for row in rows if not options.rows or row.name in options.rows):
        task = Task.of(row)
        task.clock = clock
        measured += [compared(task, form, loops, options.rounds, tuned) for form in ("kernel", "prange")]
    print(table(measured))
    print(f"\nfigures: {output.save(f'{name}-widths', measured)}")


def compared(
    task: Task, form: str, loops: Callable[[Task], Loops], rounds: int, tuned: bool = False
) -> Comparison:
    """Measure one form of a row at the width chosen, perhaps at the one `tuned`, and at all others, on one thread."""
    tasks = {
        CHOSEN: task,
        **({TUNED: dataclasses.replace(task, tune=MEASURE)} if tuned else {}),
        **{str(width): dataclasses.replace(task, width=width) for width in WIDTHS},
    }

    def prepared(own: Task, folder: Path) -> Prepared:
        return by_weft(own, 1, folder) if form == "kernel" else by_weft_jit(own, 1, folder, loops)

    with tempfile.TemporaryDirectory() as folder:
        peers = [Peer(name, lambda own=own: prepared(own, Path(folder))) for name, own in tasks.items()]
        return compare(f"{task.row.title}, {form}", peers, rounds)


def table(comparisons: Sequence[Comparison]) -> str:
    """How many times as long as the best width each takes, the least of its rounds; a line a form, in Markdown."""
    title = "takes so many times as long as the best"
    size = max(len(title), *(len(c.title) for c in comparisons))
    tuned = any(m.peer == TUNED for c in comparisons for m in c.measurements)
    names = (CHOSEN, *([TUNED] if tuned else []), *map(str, WIDTHS))
    lines = [
        f"| {title:{size}} |   lanes | {' | '.join(f'{name:>6}' for name in names)} |",
        f"|{'-' * (size + 2)}|{'|'.join('---:' for _ in ('lanes', *names))}|",
    ]
    losses: dict[str, list[float]] = {CHOSEN: [], TUNED: []}
    for c in comparisons:
        measured = {m.peer: m for m in c.measurements if m.status is Status.MEASURED}
        best = min((m.least for m in measured.values()), default=1.0)
        for name, own in losses.items():
            if name in measured:
                own.append(measured[name].least / best)
        width = measured[CHOSEN].detail if CHOSEN in measured else ""
        cells = (f"{measured[n].least / best:6.2f}" if n in measured else "     -" for n in names)
        lines.append(f"| {c.title:{size}} | {width:>7} | {' | '.join(cells)} |")
    means = {name: geometric_mean(own) for name, own in losses.items()}
    told = (f"geometric mean of what was {name}: {mean:.3f}" for name, mean in means.items() if mean)
    return "\n".join([*lines, "", *told])
