"""Cases of tests with several parameters."""

import itertools
import os
from collections.abc import Sequence
from typing import Any

WHOLE = bool(os.environ.get("WEFT_FUZZ"))


def pairs(*axes: Sequence[Any], whole: bool = WHOLE) -> list[tuple[Any, ...]]:
    """Cases in which each two values of different parameters meet; all cases with ``WEFT_FUZZ``.

    Whichever two of them an error needs, some case has them. It takes about as many as the two longest axes have
    together.
    """
    every = list(itertools.product(*map(range, map(len, axes))))
    missing = {
        (a, case[a], b, case[b]) for case in every for a, b in itertools.combinations(range(len(axes)), 2)
    }

    def new(case: tuple[int, ...]) -> int:
        return sum(
            (a, case[a], b, case[b]) in missing for a, b in itertools.combinations(range(len(case)), 2)
        )

    chosen: list[tuple[int, ...]] = []
    while missing and not whole:
        best = max(every, key=new)
        chosen.append(best)
        missing -= {(a, best[a], b, best[b]) for a, b in itertools.combinations(range(len(best)), 2)}
    return [
        tuple(axis[k] for axis, k in zip(axes, case, strict=True))
        for case in (every if whole else sorted(chosen))
    ]
