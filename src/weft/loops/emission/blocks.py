"""How the threads of a block combine what each of them has."""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.reductions import Combination
from weft.ir.types import I1, I64, IntType, Type
from weft.loops.emission.combining import Extremum, combined
from weft.loops.emission.tree import (
    Assign,
    Barrier,
    If,
    Node,
    Shared,
    Statement,
    Store,
    Variable,
    While,
    element,
    number,
)

THREADS = 256
"""Threads of a block that combine what they have."""

MOST_BLOCKS = 1024
"""So many blocks at most share a loop's iterations; one block of as many threads combines what they have."""


class Held(Struct, frozen=True):
    """A value that each thread has.

    Parameters
    ----------
    variable
        What it is called.
    identity
        What it is at first.
    start
        What it is in the program before the loop, None of what is not handed on by the program.
    shared, buffer
        The arrays that it stands in, of the threads of a block and of the blocks.
    """

    variable: Variable
    identity: Node
    start: Node | None
    shared: str
    buffer: str

    @property
    def type(self) -> Type:
        """The type of elements in which it stands: truth values are bytes there."""
        return IntType(8) if self.variable.type is I1 else self.variable.type

    @property
    def is_neutral(self) -> bool:
        """Whether what it is before the loop changes nothing."""
        start = self.start
        return (
            start is not None
            and start.op == self.identity.op == "int"
            and start.number == self.identity.number
        )

    def at(self, array: str, index: Node) -> Node:
        """What stands in an array, as the program has it."""
        found = element(array, index, self.type, self.variable.reading)
        return Node("!=", I1, (found, number(0, self.type))) if self.variable.type is I1 else found

    def put(self, array: str, index: Node, value: Node) -> Store:
        """Store it to an array."""
        if self.variable.type is I1:
            value = Node("widen", self.type, (value,), is_nonnegative=True)
        return Store(element(array, index, self.type, self.variable.reading), value)


class HeldGroup(Struct, frozen=True):
    """Values that are combined together.

    Parameters
    ----------
    values
        The values; an extremum stands first.
    combination, extremum
        How they are combined.
    place
        Of an extremum the value that says which of equal ones was first; None where that is of no account.
    is_rising
        Whether that value rises from iteration to iteration.
    is_exact
        Whether integers never leave their width.
    """

    values: tuple[Held, ...]
    combination: Combination | None
    extremum: Extremum | None = None
    place: Held | None = None
    is_rising: bool = True
    is_exact: bool = False

    def both(self, first: Node, second: Node) -> Node:
        """Two values of a scan as one, of which the first comes before the second."""
        if self.combination is not None:
            return combined(self.combination, first, second, is_exact=self.is_exact)
        assert self.extremum is not None
        sign = "<" if self.extremum.is_least else ">"
        better = Node(f"{sign}=" if self.extremum.keeps_last else sign, I1, (second, first))
        return Node("select", first.type, (better, second, first))

    def merge(self, here: Node, there: Node) -> list[Statement]:
        """Combine an element of the shared arrays with another one."""
        if self.combination is not None:
            (value,) = self.values
            both = combined(
                self.combination,
                value.at(value.shared, here),
                value.at(value.shared, there),
                is_exact=self.is_exact,
            )
            return [value.put(value.shared, here, both)]
        first = self.values[0]
        new, old = first.at(first.shared, there), first.at(first.shared, here)
        better = self._better(new, old)
        if self.place is not None:
            assert self.extremum is not None
            sign = ">" if self.extremum.keeps_last == self.is_rising else "<"
            place = self.place
            nearer = Node(sign, I1, (place.at(place.shared, there), place.at(place.shared, here)))
            same = Node("and", I1, (Node("==", I1, (new, old)), nearer))
            better = Node("or", I1, (better, same))
        return [If(better, [v.put(v.shared, here, v.at(v.shared, there)) for v in self.values])]

    def finish(self) -> list[Statement]:
        """Combine the first element of the shared arrays with what was before the loop, in the buffers' first one."""
        zero = number(0)
        if self.combination is not None:
            (value,) = self.values
            assert value.start is not None
            found = value.at(value.shared, zero)
            if not value.is_neutral:
                found = combined(self.combination, value.start, found, is_exact=self.is_exact)
            return [value.put(value.buffer, zero, found)]
        assert self.extremum is not None
        first = self.values[0]
        assert first.start is not None
        new = first.at(first.shared, zero)
        better = self._better(new, first.start)
        if self.extremum.keeps_last and self.place is not None:
            place = self.place
            is_found = Node("!=", I1, (place.at(place.shared, zero), place.identity))
            same = Node("and", I1, (Node("==", I1, (new, first.start)), is_found))
            better = Node("or", I1, (better, same))
        known = [v for v in self.values if v.start is not None]
        take = [v.put(v.buffer, zero, v.at(v.shared, zero)) for v in known]
        keep = [v.put(v.buffer, zero, v.start) for v in known if v.start is not None]
        return [If(better, list(take), list(keep))]

    def _better(self, new: Node, old: Node) -> Node:
        assert self.extremum is not None
        return Node("<" if self.extremum.is_least else ">", I1, (new, old))


def shared_arrays(groups: tuple[HeldGroup, ...], size: int) -> list[Statement]:
    """The arrays that a block needs."""
    return [Shared(v.shared, v.type, v.variable.reading, (size,)) for g in groups for v in g.values]


def combine_block(
    groups: tuple[HeldGroup, ...], thread: Variable, width: Variable, other: Variable, size: int
) -> list[Statement]:
    """Combine all elements of the shared arrays in their first ones.

    Parameters
    ----------
    thread, width, other
        The number of the thread in its block; names for numbers.
    size
        The threads of the block, a power of two.
    """
    there = Node("+", I64, (thread.node, width.node), is_nonnegative=True)
    merged: list[Statement] = [Assign(other, there)]
    merged += [s for g in groups for s in g.merge(thread.node, other.node)]
    return [
        Barrier(),
        Assign(width, number(size // 2)),
        While(
            Node(">", I1, (width.node, number(0))),
            [
                If(Node("<", I1, (thread.node, width.node)), merged),
                Barrier(),
                Assign(width, Node("//", I64, (width.node, number(2)), is_nonnegative=True)),
            ],
        ),
    ]


def scan_block(
    group: HeldGroup, thread: Variable, offset: Variable, before: Variable, size: int
) -> list[Statement]:
    """Combine each element of a shared array with all before it, in the order of threads.

    Parameters
    ----------
    thread, offset, before
        The number of the thread in its block; names for a number and for a value.
    size
        The threads of the block.
    """
    (value,) = group.values
    behind = Node(">=", I1, (thread.node, offset.node))
    there = Node("-", I64, (thread.node, offset.node), is_nonnegative=True)
    both = group.both(before.node, value.at(value.shared, thread.node))
    return [
        Barrier(),
        Assign(offset, number(1)),
        While(
            Node("<", I1, (offset.node, number(size))),
            [
                Assign(before, value.identity),
                If(behind, [Assign(before, value.at(value.shared, there))]),
                Barrier(),
                value.put(value.shared, thread.node, both),
                Barrier(),
                Assign(offset, Node("*", I64, (offset.node, number(2)), is_nonnegative=True)),
            ],
        ),
    ]
