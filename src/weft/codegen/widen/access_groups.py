"""Which accesses of a block are made together: neighbours in arrays of structures.

Accesses whose addresses differ by constants smaller than the stride from lane to lane form a *group*: the members of
a structure, the parts of complex numbers, ``a[3*i]`` and ``a[3*i + 2]``. All lanes' members lie in one piece of
memory, with gaps where a member is not accessed; of a lane group of several rows those of each row do. An access with
such a stride and no neighbours is a group of one.

Loads of a group happen where its first one stands, stores where its last one stands. So no access in between may
touch the same bytes; that one thread's accesses do not is enough, as two threads' accesses to the same bytes between
two barriers are a race, which no program may have. What is asked of a load that joins a group is asked of all stores
that are made behind the first one, be it that they stand before it and are made with one that stands behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import TYPE_CHECKING

from msgspec import Struct, field

from weft.codegen.widen.accesses import under_the_mask
from weft.codegen.widen.context import Widening
from weft.codegen.widen.pieces import pieces_by_register, stores_pieces
from weft.costs.instructions import interleave_cost, memory_cost, pieces_cost
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import may_read, may_write

if TYPE_CHECKING:
    from weft.codegen.widen.own_rows import OwnRow

MAX_UNITS = 16
"""How many units of a stride are worth loading."""

MAX_OPEN = 32
"""Groups that an access may still join: neighbours are close to each other in programs, and time is short."""


class Member(Struct, frozen=True):
    """An access of a group: `size` bytes that begin `offset` bytes behind the group's base and terms."""

    access: Instruction
    offset: int
    size: int


class AccessGroup(Struct):
    """Loads, or stores, that are made together.

    Parameters
    ----------
    op
        ``load`` or ``store``.
    stride
        Bytes from a lane's members to those of the next lane.
    run
        Of how many lanes in a row that holds; how far they are from the next ones is not said.
    members
        In program order.
    in_memory_order
        Whether the vectors of members hold the registers that the structures fill, in their order
        (`weft.codegen.widen.memory_order`).
    """

    op: str
    stride: int
    run: int
    members: list[Member] = field(default_factory=list)
    in_memory_order: bool = False

    @property
    def low(self) -> int:
        """The offset of the first byte."""
        return min(m.offset for m in self.members)

    @property
    def high(self) -> int:
        """The offset behind the last byte."""
        return max(m.offset + m.size for m in self.members)

    @property
    def unit(self) -> int:
        """Bytes of the largest unit that members, gaps and stride are multiples of."""
        low = self.low
        return gcd(self.stride, *(m.size for m in self.members), *(m.offset - low for m in self.members))

    @property
    def units(self) -> int:
        """Units in the stride."""
        return abs(self.stride) // self.unit

    def units_of(self, member: Member) -> range:
        """The units of a lane's stride that a member accesses."""
        unit = self.unit
        first = (member.offset - self.low) // unit
        return range(first, first + member.size // unit)

    @property
    def covered(self) -> list[bool]:
        """Which units of the stride some member accesses."""
        unit, low = self.unit, self.low
        covered = [False] * (abs(self.stride) // unit)
        for m in self.members:
            first, count = (m.offset - low) // unit, m.size // unit
            covered[first : first + count] = [True] * count
        return covered

    @property
    def has_gaps(self) -> bool:
        """Whether some bytes of the stride belong to no member."""
        return not all(self.covered)

    @property
    def leader(self) -> Instruction:
        """The access at whose place all are made."""
        return self.members[0 if self.op == "load" else -1].access


class _Open(Struct):
    """A group that more accesses may join, and the writes behind the first of its loads."""

    group: AccessGroup
    base: Value
    terms: Mapping[Value, int]
    writes: list[tuple[Value, int]] = field(default_factory=list)

    def has_place_for(self, offset: int, size: int) -> bool:
        """Whether the members would still lie within one stride."""
        low, high = min(self.group.low, offset), max(self.group.high, offset + size)
        return high - low <= abs(self.group.stride)


def find_groups(w: Widening, block: BasicBlock) -> list[AccessGroup]:
    """The groups of a block, be they worth it or not."""
    found: list[AccessGroup] = []
    loads: list[_Open] = []
    stores: list[_Open] = []
    for instruction in under_the_mask(block):
        if not instruction.is_plain_access:
            if may_write(instruction):
                loads.clear()
            if may_write(instruction) or may_read(instruction):
                stores.clear()
            continue
        is_load = instruction.op == "load"
        joined = _join(w, instruction, loads if is_load else stores)
        pointer, size = instruction.pointer, _size(w, instruction)
        stores[:] = [g for g in stores if g is joined or not _touches(w, g, pointer, size)]
        if not is_load:
            # Stores that this one joins are made here, too: behind loads that they stand before.
            written = [(pointer, size)] if joined is None else _places(joined.group)
            for opened in loads:
                opened.writes += written
        if joined is None:
            opened = _start(w, instruction)
            if opened is not None:
                found.append(opened.group)
                (loads if is_load else stores).append(opened)
                del loads[:-MAX_OPEN], stores[:-MAX_OPEN]
    return found


def made_with(
    w: Widening, access: Instruction, rows: Mapping[Instruction, OwnRow]
) -> tuple[Instruction, ...]:
    """The accesses that are made with one, itself among them: of its group, or of its row of these.

    Who moves past an access asks of them all. A store that waits for it may stand before where the other begins, and
    a load that is made with it behind where the other ends.
    """
    assert access.block is not None
    group = w.groups.get(access.block, {}).get(access)
    if group is not None:
        return tuple(member.access for member in group.members)
    row = rows.get(access)
    return (access,) if row is None else row.accesses


def _size(w: Widening, access: Instruction) -> int:
    return w.module.layout.store_size(access.accessed_type)


def _places(group: AccessGroup) -> list[tuple[Value, int]]:
    return [(m.access.pointer, m.size) for m in group.members]


def _touches(w: Widening, opened: _Open, pointer: Value, size: int) -> bool:
    return any(w.addresses.may_overlap(m.access.pointer, m.size, pointer, size) for m in opened.group.members)


def constant_stride(w: Widening, pointer: Value) -> int | None:
    """Bytes from one lane's address to the next one's, where that is one number."""
    if not w.is_scalar(pointer) or w.is_uniform(pointer) or w.lanes.width < 2:
        return None
    offsets = w.lanes.offsets([s for s in w.divergence.shape(pointer).strides if isinstance(s, int)])
    stride = offsets[1] - offsets[0]
    return stride if all(o == stride * t for t, o in enumerate(offsets)) else None


def _run_stride(w: Widening, access: Instruction) -> tuple[int, int] | None:
    """Bytes from one lane's address to the next one's, and of how many lanes in a row; None where it is no number."""
    pointer = access.pointer
    stride = constant_stride(w, pointer)
    if stride is not None:
        return stride, w.lanes.width
    assert access.block is not None
    if w.divergence.engine.leads_to_stack(pointer):
        return None
    strides = w.divergence.shape_in(pointer, access.block).strides
    wide = [(e, s) for e, s in zip(w.lanes.extents, strides, strict=False) if e > 1]
    if not wide or not isinstance(first := wide[0][1], int) or not first:
        return None
    run = 1
    for extent, each in wide:
        if each != first * run:
            break
        run *= extent
    return first, run


def _strided(w: Widening, access: Instruction) -> tuple[int, int, int] | None:
    """Stride, run and size of an access that may be in a group."""
    if w.divergence.element_bytes(access.pointer) is not None:
        # Constants that are added to addresses in interleaved objects are not the distances in memory.
        return None
    found = _run_stride(w, access)
    layout, type = w.module.layout, access.accessed_type
    size = layout.store_size(type)
    # Values narrower than their bytes are packed differently in a vector and in an array.
    if found is None or abs(found[0]) <= size or layout.bit_size(type) != 8 * size:
        return None
    return *found, size


def _start(w: Widening, access: Instruction) -> _Open | None:
    strided = _strided(w, access)
    if strided is None:
        return None
    stride, run, size = strided
    location = w.addresses.location(access.pointer)
    group = AccessGroup(access.op, stride, run, [Member(access, location.offset, size)])
    return _Open(group, location.base, location.terms)


def _join(w: Widening, access: Instruction, opened: list[_Open]) -> _Open | None:
    strided = _strided(w, access)
    if strided is None:
        return None
    stride, run, size = strided
    pointer = access.pointer
    location = w.addresses.location(pointer)
    for candidate in opened:
        group = candidate.group
        if (candidate.base, candidate.terms) != (location.base, location.terms):
            continue
        if (group.stride, group.run) != (stride, run):
            continue
        if not candidate.has_place_for(location.offset, size) or not _fits(
            group, access, location.offset, size
        ):
            continue
        if any(w.addresses.may_overlap(pointer, size, p, s) for p, s in candidate.writes):
            continue
        group.members.append(Member(access, location.offset, size))
        return candidate
    return None


def _fits(group: AccessGroup, access: Instruction, offset: int, size: int) -> bool:
    """Stores must not overlap; pointers go with pointers, as they are no integers."""
    types = {m.access.accessed_type for m in group.members} | {access.accessed_type}
    if len(types) > 1 and any(t.is_pointer for t in types):
        return False
    return group.op == "load" or all(
        m.offset + m.size <= offset or m.offset >= offset + size for m in group.members
    )


def is_worth_it(w: Widening, group: AccessGroup, block: BasicBlock) -> bool:
    """Whether wide accesses cost less than an access for each lane."""
    if group.in_memory_order:
        return True
    if group.units > MAX_UNITS:
        return False
    isa, masked = w.isa, block.predicate is not None
    gaps = group.op == "store" and group.has_gaps
    lanes = min(group.run, isa.lanes(8 * group.unit))
    if group.op == "store" and stores_pieces(isa, masked=masked, gaps=gaps):
        pieces = [p.count for each in pieces_by_register(group.covered, lanes, apart=masked) for p in each]
        wide = pieces_cost(pieces, len(group.members), group.units, isa, masked)
    elif (masked or gaps) and not isa.masked_memory:
        return False
    else:
        bits, members = 8 * group.unit, len(group.members)
        wide = interleave_cost(group.op, members, group.units, isa, masked or gaps, bits)
    form = "strided" if not masked else "addresses" if group.op == "store" else "gather"
    apart = sum(memory_cost(group.op, form, 8 * m.size, lanes, isa).cycles for m in group.members)
    return wide < apart
