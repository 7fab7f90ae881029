"""Every example gives its result in each of eight Python threads that launch at the same time.

The first round compiles, so that compilations meet, too. With ``WEFT_FUZZ`` there are `ROUNDS` rounds.
"""

import functools
import importlib
import os
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from at_once import at_once
from examples.irregular.__main__ import problems_of
from examples.tiny import IRREGULAR, WORKGROUPS
from examples.workgroups import kmeans, smith_waterman
from weft import cuda

ROUNDS = 1_000 if os.environ.get("WEFT_FUZZ") else 1


def remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays that computes a result only once."""
    known: dict[tuple[bytes, ...], Any] = {}

    def answer(*arrays: np.ndarray) -> Any:
        key = tuple(a.tobytes() for a in arrays)
        if key not in known:
            known[key] = function(*arrays)
        return known[key]

    return answer


def run_problems(name: str) -> None:
    for problem in problems_of(name, IRREGULAR[name]):
        problem.launch()
        assert problem.complaint(problem.expected()) is None, name


def tasks() -> list[Callable[[], None]]:
    mains = [
        functools.partial(importlib.import_module(f"examples.workgroups.{name}").main, size)
        for name, size in WORKGROUPS.items()
    ]
    return [*mains, *(functools.partial(run_problems, name) for name in IRREGULAR)]


def run_in_some_order(tasks: Sequence[Callable[[], None]], round: int, thread: int) -> None:
    for task in random.Random(f"{round} {thread}").sample(tasks, len(tasks)):
        task()


@pytest.fixture
def _as_if_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, names in (("workgroups", WORKGROUPS), ("irregular", IRREGULAR)):
        for name in names:
            for kernel in vars(importlib.import_module(f"examples.{kind}.{name}")).values():
                if isinstance(kernel, cuda.Kernel):
                    monkeypatch.setattr(kernel, "overloads", {})
                    monkeypatch.setattr(kernel._specializations, "made", {})


@pytest.mark.slow
@pytest.mark.usefixtures("_as_if_never_compiled")
def test_all_examples_give_their_results_in_threads_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    # These take much longer than what they judge.
    for module in (kmeans, smith_waterman):
        monkeypatch.setattr(module, "by_numpy", remembering(module.by_numpy))
    every = tasks()
    for round in range(ROUNDS):
        outcomes = at_once(functools.partial(run_in_some_order, every, round))
        assert outcomes == [None] * 8, f"round {round}"
        capsys.readouterr()
