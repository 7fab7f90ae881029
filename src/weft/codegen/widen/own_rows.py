"""Rows of neighbours at addresses of each lane's own, 128 bits at a time.

``a[i, t]``, ``a[i, t + 1]``, ... of lanes that are whole rows apart would be a gather each, or a load for each element
of each lane. So neighbours are loaded in pieces of 128 bits: those of several lanes make a register, and as many
registers as a piece has elements are transposed in each of their parts, by shuffles that stay in these. That is half of
the shuffles that whole registers for each lane would take; and each line of the cache is met once, not once for each of
its elements. Stores are the same backwards.

Loads of a row happen where its first one stands, stores where its last one stands. As in `access_groups`, no access in
between may touch the same bytes; that one thread's accesses do not is enough. Only bytes that the accesses touch
themselves are touched, which is so where all lanes are active.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from weft.codegen.widen.access_groups import MAX_OPEN, made_with
from weft.codegen.widen.accesses import under_the_mask
from weft.codegen.widen.context import Widening
from weft.codegen.widen.runs import lane_value
from weft.codegen.widen.vectors import concatenated
from weft.costs.own_rows import elements_of_piece, least_pieces
from weft.ir import BasicBlock, Builder, ConstInt, Instruction, Poison, Value
from weft.ir.effects import may_read, may_write
from weft.ir.types import I8, I64, Type, VectorType

MOST_PIECES = 4
"""Of a row, which is a line of the cache then."""


class OwnRow(Struct, frozen=True):
    """Neighbours in each lane's row, in the order of memory.

    Parameters
    ----------
    accesses
        Loads, or stores, of some whole pieces.
    leader
        The access at whose place all are made.
    """

    accesses: tuple[Instruction, ...]
    leader: Instruction

    @property
    def element(self) -> Type:
        """What is accessed."""
        return self.accesses[0].accessed_type


def find_own_rows(
    w: Widening, block: BasicBlock, is_apart: Callable[[Instruction], bool]
) -> dict[Instruction, OwnRow]:
    """The rows of a block, by each of their accesses; `is_apart` says which accesses each lane makes by itself."""
    found: dict[Instruction, OwnRow] = {}
    accesses = [i for i in under_the_mask(block) if may_read(i) or may_write(i)]
    numbers = {access: k for k, access in enumerate(accesses)}
    rows: dict[tuple[object, ...], dict[int, Instruction]] = {}
    for access in accesses:
        if access.is_plain_access and elements_of_piece(access.accessed_type, w.lanes.width, w.isa):
            place = w.addresses.location(access.pointer)
            key = (access.op, access.accessed_type, place.base, frozenset(place.terms.items()))
            rows.setdefault(key, {}).setdefault(place.offset, access)
    for row in rows.values():
        some = next(iter(row.values()))
        size = w.module.layout.store_size(some.accessed_type)
        count = elements_of_piece(some.accessed_type, w.lanes.width, w.isa)
        for offset in sorted(row):
            members: list[Instruction] = []
            while len(members) < MOST_PIECES * count:
                access = row.get(offset + len(members) * size)
                if access is None or access in found:
                    break
                members.append(access)
            del members[len(members) // count * count :]
            if len(members) < least_pieces(some.op, w.isa) * count or not all(map(is_apart, members)):
                continue
            order = sorted(members, key=numbers.__getitem__)
            between = accesses[numbers[order[0]] : numbers[order[-1]]]
            if len(between) <= len(members) + MAX_OPEN and _may_be_together(w, members, between, size, found):
                made = OwnRow(tuple(members), order[0] if some.op == "load" else order[-1])
                found.update(dict.fromkeys(members, made))
    return found


def _may_be_together(
    w: Widening,
    row: Sequence[Instruction],
    between: Sequence[Instruction],
    size: int,
    found: Mapping[Instruction, OwnRow],
) -> bool:
    """Whether no access between those of a row touches the same bytes, where one of both writes."""
    stores, members = row[0].op == "store", set(row)
    for other in between:
        if other in members or not (stores or may_write(other)):
            continue
        if not other.is_plain_access:
            return False
        for each in made_with(w, other, found):
            bytes = w.module.layout.store_size(each.accessed_type)
            if any(w.addresses.may_overlap(access.pointer, size, each.pointer, bytes) for access in row):
                return False
    return True


def load_own_row(w: Widening, row: OwnRow) -> None:
    """Load what each lane has in its row, lane by lane, and give each load the elements of all lanes."""
    builder, shape = w.builder, _shape_of(w, row)
    addresses, align = _addresses(w, row), row.accesses[0].alignment
    starts = range(0, len(row.accesses), shape.units)
    elements: list[list[Value]] = [[] for _ in row.accesses]
    for first in range(0, w.lanes.width, shape.lanes):
        pieces: list[list[Value]] = []
        for address in addresses[first : first + shape.lanes]:
            # All of a line at once: other lanes' lines may be in the same set of the cache.
            own = [
                builder.load(shape.piece, _behind(w, address, s * shape.size), align=align) for s in starts
            ]
            for piece in own:
                piece.loc = row.leader.loc
            pieces.append([*own])
        for k, start in enumerate(starts):
            registers = [
                concatenated(builder, [own[k] for own in pieces[r :: shape.units]])
                for r in range(shape.units)
            ]
            for unit, register in enumerate(_transposed(builder, registers, shape.units)):
                elements[start + unit].append(register)
    for load, parts in zip(row.accesses, elements, strict=True):
        w.set_vector(load, concatenated(builder, parts))


def store_own_row(w: Widening, row: OwnRow) -> None:
    """Store to each lane's row, lane by lane."""
    builder, shape = w.builder, _shape_of(w, row)
    addresses, align = _addresses(w, row), row.accesses[0].alignment
    values = [w.vector(store.operands[0]) for store in row.accesses]
    for first in range(0, w.lanes.width, shape.lanes):
        registers: list[list[Value]] = []
        for start in range(0, len(values), shape.units):
            parts = [
                _part(builder, value, first, shape.lanes) for value in values[start : start + shape.units]
            ]
            registers.append(_transposed(builder, parts, shape.units))
        for lane in range(shape.lanes):
            for k, made in enumerate(registers):
                piece = _part(
                    builder, made[lane % shape.units], lane // shape.units * shape.units, shape.units
                )
                address = _behind(w, addresses[first + lane], k * shape.units * shape.size)
                builder.store(piece, address, align=align).loc = row.leader.loc


class _Shape(Struct, frozen=True):
    """Elements of a piece, lanes of a register, bytes of an element, and the type of a piece."""

    units: int
    lanes: int
    size: int
    piece: VectorType


def _shape_of(w: Widening, row: OwnRow) -> _Shape:
    type, size = row.element, w.module.layout.store_size(row.element)
    units = elements_of_piece(type, w.lanes.width, w.isa)
    return _Shape(units, min(w.isa.lanes(8 * size), w.lanes.width), size, VectorType(type, units))


def _transposed(builder: Builder, registers: Sequence[Value], units: int) -> list[Value]:
    """Registers whose parts of `units` elements have element `k` of all registers' parts in register `k`."""
    made = list(registers)
    type = made[0].type
    assert isinstance(type, VectorType)
    half, lanes = units // 2, type.count
    step = units
    while step > 1:
        zipped: list[Value] = []
        for r in range(half):
            for begin in (0, half):
                order = [
                    part + begin + k // 2 + k % 2 * lanes
                    for part in range(0, lanes, units)
                    for k in range(units)
                ]
                zipped.append(builder.shuffle(made[r], made[r + half], order))
        made, step = zipped, step // 2
    return made


def _part(builder: Builder, vector: Value, first: int, count: int) -> Value:
    type = vector.type
    assert isinstance(type, VectorType)
    return (
        vector if type.count == count else builder.shuffle(vector, Poison(type), range(first, first + count))
    )


def _addresses(w: Widening, row: OwnRow) -> list[Value]:
    """Where each lane's row begins."""
    leader, low = row.leader, row.accesses[0]
    back = w.addresses.location(low.pointer).offset - w.addresses.location(leader.pointer).offset
    return [_behind(w, lane_value(w, leader.pointer, lane), back) for lane in range(w.lanes.width)]


def _behind(w: Widening, address: Value, by: int) -> Value:
    return w.builder.gep(I8, address, (ConstInt(I64, by),)) if by else address
