"""How a report names things and places: what differs between source code and LLVM text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from msgspec import Struct

from weft.ir import BasicBlock, Function, Instruction, Value


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int


class NamedValue(Struct, frozen=True):
    """A value under the name that the user knows it by."""

    name: str
    value: Value
    line: int | None


class SourceRange(Struct, frozen=True):
    """Lines of a file that belong to one function, the last included."""

    title: str
    file: str
    first: int
    last: int


class SourceMap(Protocol):
    """Names and places of what is in a function."""

    def place(self, instruction: Instruction) -> Place | None:
        """Where an instruction stands."""
        ...

    def named_values(self, function: Function) -> Iterator[NamedValue]:
        """The values to list, in the order of the program."""
        ...

    def value_name(self, value: Value) -> str | None:
        """The user's name of a value, None for intermediate results."""
        ...

    def object_name(self, site: Value) -> str:
        """The name of a stack object."""
        ...

    def object_line(self, site: Value) -> int | None:
        """Where a stack object is declared."""
        ...

    def ranges(self, function: Function) -> tuple[SourceRange, ...]:
        """The lines to show: the function's own first, then those of functions inlined into it."""
        ...

    def text(self, place: Place) -> str:
        """A line without its line end; empty if it cannot be found."""
        ...

    def signature(self, function: Function) -> str:
        """Its parameters for people, in parentheses."""
        ...


def block_line(source: SourceMap, block: BasicBlock) -> int | None:
    """The line of a block: that of its branch, else that of its first instruction with a place."""
    for instruction in (block.terminator, *block.instructions):
        place = source.place(instruction)
        if place is not None:
            return place.line
    return None


def block_name(block: BasicBlock) -> str:
    """LLVM's name of a block; an unnamed one is called by its position."""
    if block.name or block.function is None:
        return block.name
    return str(block.function.blocks.index(block))
