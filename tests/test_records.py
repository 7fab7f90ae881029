"""Data classes of the project behave as those of the standard library do, but for being frozen at run time."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from weft.records import dataclass as light


def classes(make: Callable[..., Any]) -> list[type]:
    @make(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        note: str = dataclasses.field(default="", compare=False, repr=False)

    @make(slots=True)
    class Mutable:
        parts: list[int] = dataclasses.field(default_factory=list)

    @make(frozen=True, slots=True)
    class Empty:
        pass

    @make(slots=True, eq=False)
    class ByIdentity:
        x: int = 0

    @make(frozen=True, slots=True)
    class WithItsOwn:
        x: int = 0

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    @make(frozen=True, slots=True)
    class Derived(Point):
        z: int = 5

    return [Point, Mutable, Empty, ByIdentity, WithItsOwn, Derived]


@pytest.mark.parametrize("index", range(6))
def test_classes_are_made_as_by_the_standard_library(index: int) -> None:
    ours, theirs = classes(light)[index], classes(dataclasses.dataclass)[index]
    arguments = [(1,), (1, 3), (1, 2, "n")] if index in (0, 5) else [()]
    for a in arguments:
        assert repr(ours(*a)) == repr(theirs(*a))
        for b in arguments:
            assert (ours(*a) == ours(*b)) == (theirs(*a) == theirs(*b))
            if theirs.__hash__ is not None:
                assert (hash(ours(*a)) == hash(ours(*b))) == (
                    hash(theirs(*a)) == hash(theirs(*b))
                ) or index == 3
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert ours.__slots__ == theirs.__slots__


@light(frozen=True, slots=True)
class Pair:
    first: int
    second: tuple[int, ...] = ()


def test_objects_are_copied_replaced_and_pickled() -> None:
    pair = Pair(1, (2, 3))
    assert copy.deepcopy(pair) == pair == pickle.loads(pickle.dumps(pair))
    assert dataclasses.replace(pair, first=4) == Pair(4, (2, 3))
    assert {pair: 1}[Pair(1, (2, 3))] == 1
