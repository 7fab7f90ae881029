"""A pass as a small declared thing: what it is called, needs and promises, and a function.

A pass works on a *unit*: a module with the function at hand, and what else passes of its kind need. Lists of passes
are tuples, in the order in which they run; a pass that runs other passes on parts of the unit names their list in
`Pass.parts`, so that a list says all that happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from weft.ir import Function, Module


class Unit(Protocol):
    """What passes work on; a unit has more than this, as its passes need."""

    @property
    def module(self) -> Module:
        """The program."""
        ...

    @property
    def function(self) -> Function:
        """The function at hand."""
        ...


UnitT = TypeVar("UnitT", contravariant=True)


class Meaning(Enum):
    """Under which semantics the program behind a pass does what the one before it did (Moll, §3.6)."""

    FR = "FR"
    """As the source means it: passive threads keep what they have (freezing)."""
    BOTH = "FR, OBL"
    """Also where passive threads get ⊤ (oblivious)."""
    SCALAR = "scalar"
    """The program is plain LLVM IR for one thread: lanes are elements of its vectors."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What is true of a unit between two passes.

    Parameters
    ----------
    name
        How lists and errors call it.
    words
        What it says.
    holds
        Finds out whether it is true of a unit.
    """

    name: str
    words: str
    holds: Callable[[Any], bool] = field(default=lambda unit: True, compare=False)


@dataclass(frozen=True, slots=True)
class Pass(Generic[UnitT]):
    """A pass.

    Parameters
    ----------
    name
        How lists, remarks and errors call it; words joined by spaces.
    promise
        What holds behind it, in words.
    run
        Does it, in place; False where it found nothing to do.
    meaning
        Under which semantics it keeps what the program does.
    requires
        What must hold before.
    provides
        What holds behind it.
    optional
        Whether a program that lacks it is right, only slower.
    applies
        Whether there is something to do for a unit, if that depends on it.
    parts
        The passes that it runs on parts of the unit.
    source
        The paper and section it comes from.
    """

    name: str
    promise: str
    run: Callable[[UnitT], bool | None]
    meaning: Meaning = Meaning.FR
    requires: tuple[Fact, ...] = ()
    provides: tuple[Fact, ...] = ()
    optional: bool = False
    applies: Callable[[UnitT], bool] = lambda unit: True
    parts: tuple[Pass[Any], ...] = ()
    source: str = ""

    @property
    def flag(self) -> str:
        """The name as it is written in commands."""
        return self.name.replace(" ", "-")


@dataclass(frozen=True, slots=True)
class PassList:
    """Passes in the order in which they run, on units of one kind.

    Parameters
    ----------
    name, about
        What the list is for.
    passes
        The passes.
    """

    name: str
    about: str
    passes: tuple[Pass[Any], ...]

    def __iter__(self) -> Iterator[Pass[Any]]:
        return iter(self.passes)

    def split_behind(self, last: Pass[Any]) -> tuple[tuple[Pass[Any], ...], tuple[Pass[Any], ...]]:
        """The passes up to `last`, and those behind it."""
        at = self.passes.index(last) + 1
        return self.passes[:at], self.passes[at:]

    def walk(self) -> Iterator[tuple[int, Pass[Any]]]:
        """All passes, those included that others run, with how deep they are nested."""
        yield from _walk(self.passes, 0)


def _walk(passes: Sequence[Pass[Any]], depth: int) -> Iterator[tuple[int, Pass[Any]]]:
    for each in passes:
        yield depth, each
        yield from _walk(each.parts, depth + 1)
