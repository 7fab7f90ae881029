"""The fewest shuffles that take structures apart, or put them together, where each works on halves of registers.

A place among all registers is a row of bits: the number of the register, the half, and the element in that. Shuffles
of two registers whose numbers differ in one bit exchange that bit with others:

========  ==========================================================================================
exchange  with the half: the lower halves of both, the upper halves of both (``vperm2i128``)
zip       it becomes the lowest bit of the element, whose highest one it becomes (``vpunpcklbw`` …)
unzip     the other way around (``vshufps``, elements of 32 bits and more)
========  ==========================================================================================

Structures are apart where a register's number is the unit, and its elements are lanes. Which registers are which does
not matter. What leads there is found by looking at all rows of bits in the order of the steps that lead to them.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from msgspec import Struct

MOST_BITS = 7
"""Of a place: there are as many rows as permutations of its bits."""

_SHUFFLED_FREELY = 32


class Kind(Enum):
    """What a step does."""

    EXCHANGE = "exchange"
    ZIP = "zip"
    UNZIP = "unzip"


Step = tuple[Kind, int]
"""A kind of shuffles, and the bit of a register's number."""

_Row = tuple[int, ...]
"""Which bit is at each place: of elements, from the lowest on, then of registers' numbers."""


class Steps(Struct, frozen=True):
    """Steps one after the other.

    Parameters
    ----------
    steps
        The steps.
    bits
        Which bit of the number that is wanted each bit of a register's number is behind them.
    """

    steps: tuple[Step, ...]
    bits: tuple[int, ...]

    def place_of(self, number: int) -> int:
        """The register that holds a unit, or a part of memory."""
        return sum((number >> wanted & 1) << bit for bit, wanted in enumerate(self.bits))


def steps_apart(units: int, lanes: int, bits: int) -> Steps | None:
    """Steps from memory to a register for each unit; `units` and `lanes` are logarithms. None for large structures."""
    if units + lanes > MOST_BITS:
        return None
    begin = tuple(range(units + lanes))
    steps, row = _found(begin, tuple(range(units, units + lanes)), bits >= _SHUFFLED_FREELY)
    return Steps(steps, row[lanes:])


def steps_together(units: int, lanes: int, bits: int) -> Steps | None:
    """Steps from a register for each unit to memory; `steps_apart` backwards."""
    if units + lanes > MOST_BITS:
        return None
    begin = (*range(units, units + lanes), *range(units))
    steps, row = _found(begin, tuple(range(lanes)), bits >= _SHUFFLED_FREELY)
    return Steps(steps, tuple(bit - lanes for bit in row[lanes:]))


def order_of(kind: Kind, lanes: int, part: int) -> list[int]:
    """The elements of two registers, one behind the other, that are in the first or the second one after a step."""
    half = lanes // 2
    places: list[int] = []
    for first in (0, half):
        if kind is Kind.EXCHANGE:
            begin = part * half + (lanes if first else 0)
            places += range(begin, begin + half)
        elif kind is Kind.ZIP:
            begin = first + part * half // 2
            places += [begin + t // 2 + t % 2 * lanes for t in range(half)]
        else:
            places += [first + register + t for register in (0, lanes) for t in range(part, half, 2)]
    return places


@lru_cache(maxsize=64)
def _found(begin: _Row, elements: _Row, unzips: bool) -> tuple[tuple[Step, ...], _Row]:
    """The fewest steps to a row whose elements have these bits, and the row."""
    lanes = len(elements)
    kinds = (Kind.EXCHANGE, Kind.ZIP, Kind.UNZIP) if unzips else (Kind.EXCHANGE, Kind.ZIP)
    known: dict[_Row, tuple[Step, ...]] = {begin: ()}
    rows = [begin]
    for row in rows:
        if row[:lanes] == elements:
            return known[row], row
        for kind in kinds:
            for bit in range(len(begin) - lanes):
                following = _after(row, lanes, kind, bit)
                if following not in known:
                    known[following] = (*known[row], (kind, bit))
                    rows.append(following)
    raise AssertionError("zips and exchanges lead to all rows")


def _after(row: _Row, lanes: int, kind: Kind, bit: int) -> _Row:
    *inside, half = row[:lanes]
    numbers = list(row[lanes:])
    if kind is Kind.EXCHANGE:
        half, numbers[bit] = numbers[bit], half
    elif kind is Kind.ZIP:
        inside, numbers[bit] = [numbers[bit], *inside[:-1]], inside[-1]
    else:
        inside, numbers[bit] = [*inside[1:], numbers[bit]], inside[0]
    return (*inside, half, *numbers)
