"""Other orders of what a loop does: which pairs of accesses change places in them.

`DependenceTest` asks of two accesses, the second one of them d iterations later, d = 0 among them, what has to hold for
the second one to come before the first in the new order. If nothing that they both touch can be left then, for no pair
of which one writes, the loop may be done in the new order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from msgspec import Struct

from weft.analysis.sequential.accesses import Access
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.ir import BasicBlock, Instruction


class Order(Protocol):
    """Another order."""

    def turned(
        self, first: Access, second: Access, later: Callable[[Expression], Expression], distance: Expression
    ) -> tuple[Expression, ...] | None:
        """What is 0 or greater where two accesses change places, at least; None where they never do.

        Parameters
        ----------
        first, second
            The first comes before the second as the loop is written.
        later
            An expression of the second one's iteration.
        distance
            By how many iterations of the loop that is later.
        """
        ...


class Waves(Struct, frozen=True):
    """What a loop over time does in waves, of which each holds a part of several of its iterations.

    Iteration t does its parts one after the other, each a loop over rows. Row r of part k stands in wave
    ``r + shift(k) + slope * t``; within a wave things are done in their order.

    Parameters
    ----------
    places
        The parts in their order: the loop that a part is, and its row with the part's shift.
    slope
        By how many waves an iteration is later than the one before it.
    length
        So many iterations go into waves together.
    strict
        Whether iterations that share a wave may be done in any order, so that they must not depend on each other.
    """

    places: tuple[tuple[LoopContext, Expression], ...]
    slope: int
    length: int
    strict: bool = False

    def turned(
        self, first: Access, second: Access, later: Callable[[Expression], Expression], distance: Expression
    ) -> tuple[Expression, ...]:
        """What is 0 or greater where the second access is in an earlier wave; with `strict`, in none that is later."""
        parts = self._part_of(first), self._part_of(second)
        found = [distance * -1 + (self.length - 1)]
        if parts[0] is None or parts[1] is None or not parts[0] < parts[1] or self.strict:
            # Within an iteration, parts follow each other, and each goes from row to row.
            found.append(distance - 1)
        if parts[0] is not None and parts[1] is not None:
            rows = self.places[parts[0]][1] - later(self.places[parts[1]][1])
            found.append(rows - distance * self.slope - (0 if self.strict else 1))
        return tuple(found)

    def _part_of(self, access: Access) -> int | None:
        """Which part an access belongs to; None for none."""
        return next((k for k, (loop, _) in enumerate(self.places) if loop.contains(access.loop)), None)


class Together(Struct, frozen=True):
    """What a loop does, several iterations at a time: each block for all of them, and so each round of a loop inside.

    Parameters
    ----------
    places
        The number of each block, in order, and the loop inside that it is the body of, None for none.
    count
        So many iterations are done together.
    """

    places: Mapping[BasicBlock, tuple[int, LoopContext | None]]
    count: int

    def turned(
        self, first: Access, second: Access, later: Callable[[Expression], Expression], distance: Expression
    ) -> tuple[Expression, ...] | None:
        """What is 0 or greater where a block or a round of the later iteration comes before that of the earlier one."""
        found = (distance - 1, distance * -1 + (self.count - 1))
        here, there = self.places[first.block], self.places[second.block]
        if here[0] != there[0]:
            return found if here[0] > there[0] else None
        if here[1] is None:
            return None
        round = as_expression(here[1].iteration)
        return (*found, round - later(round) - 1)


class Ahead(Struct, frozen=True):
    """A group of iterations of a loop, of which all run a loop inside up to where the group begins, and then the rest.

    Iteration i runs it for j below i; what comes before it, and then what it does for j below the group's first
    iteration, comes before all that any of them does else.

    Parameters
    ----------
    before
        The blocks before the loop inside.
    inside
        The loop inside, which comes first in an iteration but for these.
    row, column
        The counters of the two.
    count
        So many iterations are a group.
    """

    before: Collection[BasicBlock]
    inside: LoopContext
    row: Expression
    column: Expression
    count: int

    def turned(
        self, first: Access, second: Access, later: Callable[[Expression], Expression], distance: Expression
    ) -> tuple[Expression, ...] | None:
        """What is 0 or greater where the second access is one of those that come first, and of a later iteration.

        The first one may be of those, too, and still come before it: that is not made use of.
        """
        if first.block in self.before:
            return None
        found = (distance - 1, distance * -1 + (self.count - 1))
        if second.block in self.before:
            return found
        if not self.inside.contains(second.loop):
            return None
        return (*found, self.row - later(self.column) - 1)


class RoundsAhead(Struct, frozen=True):
    """A group of iterations of a loop, which all do the rounds of a loop inside before the group's first one ahead.

    Parameters
    ----------
    inside
        The loop inside; iteration j runs it for k below j.
    row, column
        The counters of the two, j and k.
    count
        So many iterations are a group.
    kept
        What the loop inside does to the element that it updates, which is not done ahead.
    """

    inside: LoopContext
    row: Expression
    column: Expression
    count: int
    kept: Collection[Instruction]

    def turned(
        self, first: Access, second: Access, later: Callable[[Expression], Expression], distance: Expression
    ) -> tuple[Expression, ...] | None:
        """What is 0 or greater where the second access is done ahead, and the first one is not.

        The first one may be behind the second in its iteration: that is not made use of.
        """
        if not self.inside.contains(second.loop) or second.instruction in self.kept:
            return None
        return distance, distance * -1 + (self.count - 1), self.row - later(self.column) - 1


class Anyhow(Struct, frozen=True):
    """Any order: all pairs count."""

    def turned(
        self, first: Access, second: Access, later: Callable[[Expression], Expression], distance: Expression
    ) -> tuple[Expression, ...]:
        """Nothing has to hold."""
        return ()
