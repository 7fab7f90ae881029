"""Which stages of a program are run where not all of them are: ``WEFT_CHECK=8`` runs about every eighth.

The last stage is among them, or machine code is compared in its place, and the first or the one behind it, so that
whatever a pass gets wrong and no other one puts right is seen. Which ones are between depends on the program, so that
many programs leave no pass out, and on how often it has been run before: a program that runs as many times as the step
says has run all of its stages. Once two stages differ, all are run, to name the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from zlib import crc32

from weft.check.prepare import PreparedStage
from weft.diag.errors import MiscompilationError

AnyStage = TypeVar("AnyStage", bound=PreparedStage[Any])
Result = TypeVar("Result")


def sample(stages: Sequence[AnyStage], step: int, turn: int = 0, last: bool = True) -> Sequence[AnyStage]:
    """The stages to run: every `step`-th, from where the program's text and the turn say, and the last if asked for."""
    if step <= 1 or len(stages) <= 2:
        return stages
    begin = (crc32(stages[0].stage.text.encode()) + turn) % step
    # What the front end makes takes most steps.
    first, end = min(begin, 1), len(stages) - 1
    chosen = [k for k in range(end) if k == first or (k > first and k % step == begin)]
    if last or end % step == begin or len(chosen) == 1:
        chosen.append(end)
    return [stages[k] for k in chosen]


def run_sampled(
    stages: Sequence[AnyStage],
    step: int,
    run: Callable[[Sequence[AnyStage]], Result],
    turn: int = 0,
    last: bool = True,
) -> Result:
    """Run some stages, and all of them where these differ.

    Parameters
    ----------
    stages
        The stages, in their order.
    step
        About every how many one is run.
    run
        Runs and compares some of them.
    turn
        How often they have been run before.
    last
        Whether the last one is among them in any case.

    Raises
    ------
    MiscompilationError
        Of the first stage that differs.
    """
    chosen = sample(stages, step, turn, last)
    try:
        return run(chosen)
    except MiscompilationError:
        if len(chosen) < len(stages):
            run(stages)
        raise
