"""Structures of which not all is stored, piece by piece, where processors have no registers for masks.

There a store under a mask is microcode on AMD's cores, 12 cycles or more, and is taken apart with SSE2 alone. What is
stored of neighbouring structures is a *piece* of a register, which one plain store writes. Passive lanes store their
pieces to a spare object, without a question::

    registers   x0 y0 z0 -  x1 y1 z1 -     stores   x0 y0   z0   x1 y1   z1

Measured on Zen 3, coordinates of three floats in structures of four: 0.8 ns a structure, 2.9 under a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from weft.machine.targets import Isa


class Piece(Struct, frozen=True):
    """Units of a register that are stored together: where they begin, and how many, a power of two."""

    begin: int
    count: int


def stores_pieces(isa: Isa, *, masked: bool, gaps: bool) -> bool:
    """Whether a group is stored so: under the mask of the lanes, or with gaps that are not written."""
    if isa.mask_registers:
        return False
    return gaps or (masked and (not isa.masked_memory or isa.core.slow_masked_stores))


def pieces_by_register(covered: Sequence[bool], lanes: int, *, apart: bool) -> list[list[Piece]]:
    """The pieces of each register that the structures of so many lanes fill.

    Parameters
    ----------
    covered
        Which units of a structure are stored.
    lanes
        How many lanes there are, and units in a register.
    apart
        Whether each lane's are pieces of their own.
    """
    units = len(covered)
    owners = [(k // units if apart else 0) if covered[k % units] else None for k in range(lanes * units)]
    return [pieces_of(owners[first : first + lanes]) for first in range(0, lanes * units, lanes)]


def pieces_of(owners: Sequence[int | None]) -> list[Piece]:
    """The pieces of a register; of each unit it is told who owns it, and None where it is not stored.

    A piece has one owner: the lane under whose mask it is stored, or all of them as one.
    """
    found: list[Piece] = []
    for owner, run in groupby(range(len(owners)), key=lambda k: owners[k]):
        places = list(run)
        if owner is None:
            continue
        begin, left = places[0], len(places)
        while left:
            count = 1 << (left.bit_length() - 1)
            found.append(Piece(begin, count))
            begin, left = begin + count, left - count
    return found
