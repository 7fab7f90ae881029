"""Cases of tests with several parameters."""

import itertools
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

WHOLE = bool(os.environ.get("WEFT_FUZZ"))


class Product(list[tuple[Any, ...]]):
    """Cases whose values are chosen each for itself, other than those of a list that is written by hand."""


def pairs(*axes: Sequence[Any], whole: bool = WHOLE) -> Product:
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
    return Product(
        tuple(axis[k] for axis, k in zip(axes, case, strict=True))
        for case in (every if whole else sorted(chosen))
    )


def in_turn(values: Sequence[Any], turn: int, parts: int, whole: bool = WHOLE) -> Sequence[Any]:
    """Of values that a test goes through in each of its cases, those of one case; all of them with ``WEFT_FUZZ``.

    Cases of as many turns have every value among them, though not each of them all.
    """
    return values if whole else values[turn % parts :: parts]


def spread(cases: Sequence[Mapping[Any, Hashable]], later: Sequence[bool] = ()) -> list[int]:
    """Places of cases among which each value of each parameter is, those that no case has yet beside each other.

    It takes about as many as the longest axis has. Of several that are as new, it takes the one whose values have been
    taken least. Cases that are `later`, as this machine cannot run them, stand only for what no other case has.
    """
    taken: dict[tuple[Any, Hashable], int] = {
        (name, value): 0 for case in cases for name, value in case.items()
    }

    def new(k: int) -> int:
        return sum(not taken[item] for item in cases[k].items())

    chosen: list[int] = []
    while left := [k for k in range(len(cases)) if new(k)]:
        best = min(
            left,
            key=lambda k: (any(later[k : k + 1]), -new(k), sum(taken[item] for item in cases[k].items())),
        )
        chosen.append(best)
        for item in cases[best].items():
            taken[item] += 1
    return sorted(chosen)
