"""Loads taken out of wider pieces: what several loads need of a strip of memory is covered once (Moll, §11.4, 11.6.2).

Where the lanes of a register are no neighbours in memory, in whole registers or by a permutation of bits, the elements
between the first and the last that the loads of a block need of a strip are loaded in pieces of a register, of which
every load picks its lanes by shuffles of two registers. So short rows of tall boxes are loaded, whose neighbours
overlap, and rows that begin inside of a block of an array in blocks (§11.7).

The elements between are there: all accesses of a strip have one base, so they are of one object, and what lies between
two of its bytes belongs to it. Only accesses that are made for all lanes are counted, and none behind a call that may
not return. What another thread writes in between is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_expressions import Strip, is_address
from weft.ir import Builder, Instruction, Poison, Value
from weft.ir.effects import is_convergent, may_not_return, may_write
from weft.ir.types import VectorType

Element = tuple[Strip, int]

PICK, SHUFFLES = 2.0, 4.0
"""What it costs in accesses to pick of two registers, by one instruction and by several. Measured for one: stencils of
9 points with rows of two elements lose a quarter where three picks take the place of four accesses."""


@dataclass(frozen=True, slots=True)
class Covering:
    """How a load is taken out of pieces.

    Parameters
    ----------
    pieces
        Strip, offset and elements of each.
    lanes
        For each lane the piece that its element is in, and the place there.
    cost
        Loads, shared among those that use them, and shuffles, in accesses.
    """

    pieces: tuple[tuple[Strip, int, int], ...]
    lanes: tuple[tuple[int, int], ...]
    cost: float


@dataclass(frozen=True, slots=True)
class _Extent:
    """What the loads of a block need of a strip: from where to where, in bytes, and how many loads there are."""

    low: int
    high: int
    users: int


def covering_of(
    w: Widening, load: Instruction, elements: Sequence[Element], size: int, slots: int
) -> Covering | None:
    """Pieces that cover what the lanes of a load need; None where its elements do not lie in a row."""
    extents = _extents(w, load, elements, size)
    pieces: list[tuple[Strip, int, int]] = []
    lanes: list[tuple[int, int]] = []
    numbers: dict[tuple[Strip, int, int], int] = {}
    for strip, offset in elements:
        extent = extents[strip]
        if (offset - extent.low) % size:
            return None
        piece = _piece(extent, offset, size, slots)
        if (strip, *piece) not in numbers:
            numbers[strip, *piece] = len(pieces)
            pieces.append((strip, *piece))
        lanes.append((numbers[strip, *piece], (offset - piece[0]) // size))
    shuffles = sum(_shuffles(lanes[k : k + slots]) for k in range(0, len(lanes), slots))
    loads = sum(1 / extents[strip].users for strip, _, _ in pieces)
    picks = PICK if w.isa.mask_registers and size >= 4 else SHUFFLES
    return Covering(tuple(pieces), tuple(lanes), loads + picks * shuffles)


def _piece(extent: _Extent, offset: int, size: int, slots: int) -> tuple[int, int]:
    """Where the piece with an element begins, and how many it has: registers, then the rest in powers of two."""
    register = slots * size
    # Lanes may be as far apart as numbers of 32 bits that wrap around.
    whole = min((offset - extent.low) // register, (extent.high - extent.low) // register)
    begin, length = extent.low + whole * register, slots
    while True:
        while begin + length * size > extent.high:
            length //= 2
        if offset < begin + length * size:
            return begin, length
        begin += length * size


def _shuffles(lanes: Sequence[tuple[int, int]]) -> int:
    """How many shuffles of two registers pick the lanes of one."""
    sources = {piece for piece, _ in lanes}
    if len(sources) > 1:
        return len(sources) - 1
    return int(any(place != k for k, (_, place) in enumerate(lanes)))


def _extents(w: Widening, load: Instruction, elements: Sequence[Element], size: int) -> dict[Strip, _Extent]:
    """What loads that are made for certain where this one is need of its strips."""
    found: dict[Strip, _Extent] = {}
    for strip, offset in elements:
        known = found.get(strip, _Extent(offset, offset, 1))
        found[strip] = _Extent(min(known.low, offset), max(known.high, offset + size), 1)
    for other in _loads_beside(load):
        if other is load or other.type != load.type:
            continue
        used: set[Strip] = set()
        for strip, offset in _elements(w, other):
            known = found.get(strip)
            if known is None or (offset - known.low) % size:
                continue
            users = known.users + (strip not in used)
            used.add(strip)
            found[strip] = _Extent(min(known.low, offset), max(known.high, offset + size), users)
    return found


def _elements(w: Widening, load: Instruction) -> Iterator[Element]:
    expressions = w.expressions(everywhere=False)
    for lane in range(w.lanes.width):
        at = expressions.at(load.pointer, lane)
        if at is None or not is_address(at):
            return
        yield at.terms, at.constant


def _loads_beside(load: Instruction) -> Iterator[Instruction]:
    """The loads of the block that are made whenever this one is."""
    block = load.block
    if block is None or block.predicate is not None:
        return
    segment: list[Instruction] = []
    for i in block.non_phis():
        if i.is_plain_access:
            segment.append(i)
        elif may_write(i) or may_not_return(i) or is_convergent(i):
            if load in segment:
                break
            segment = []
    if load in segment:
        yield from (i for i in segment if i.op == "load")


def pick(builder: Builder, covering: Covering, loaded: Sequence[Value], slots: int) -> list[Value]:
    """The registers of a load, picked out of the pieces."""
    registers: list[Value] = []
    for first in range(0, len(covering.lanes), slots):
        lanes = covering.lanes[first : first + slots]
        sources = list(dict.fromkeys(piece for piece, _ in lanes))
        register = _widened(builder, loaded[sources[0]], slots)
        mask = [place if piece == sources[0] else -1 for piece, place in lanes]
        if len(sources) == 1:
            if mask != list(range(slots)):
                register = builder.shuffle(register, Poison(register.type), mask)
            registers.append(register)
            continue
        for number in sources[1:]:
            mask = [
                slots + place if piece == number else m for (piece, place), m in zip(lanes, mask, strict=True)
            ]
            register = builder.shuffle(register, _widened(builder, loaded[number], slots), mask)
            mask = [k if m >= 0 else -1 for k, m in enumerate(mask)]
        registers.append(register)
    return registers


def _widened(builder: Builder, piece: Value, slots: int) -> Value:
    """A piece in a register: what is behind it is nothing."""
    assert isinstance(piece.type, VectorType)
    length = piece.type.count
    if length == slots:
        return piece
    return builder.shuffle(piece, Poison(piece.type), [k if k < length else -1 for k in range(slots)])
