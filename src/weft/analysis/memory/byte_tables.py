"""Lookups of bytes in small tables: ``out[i] = table[text[i]]``, where the number is of 8 bits or less.

Of such a load each lane has an address of its own, but all of them lie within 256 bytes behind one that the lanes
share.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.memory.alias import Location
from weft.analysis.memory.linear_locations import linear_location
from weft.ir import Instruction, Value
from weft.ir.types import I8

BLOCK = 64
"""Bytes that the size of a table is counted in."""

MOST_BLOCKS = 4


class ByteTable(Struct, frozen=True):
    """A table of bytes.

    Parameters
    ----------
    location
        Where lanes load.
    index
        Each lane's number, one of its terms.
    blocks
        How many blocks of bytes hold all that it may lead to: 1, 2 or 4.
    """

    location: Location
    index: Value
    blocks: int


_LOOKUP = "weft.lookup"


def lookup_name(lanes: int, blocks: int) -> str:
    """The name of the function that looks the numbers of so many lanes up in a table of so many blocks."""
    return f"{_LOOKUP}.v{lanes}.{blocks}"


def blocks_of_lookup(name: str) -> int | None:
    """Of a function of such a name, of how many blocks its table is."""
    return int(name.rpartition(".")[2]) if name.startswith(f"{_LOOKUP}.v") else None


def byte_table(load: Instruction, divergence: Divergence) -> ByteTable | None:
    """The table that a load looks each lane's number up in; None if it does not."""
    ranges = divergence.engine.ranges
    if load.op != "load" or load.type != I8 or ranges is None:
        return None
    location = linear_location(load.pointer, divergence.function.layout)
    if location.base.type.is_vector or not divergence.is_uniform(location.base):
        return None
    own = [index for index in location.terms if not divergence.is_uniform(index)]
    if len(own) != 1 or location.terms[own[0]] != 1 or divergence.shape(own[0]).is_strided:
        return None
    known = ranges.at(own[0], load.block)
    if known is None or known.lo < 0 or known.hi >= MOST_BLOCKS * BLOCK:
        return None
    return ByteTable(location, own[0], 1 << (known.hi // BLOCK).bit_length())
