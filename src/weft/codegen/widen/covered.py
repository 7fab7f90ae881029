"""Loads taken out of wider pieces: what several loads need of a strip of memory is covered once (Moll, §11.4, 11.6.2).

Where the lanes of a register are no neighbours in memory, in whole registers or by a permutation of bits, the elements
between the first and the last that the loads of a block need of a strip are loaded in pieces of a register, of which
every load picks its lanes by shuffles of two registers. So short rows of tall boxes are loaded, whose neighbours
overlap, and rows that begin inside of a block of an array in blocks (§11.7). A piece may be wider than the lane group;
of the last one the elements that nobody needs are masked, where the machine can.

The elements between are there: all accesses of a strip have one base, so they are of one object, and what lies between
two of its bytes belongs to it. Only accesses that are made for all lanes are counted, and none behind a call that may
not return. What another thread writes in between is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from weft.codegen.widen.context import Widening
from weft.codegen.widen.sums_of_products import Strip, is_address
from weft.ir import Builder, Instruction, Poison, Value
from weft.ir.effects import is_convergent, may_not_return, may_write
from weft.ir.types import VectorType

Element = tuple[Strip, int]

PICK, FURTHER, SHUFFLES = 1.35, 2.0, 4.0
"""What it costs in accesses to pick of two registers by one instruction, of further ones, and by several instructions.
Fitted to stencils of 5 to 25 points: of rows in halves or quarters of a register, picks out of wider pieces are slower
by up to a quarter; of arrays in blocks, where the pieces are loaded anyway, they are as fast or faster."""


class Covering(Struct, frozen=True):
    """How a load is taken out of pieces.

    Parameters
    ----------
    pieces
        Strip, offset and elements of each: a power of two, or what the first lanes of a masked register have.
    lanes
        For each lane the piece that its element is in, and the place there.
    cost
        Loads, shared among those that use them, and shuffles, in accesses.
    """

    pieces: tuple[tuple[Strip, int, int], ...]
    lanes: tuple[tuple[int, int], ...]
    cost: float


class _Extent(Struct, frozen=True):
    """What the loads of a block need of a strip.

    Parameters
    ----------
    low, high
        From where to where, in bytes.
    users
        How many loads there are.
    is_loaded
        Whether one of them has no better way than to be picked out.
    """

    low: int
    high: int
    users: int
    is_loaded: bool


Extents = dict[tuple[Strip, int], _Extent]
Scattered = Callable[[Sequence[Element]], bool]


def covering_of(
    w: Widening,
    load: Instruction,
    elements: Sequence[Element],
    size: int,
    slots: int,
    is_scattered: Scattered,
) -> Covering:
    """Pieces that cover what the lanes of a load need.

    Parameters
    ----------
    elements
        Those of the lanes.
    size, slots
        Bytes of an element, and elements of a register of the load.
    is_scattered
        Whether lanes that access certain elements would have to be gathered.
    """
    extents = _extents(w, load, elements, size, is_scattered)
    pieces: list[tuple[Strip, int, int]] = []
    lanes: list[tuple[int, int]] = []
    numbers: dict[tuple[Strip, int, int], int] = {}
    for strip, offset in elements:
        extent = extents[strip, offset % size]
        piece = _piece(extent, offset, size, w.isa.lanes(8 * size), w.isa.masked_memory and size >= 4)
        if (strip, *piece) not in numbers:
            numbers[strip, *piece] = len(pieces)
            pieces.append((strip, *piece))
        lanes.append((numbers[strip, *piece], (offset - piece[0]) // size))
    shared = [extents[strip, offset % size] for strip, offset, _ in pieces]
    for_others = not is_scattered(elements)
    cost = sum(1 / each.users for each in shared if not (for_others and each.is_loaded))
    first, further = (PICK, FURTHER) if w.isa.mask_registers and size >= 4 else (SHUFFLES, SHUFFLES)
    for k in range(0, len(lanes), slots):
        count = _shuffles(lanes[k : k + slots])
        cost += (first + further * (count - 1)) if count else 0.0
    return Covering(tuple(pieces), tuple(lanes), cost)


def _piece(extent: _Extent, offset: int, size: int, slots: int, masked: bool) -> tuple[int, int]:
    """Where the piece with an element begins, and how many it has: registers, then the rest.

    That is one piece under a mask, or powers of two.
    """
    register = slots * size
    # Lanes may be as far apart as numbers of 32 bits that wrap around.
    whole = min((offset - extent.low) // register, (extent.high - extent.low) // register)
    begin, length = extent.low + whole * register, slots
    if masked and begin + length * size > extent.high:
        return begin, (extent.high - begin) // size
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


def _extents(
    w: Widening, load: Instruction, elements: Sequence[Element], size: int, is_scattered: Scattered
) -> Extents:
    """What loads that are made for certain where this one is need of strips, by strip and place in an element."""
    known = w.extents.get(load)
    if known is not None:
        return known
    found: Extents = {}
    for other in loads_beside(load):
        if other.type == load.type:
            w.extents[other] = found
            _add_extents(found, list(elements_at(w, other)), size, is_scattered)
    if load not in w.extents:
        w.extents[load] = found
        _add_extents(found, elements, size, is_scattered)
    return found


def _add_extents(found: Extents, elements: Sequence[Element], size: int, is_scattered: Scattered) -> None:
    used: set[tuple[Strip, int]] = set()
    covers = is_scattered(elements)
    for strip, offset in elements:
        key = strip, offset % size
        known = found.get(key)
        if known is None:
            found[key] = _Extent(offset, offset + size, 1, covers)
        elif offset < known.low or offset + size > known.high or key not in used:
            low, high = min(known.low, offset), max(known.high, offset + size)
            found[key] = _Extent(low, high, known.users + (key not in used), known.is_loaded or covers)
        used.add(key)


def elements_at(w: Widening, load: Instruction) -> Iterator[Element]:
    """The strip and the offset that each lane loads, as far as they are known."""
    expressions = w.expressions(everywhere=False)
    for lane in range(w.lanes.width):
        at = expressions.at(load.pointer, lane)
        if at is None or not is_address(at):
            return
        yield at.terms, at.constant


def loads_beside(load: Instruction) -> Iterator[Instruction]:
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
        widest = max(slots, *(_count(loaded[number]) for number in sources))
        register = _widened(builder, loaded[sources[0]], widest)
        mask = [place if piece == sources[0] else -1 for piece, place in lanes]
        if len(sources) == 1:
            if mask != list(range(widest)):
                register = builder.shuffle(register, Poison(register.type), mask)
            registers.append(register)
            continue
        for number in sources[1:]:
            mask = [
                widest + place if piece == number else m
                for (piece, place), m in zip(lanes, mask, strict=True)
            ]
            last = number == sources[-1]
            # In between registers are as wide as the widest piece.
            mask += [-1] * (0 if last else widest - slots)
            register = builder.shuffle(register, _widened(builder, loaded[number], widest), mask)
            mask = [k if m >= 0 else -1 for k, m in enumerate(mask[:slots])]
        registers.append(register)
    return registers


def _count(vector: Value) -> int:
    assert isinstance(vector.type, VectorType)
    return vector.type.count


def _widened(builder: Builder, piece: Value, slots: int) -> Value:
    """A piece in a register: what is behind it is nothing."""
    length = _count(piece)
    if length >= slots:
        return piece
    return builder.shuffle(piece, Poison(piece.type), [k if k < length else -1 for k in range(slots)])
