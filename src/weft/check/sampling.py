"""Which stages of a program are run where not all of them are: ``WEFT_CHECK=4`` runs about every fourth.

The last stage is among them, and the first or the one behind it, so that whatever a pass gets wrong and no other one
puts right is seen. Which ones are between depends on the program, so that many programs leave no pass out, and on how
often it has been run before: a program that runs as many times as the step says has run all of its stages. Once two
stages differ, all are run, to name the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from zlib import crc32

from weft.check.prepare import PreparedStage
from weft.diag.errors import MiscompilationError

AnyStage = TypeVar("AnyStage", bound=PreparedStage[Any])
Result = TypeVar("Result")


def sample(stages: Sequence[AnyStage], step: int, turn: int = 0) -> Sequence[AnyStage]:
    """The stages to run: the last, and every `step`-th before it, from where the program's text and the turn say."""
    if step <= 1 or len(stages) <= 2:
        return stages
    begin = (crc32(stages[0].stage.text.encode()) + turn) % step
    # What the front end makes takes most steps.
    first, last = min(begin, 1), len(stages) - 1
    return [
        stage for k, stage in enumerate(stages) if k in (first, last) or (k > first and k % step == begin)
    ]


def run_sampled(
    stages: Sequence[AnyStage], step: int, run: Callable[[Sequence[AnyStage]], Result], turn: int = 0
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

    Raises
    ------
    MiscompilationError
        Of the first stage that differs.
    """
    chosen = sample(stages, step, turn)
    try:
        return run(chosen)
    except MiscompilationError:
        if len(chosen) < len(stages):
            run(stages)
        raise
