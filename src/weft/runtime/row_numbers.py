"""Which numbers of a call code is made for: lengths of short rows, which a launch knows and the program does not.

Code for arguments of any values says from which of its parameters rows have their lengths
(`weft.passes.nests.short_rows`). Where these are small, calls that are worth it run code that is made for just these
numbers. So do calls of functions in which parameters have their defaults (`weft.loops.own_defaults`), and calls with
arrays of the same extents where that matters (`weft.analysis.integers.equal_extents`): there the number that is known
is a difference, 0.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

MOST_VERSIONS = 12
"""Versions of code for one tuple of types; calls with other numbers run the general one."""

FEW = 64
"""Extents of arrays, and threads of a launch, for which no code is made: compiling takes longer."""

Known = tuple[tuple[int, int | float], ...]
"""Parameters by number, or what stands for a difference of two (`difference_of`), and what they are."""

RowNumbers = tuple[tuple[int, int], ...]
"""Parameters by number, and what they are at most where code is made for them; differences, for which it is 0."""

Restriction = tuple[int, int, int]
"""A slot, and the least and the greatest number in it; `product_of` slots, and those of their product; or
`difference_of` two, and those of their difference.

If the greatest one is less than the least, it is all but those between them.
"""

_GREATEST = (1 << 63) - 1


def product_of(first: int, count: int) -> int:
    """What stands for so many slots, one behind another, in a `Restriction` of their product."""
    return first | (count - 1) << 32


def difference_of(first: int, second: int) -> int:
    """What stands for the first of two slots less the second one, which is behind it."""
    return first | second << 16


def slots_of_difference(number: int) -> tuple[int, int] | None:
    """The two slots that a number stands for by `difference_of`; None where it is another one."""
    return (number & 0xFFFF, number >> 16) if number >> 16 else None


def numbers_of(row_numbers: RowNumbers, slots: Sequence[Any]) -> Known:
    """What code for a call with these slots may know."""
    return tuple(known for n, longest in row_numbers if (known := _known(n, longest, slots)) is not None)


def _known(n: int, longest: int, slots: Sequence[Any]) -> tuple[int, int] | None:
    two = slots_of_difference(n)
    if two is not None:
        return (n, 0) if slots[two[0]] == slots[two[1]] else None
    return (n, int(slots[n])) if 1 <= slots[n] <= longest else None


def restrictions(known: Known, row_numbers: RowNumbers, defaults: Known = ()) -> list[Restriction]:
    """For which slots code is that knows some of the numbers, so that other calls look for code of their own.

    So do calls with `defaults` that the code does not know.
    """
    there = {n for n, _ in known}
    rest = [
        (n, longest + 1, -1 if slots_of_difference(n) else _GREATEST)
        for n, longest in row_numbers
        if n not in there
    ]
    others = [(n, word + 1, word - 1) for n, value in defaults if n not in there for word in [_word(value)]]
    return [(n, word, word) for n, value in known for word in [_word(value)]] + rest + others


def _word(value: float) -> int:
    """What a slot has in it."""
    return struct.unpack("q", struct.pack("d", value))[0] if isinstance(value, float) else int(value)


def restored(row_numbers: Sequence[Sequence[int]]) -> RowNumbers:
    """The numbers as they were stored."""
    return tuple((number, longest) for number, longest in row_numbers)
