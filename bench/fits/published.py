"""The rows of the published tables, on which nothing is fitted: times under the constants and under the guesses."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from bench.ablation_rows import PROGRAMS
from bench.fits.codes import under
from bench.groups.peers import by_weft as by_launches
from bench.harness import Comparison, Peer, Prepared, Status, compare
from bench.speed.peers import Task, by_weft, by_weft_jit
from bench.speed.rows import ROWS
from weft.costs.constants import Constants
from weft.cuda import build as kernels
from weft.loops import build as loops


def published(names: Collection[str]) -> Iterator[tuple[str, Task, Callable[..., Prepared]]]:
    """Yield the rows: what they are called, the task, and weft at it."""
    for program in PROGRAMS:
        if not names or program.name in names:
            yield program.title, Task.of(program.row()), by_launches
    for row in ROWS:
        if not names or row.name in names:
            yield f"{row.title}, kernel", Task.of(row), by_weft
            yield f"{row.title}, loops", Task.of(row), by_weft_jit


def compared(task: Task, by: Callable[..., Prepared], guessed: Constants, rounds: int) -> Comparison | None:
    """Return a row under the guesses and under the constants as they are; None where that is the same code."""
    task.clock = time.thread_time
    texts: dict[str, list[str]] = {"guesses": [], "fits": []}

    def prepare(name: str, constants: Constants | None) -> Prepared:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.enter_context(mock.patch.dict(os.environ, {"WEFT_CACHE": "0"}))
            stack.enter_context(under(constants))
            for module in (kernels, loops):
                stack.enter_context(mock.patch.object(module, "lower", _heard(module.lower, texts[name])))
            return by(task, 1, folder)

    prepared = {"guesses": prepare("guesses", guessed), "fits": prepare("fits", None)}
    if texts["guesses"] == texts["fits"]:
        return None
    return compare("", [Peer(name, partial(_given, p)) for name, p in prepared.items()], rounds)


def _given(prepared: Prepared) -> Prepared:
    return prepared


def _heard(lower: Callable[..., Any], texts: list[str]) -> Callable[..., Any]:
    """Return a function that lowers, and notes what comes out."""

    def heard(*arguments: Any) -> Any:
        made = lower(*arguments)
        texts.append(made[0].text)
        return made

    return heard


def line(title: str, comparison: Comparison | None) -> str:
    """Return what became of a row."""
    if comparison is None:
        return f"{title:70} the same code"
    guesses, fits = comparison.measurements
    for measurement in (guesses, fits):
        if measurement.status is not Status.MEASURED:
            return f"{title:70} {measurement.peer}: {measurement.status}: {measurement.detail}"
    least = min(fits.seconds) / min(guesses.seconds)
    return f"{title:70} {fits.median / guesses.median:.2f} of the guesses' time, {least:.2f} of the least"
