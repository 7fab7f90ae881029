"""Interleaved accesses: the lanes' structures as wide vectors, taken apart and put together by shuffles.

A group (`access_groups`) is made in units, the largest that all its members are multiples of. As many lanes at a time
as a register has units: their structures fill as many registers as the stride has units, and each member is a shuffle
of these. Without a mask every byte that is read lies between two bytes that lanes access: the last register begins
so that it ends where the last lane's last member does. Under a mask the lanes' mask, spread over the units and with
the gaps cut out, masks the wide accesses, so that nothing is touched but what an active lane accesses. Gaps are never
written. Where masks have no registers, stores are made in pieces instead (`pieces`).
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.integers.bounds import trailing_zeros
from weft.codegen.widen.access_groups import AccessGroup, Member
from weft.codegen.widen.context import Widening, mask_bits
from weft.codegen.widen.masked import masked_load, masked_store
from weft.codegen.widen.pieces import pieces_by_register, stores_pieces
from weft.codegen.widen.runs import first_address
from weft.codegen.widen.transpose import is_power_of_two, put_together, taken_apart
from weft.codegen.widen.vectors import concatenated
from weft.ir import TRUE, ConstAggregate, ConstInt, Instruction, Poison, Value
from weft.ir.constants import FALSE, Constant
from weft.ir.types import I1, I8, I64, IntType, Type, VectorType, int_type

_LEAST_BYTES = 16
"""Structures of three bytes for which LLVM has such code (`X86InterleavedAccess`)."""


class _Layout:
    """Where the units of a group lie in memory."""

    __slots__ = (
        "_addresses",
        "_back",
        "_w",
        "align",
        "covered",
        "group",
        "lanes",
        "low",
        "span",
        "type",
        "unit",
        "units",
    )

    def __init__(self, w: Widening, group: AccessGroup) -> None:
        self._w = w
        self.group = group
        self.low, self.unit, self.units = group.low, group.unit, group.units
        self.covered = group.covered
        self.span = (group.high - self.low) // self.unit
        types = {m.access.accessed_type for m in group.members}
        alone = len(types) == 1 and group.members[0].size == self.unit
        self.type: Type = types.pop() if alone else int_type(8 * self.unit)
        # A power of two, as are the lanes of a register.
        self.lanes = group.run if group.in_memory_order else min(group.run, w.isa.lanes(8 * self.unit))
        location = w.addresses.location(group.leader.pointer)
        self._back = self.low - location.offset
        if group.stride < 0:
            self._back += group.stride * (group.run - 1)
        self._addresses: dict[int, Value] = {}
        self.align = max(self._align_by(m) for m in group.members)

    def _align_by(self, member: Member) -> int:
        """The alignment of the lowest address that one member's alignment promises."""
        return _common(
            member.access.alignment, member.offset - self.low, self.group.stride * (self.group.run - 1)
        )

    def moved(self, address: Value, by: int) -> Value:
        """An address so many bytes on."""
        return self._w.builder.gep(I8, address, (ConstInt(I64, by),)) if by else address

    @property
    def is_square(self) -> bool:
        """Whether structures are a power of two of units and each member is one: they are transposed by steps."""
        alone = all(m.size == self.unit for m in self.group.members)
        return alone and is_power_of_two(self.units) and self.group.stride > 0

    @property
    def is_known_to_llvm(self) -> bool:
        """Whether LLVM has code of its own for one access of all structures, and shuffles that pick members of that."""
        isa = self._w.isa
        bytes_of_three = (
            self.unit == 1 and self.units == 3 and isa.arch == "x86_64" and isa.vector_bits == 256
        )
        group = self.group
        whole = all(self.covered) and all(m.size == 1 for m in group.members) and self._w.mask is None
        in_order = group.stride > 0 and not group.in_memory_order
        return bytes_of_three and whole and in_order and self.lanes >= _LEAST_BYTES

    def unit_of(self, member: Member) -> int:
        """The first unit of a lane's stride that a member accesses."""
        return self.group.units_of(member)[0]

    @property
    def starts(self) -> range:
        """The first lane, in the order of memory, of each part that fills registers."""
        return range(0, self._w.lanes.width, self.lanes)

    def part_address(self, start: int, unit: int = 0) -> tuple[Value, int]:
        """Address and alignment of a unit of the part that begins at a lane."""
        inside = start % self.group.run
        by = (inside * self.units + unit) * self.unit
        return self.moved(self._run_address(start - inside), by), _common(self.align, by)

    def _run_address(self, lane: int) -> Value:
        """The lowest address of the run that begins at a lane."""
        if lane not in self._addresses:
            w, group = self._w, self.group
            lanes = range(lane, lane + group.run)
            mask = w.builder.shuffle(w.mask, Poison(w.mask.type), lanes) if w.mask is not None else None
            first = first_address(w, group.leader.pointer, lanes, mask, group.stride)
            self._addresses[lane] = self.moved(first, self._back)
        return self._addresses[lane]

    def lane_at(self, place: int) -> int:
        """The lane whose structure is at a place in memory, places counted run after run."""
        if self.group.stride > 0:
            return place
        inside = place % self.group.run
        return place - inside + self.group.run - 1 - inside

    def in_lane_order(self, parts: list[Value]) -> list[Value]:
        """What was loaded for each part of `starts`, in the order of lanes."""
        if self.group.stride > 0:
            return parts
        each = self.group.run // self.lanes
        return [part for k in range(0, len(parts), each) for part in reversed(parts[k : k + each])]

    def accessed(self, register: int) -> bool:
        """Whether some member is in a register of a part, counted from 0."""
        first = register * self.lanes
        return any(self.covered[unit % self.units] for unit in range(first, first + self.lanes))

    def masks(self, start: int) -> list[Value] | None:
        """The masks of the registers of the part that begins at a lane: units that active lanes access.

        None when it is all of them. One for all registers together would be taken apart bit by bit: LLVM has no good
        code for masks that are no power of two long.
        """
        w, gapless = self._w, all(self.covered)
        if w.mask is None and gapless:
            return None
        masks: list[Value] = []
        for first in range(0, self.lanes * self.units, self.lanes):
            units = range(first, first + self.lanes)
            gaps = _constant_mask([self.covered[i % self.units] for i in units])
            if w.mask is None:
                masks.append(gaps)
                continue
            spread = [self.lane_at(start + i // self.units) for i in units]
            active = w.builder.shuffle(w.mask, Poison(w.mask.type), spread)
            masks.append(active if gapless else w.builder.binary("and", active, gaps))
        return masks


def widen_group_load(w: Widening, group: AccessGroup) -> None:
    """Make all loads of a group."""
    layout = _Layout(w, group)
    parts: dict[Member, list[Value]] = {m: [] for m in group.members}
    for start in layout.starts:
        registers, places = _load_part(w, layout, start)
        if group.in_memory_order:
            for member in group.members:
                parts[member].append(registers[layout.unit_of(member)])
            continue
        if layout.is_known_to_llvm:
            (whole,) = registers
            for member in group.members:
                picked = _picked(layout, member)
                parts[member].append(w.builder.shuffle(whole, Poison(whole.type), picked))
            continue
        if layout.is_square:
            registers = _in_place(w, registers, places)
            apart = taken_apart(w.builder, registers, [layout.unit_of(m) for m in group.members], w.isa)
            for member in group.members:
                parts[member].append(apart[layout.unit_of(member)])
            continue
        whole = concatenated(w.builder, registers)
        for member in group.members:
            picked = _picked(layout, member)
            parts[member].append(w.builder.shuffle(whole, Poison(whole.type), [places[p] for p in picked]))
    for member, vectors in parts.items():
        joined = concatenated(w.builder, layout.in_lane_order(vectors))
        w.set_vector(member.access, _as_type(w, joined, w.lanes.vector(member.access.type), member.access))


def _in_place(w: Widening, registers: list[Value], places: list[int]) -> list[Value]:
    """The registers with each unit at its own place; the last ones may have been loaded from further down."""
    found: list[Value] = []
    for i, register in enumerate(registers):
        assert isinstance(register.type, VectorType)
        count = register.type.count
        moved = places[i * count] - i * count
        if moved and not isinstance(register, Poison):
            order = [k + moved if k + moved < count else -1 for k in range(count)]
            register = w.builder.shuffle(register, Poison(register.type), order)
        found.append(register)
    return found


def _load_part(w: Widening, layout: _Layout, start: int) -> tuple[list[Value], list[int]]:
    """Registers with the units of some lanes, and at which place of them each unit is."""
    units, lanes = layout.units, layout.lanes
    count = units * lanes
    places = list(range(count))
    if layout.is_known_to_llvm:
        address, align = layout.part_address(start)
        whole = w.builder.load(
            VectorType(layout.type, count), address, align=align, name=layout.group.leader.name
        )
        whole.loc = layout.group.leader.loc
        return [whole], places
    # Without a mask the last register must not go beyond what is accessed.
    end = (lanes - 1) * units + layout.span if w.mask is None else count
    masks = None if w.mask is None else layout.masks(start)
    registers: list[Value] = []
    type = VectorType(layout.type, lanes)
    for i in range(units):
        first = min(i * lanes, end - lanes)
        for place in range(i * lanes, (i + 1) * lanes):
            places[place] += i * lanes - first
        if not layout.accessed(i):
            registers.append(Poison(type))
            continue
        address, align = layout.part_address(start, first)
        if masks is None:
            loaded: Value = w.builder.load(type, address, align=align, name=layout.group.leader.name)
        else:
            loaded = masked_load(w, type, address, masks[i], align)
        loaded.loc = layout.group.leader.loc
        registers.append(loaded)
    return registers, places


def _picked(layout: _Layout, member: Member) -> list[int]:
    """The units of a part that are a member's, in the order of lanes."""
    order = range(layout.lanes) if layout.group.stride > 0 else range(layout.lanes - 1, -1, -1)
    units = layout.group.units_of(member)
    return [place * layout.units + unit for place in order for unit in units]


def widen_group_store(w: Widening, group: AccessGroup) -> None:
    """Make all stores of a group."""
    layout = _Layout(w, group)
    by_unit = layout.is_square or group.in_memory_order
    registers_at = _registers_of_units(w, layout) if by_unit else _picked_registers(w, layout)
    in_pieces = is_stored_in_pieces(w, group)
    for start in layout.starts:
        registers = registers_at(start)
        if in_pieces:
            _store_pieces(w, layout, start, registers)
            continue
        masks = layout.masks(start)
        for i, register in enumerate(registers):
            if not layout.accessed(i):
                continue
            address, align = layout.part_address(start, i * layout.lanes)
            if masks is None:
                stored = w.builder.store(register, address, align=align)
            else:
                stored = masked_store(w, register, address, masks[i], align)
            stored.loc = group.leader.loc


def is_stored_in_pieces(w: Widening, group: AccessGroup) -> bool:
    """Whether the stores of a group are pieces of its structures, not whole registers."""
    return not group.in_memory_order and stores_pieces(w.isa, masked=w.mask is not None, gaps=group.has_gaps)


def _store_pieces(w: Widening, layout: _Layout, start: int, registers: list[Value]) -> None:
    """Store what is covered of the part that begins at a lane; passive lanes store theirs to a spare object."""
    b, lanes, units, group = w.builder, layout.lanes, layout.units, layout.group
    active: list[Value] = []
    if w.mask is not None:
        order = [layout.lane_at(start + k) for k in range(lanes)]
        bits = mask_bits(b, b.shuffle(w.mask, Poison(w.mask.type), order))
        assert isinstance(bits.type, IntType)
        nobody = ConstInt(bits.type, 0)
        active = [
            b.icmp("ne", b.binary("and", bits, ConstInt(bits.type, 1 << k)), nobody) for k in range(lanes)
        ]
    pieces = pieces_by_register(layout.covered, lanes, apart=bool(active))
    for first, register, each in zip(range(0, lanes * units, lanes), registers, pieces, strict=True):
        for piece in each:
            data = register
            if piece.count == 1:
                data = b.extract_element(register, ConstInt(I64, piece.begin))
            elif piece.count < lanes:
                places = list(range(piece.begin, piece.begin + piece.count))
                data = b.shuffle(register, Poison(register.type), places)
            address, align = layout.part_address(start, first + piece.begin)
            if active:
                spare = w.spare_place(data.type, address.type, written=True)
                address = b.select(active[(first + piece.begin) // units], address, spare)
                align = min(align, layout.unit)
            stored = b.store(data, address, align=align)
            stored.loc = group.leader.loc


def _member_data(w: Widening, member: Member, type: VectorType) -> Value:
    return _as_type(w, w.vector(member.access.stored_value), type, member.access)


def _registers_of_units(w: Widening, layout: _Layout) -> Callable[[int], list[Value]]:
    """What is stored for the part that begins at a lane, where each member is one unit of the structure."""
    width, lanes = w.lanes.width, layout.lanes
    units: list[Value] = [Poison(VectorType(layout.type, width))] * layout.units
    for member in layout.group.members:
        units[layout.unit_of(member)] = _member_data(w, member, VectorType(layout.type, width))

    def registers_at(start: int) -> list[Value]:
        part = list(range(start, start + lanes))
        pieces = [_slice(w, unit, part) for unit in units]
        return pieces if layout.group.in_memory_order else put_together(w.builder, pieces, w.isa)

    return registers_at


def _slice(w: Widening, vector: Value, part: list[int]) -> Value:
    assert isinstance(vector.type, VectorType)
    if isinstance(vector, Poison):
        return Poison(VectorType(vector.type.element, len(part)))
    return vector if vector.type.count == len(part) else w.builder.shuffle(vector, Poison(vector.type), part)


def _picked_registers(w: Widening, layout: _Layout) -> Callable[[int], list[Value]]:
    """What is stored for the part that begins at a lane: each register is picked out of all data."""
    width = w.lanes.width
    data: list[Value] = []
    found_at: dict[tuple[int, int], int] = {}
    """For a lane and a unit of its structure, the element of the data that belongs there."""
    filled = 0
    for member in layout.group.members:
        units = layout.group.units_of(member)
        data.append(_member_data(w, member, VectorType(layout.type, width * len(units))))
        for lane in range(width):
            for k, unit in enumerate(units):
                found_at[lane, unit] = filled + lane * len(units) + k
        filled += width * len(units)
    everything = concatenated(w.builder, data)

    def registers_at(start: int) -> list[Value]:
        picked = [
            found_at.get((layout.lane_at(start + i // layout.units), i % layout.units), -1)
            for i in range(layout.lanes * layout.units)
        ]
        each = len(picked) if layout.is_known_to_llvm else layout.lanes
        return [
            w.builder.shuffle(everything, Poison(everything.type), picked[k : k + each])
            for k in range(0, len(picked), each)
        ]

    return registers_at


def _as_type(w: Widening, value: Value, type: VectorType, access: Instruction) -> Value:
    """The same bits as another vector type."""
    if value.type == type:
        return value
    cast = w.builder.cast("bitcast", value, type)
    cast.loc = access.loc
    return cast


def _constant_mask(bits: list[bool]) -> Constant:
    return ConstAggregate(VectorType(I1, len(bits)), [TRUE if bit else FALSE for bit in bits])


def _common(align: int, *distances: int) -> int:
    """The alignment that is left at such distances from an aligned address."""
    return min(align, *(1 << min(trailing_zeros(d), 12) for d in distances))
