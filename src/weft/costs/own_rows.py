"""What rows of lanes' own cost that are accessed in pieces of 128 bits (`weft.codegen.widen.own_rows`)."""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.loops.row_strips import LINE, RowStrips
from weft.costs.constants import constants_of
from weft.costs.instructions import memory_cost
from weft.ir import Instruction
from weft.ir.types import FloatType, IntType, Type
from weft.machine.targets import Isa

PIECE_BITS = 128
"""What is loaded at once: parts of a register in which shuffles are cheap have as many."""

LEAST_PIECES = 2
"""Of a row, where there are instructions that gather, or scatter: one takes about as many as these do loads."""


def elements_of_piece(type: Type, lanes: int, isa: Isa) -> int:
    """How many neighbours of 32 or 64 bits a piece has; 0 where pieces are not worth it for so many lanes."""
    bits = type.bits if isinstance(type, IntType | FloatType) else 0
    if bits not in (32, 64) or isa.vector_bits < PIECE_BITS * bits // 32:
        # Two doubles at a time are put together as fast as they are loaded.
        return 0
    count = PIECE_BITS // bits
    return count if lanes % count == 0 else 0


def least_pieces(op: str, isa: Isa) -> int:
    """Of how many pieces a row is worth it."""
    has_instruction = isa.mask_registers > 0 and (isa.gather if op == "load" else isa.scatter)
    return LEAST_PIECES if has_instruction else 1


def lanes_of_strips(bits: int, isa: Isa) -> int:
    """How many lanes whose rows are accessed in strips there are at most.

    A strip is a line of the cache of each of them. Of lanes whose strips do not fit into two register files much goes
    to the stack, and the nearest cache has few places for lines that are a power of two apart.
    """
    registers = 2 * isa.vector_registers * isa.vector_bits // (8 * LINE)
    return min(registers, 16 * LINE // bits)


def in_pieces(strips: Iterable[RowStrips], lanes: int, isa: Isa) -> list[RowStrips]:
    """The strips, of which accesses are left out for which pieces are not worth it."""
    found: list[RowStrips] = []
    for each in strips:
        own = tuple(i for i in each.accesses if elements_of_piece(i.accessed_type, lanes, isa))
        if own:
            found.append(RowStrips(each.loop, each.length, own))
    return found


def own_row_cost(access: Instruction, lanes: int, isa: Isa) -> float:
    """Return the cycles of an element of a strip for all lanes: its part of pieces and shuffles, and its copy.

    The copy is stored beside those of other lanes, and loaded again.
    """
    type = access.accessed_type
    assert isinstance(type, IntType | FloatType)
    units = elements_of_piece(type, lanes, isa)
    piece = memory_cost(access.op, "contiguous", type.bits, units, isa).cycles
    registers = max(1, lanes * type.bits // isa.vector_bits)
    shuffles = (units.bit_length() - 1) * registers
    copy = sum(memory_cost(op, "contiguous", type.bits, lanes, isa).cycles for op in ("load", "store"))
    return lanes / units * (piece + constants_of(isa).gather_lane) + shuffles + copy
