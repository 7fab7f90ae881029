"""Accesses of lanes that often are neighbours, though no shape can say so: asked at run time.

``shared[2*t - (t & (distance - 1))]`` of a butterfly is contiguous wherever `distance` is at least W, and so is
``row[(i + shift) % n]`` but for the lane group with the seam in it. A gather costs some ten times as much as a vector
access; to compare the lanes' numbers with those of neighbours costs a few instructions. So where the index is computed
from thread numbers and uniform values alone, both versions are there and a branch takes one of them. An index that
comes from memory is nobody's neighbour and is gathered right away, and so are rows of a matrix, which are one number
apart that is not known but hardly one element (``points[i, d]``). Nor is it asked where ranges say that the lanes of a
row have fewer places than there are lanes: ``pattern[i & 7]`` in 16. Where only the question whether an index counts
from the end makes it no number of a shape, one lane is asked (`weft.codegen.widen.front_neighbours`).

In lane spaces of several dimensions that is asked of each row along the first one, and each row is an access.

Numbers have 32 bits where these are enough (`weft.codegen.widen.lane_addresses`), otherwise 64.

Under a mask, passive lanes take part in the comparison, but not in the access.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from weft.analysis.memory.computed_indices import is_computed
from weft.analysis.memory.row_steps import row_step
from weft.analysis.shapes import SYMBOLIC
from weft.codegen.widen.context import Widening, broadcast, mask_bits
from weft.codegen.widen.front_neighbours import by_fronts
from weft.codegen.widen.lane_addresses import has_one_base, lane_numbers
from weft.ir import Builder, ConstInt, Instruction, Poison, Value
from weft.ir.types import I8, I32, I64, IntType, int_type

_LARGEST = (1 << 31) - 1

_LEAST_UNIT = 2
"""Bytes of a unit of which no object holds so many that 32 bits of their number could run over within it."""


class Neighbours(Struct, frozen=True):
    """Whether in each row addresses are those of neighbours, an i1, None if they always are; and the first of each."""

    hold: Value | None
    addresses: Sequence[Value]


def neighbours_of(w: Widening, access: Instruction) -> Neighbours | None:
    """Compare the addresses of a gather or scatter; None where that has little hope."""
    layout, type = w.module.layout, access.accessed_type
    size = layout.store_size(type)
    location = w.addresses.location(access.pointer)
    varying = [index for index in location.terms if not w.is_uniform(index)]
    if layout.bit_size(type) != 8 * size:
        return None
    found = _by_stride(w, access, size) if varying else None
    if found is not None or (varying and all(w.is_scalar(index) for index in varying)):
        return found
    if varying and (front := by_fronts(w, access, size, *row_of(w))) is not None:
        return Neighbours(*front)
    if not is_computed(varying, w.is_scalar):
        return None
    along = row_of(w)[0]
    if all(w.divergence.shape(index).strides[along] == SYMBOLIC for index in varying):
        return None
    if _stays_too_near(w, access, varying, size):
        return None
    numbers = lane_numbers(w, access)
    if numbers is None or size % numbers.unit:
        return _by_offsets(w, access, size)
    builder, step = w.builder, size // numbers.unit
    row = row_of(w)[1]
    firsts, hold = _are_steps(w, numbers.own, step, row)
    addresses: list[Value] = []
    for first in firsts:
        number = builder.binary("add", numbers.same, first)
        if w.mask is not None:
            # A passive first lane may be so far away that 32 bits run over between it and those that are active.
            last = ConstInt(I32, _LARGEST - step * row)
            hold = builder.binary("and", hold, builder.icmp("sle", number, last))
        addresses.append(builder.gep(int_type(8 * numbers.unit), numbers.base, (number,)))
    return Neighbours(hold, addresses)


def _stays_too_near(w: Widening, access: Instruction, varying: Sequence[Value], size: int) -> bool:
    """Whether the lanes of a row have fewer places than there are lanes, as those of ``table[i & 7]``."""
    along, row = row_of(w)
    location, ranges, span = w.addresses.location(access.pointer), w.divergence.engine.ranges, 0
    for index in varying:
        if w.divergence.shape(index).strides[along] == 0:
            continue
        known = ranges.at(index, access.block) if ranges is not None else None
        if known is None:
            return False
        span += abs(location.terms[index]) * (known.hi - known.lo)
    return span < size * (row - 1)


def row_of(w: Widening) -> tuple[int, int]:
    """The first dimension that has several lanes, and how many make a row along it."""
    return next(((d, extent) for d, extent in enumerate(w.lanes.extents) if extent > 1), (0, 1))


def _are_steps(w: Widening, own: Value, step: int, row: int) -> tuple[list[Value], Value]:
    """The first of the numbers of each row, and whether each number is one step behind the one before it in its row."""
    builder, width = w.builder, w.lanes.width
    own = builder.unary("freeze", own) if w.mask is not None else own
    firsts: list[Value] = [builder.extract_element(own, ConstInt(I32, lane)) for lane in range(0, width, row)]
    type = firsts[0].type
    assert isinstance(type, IntType)
    steps = w.lanes.constant(type, [step * (lane % row) for lane in range(width)])
    if row == width:
        first = broadcast(builder, firsts[0], w.lanes)
    else:
        first = builder.shuffle(own, Poison(own.type), [lane - lane % row for lane in range(width)])
    hold = mask_bits(builder, builder.icmp("eq", own, builder.binary("add", first, steps)))
    return firsts, builder.icmp("eq", hold, ConstInt(int_type(width), -1))


def _by_offsets(w: Widening, access: Instruction, size: int) -> Neighbours | None:
    """The same by bytes from one base, in 64 bits: of arrays that may be of any size."""
    builder, location = w.builder, w.addresses.location(access.pointer)
    if not has_one_base(w, access) or any(_bits(index) > I64.bits for index in location.terms):
        return None
    own: Value | None = None
    address: Value = w.scalar(location.base)
    if location.offset:
        address = builder.gep(I8, address, (ConstInt(I64, location.offset),))
    for index, scale in location.terms.items():
        if w.is_uniform(index):
            address = builder.gep(I8, address, (_bytes_of(builder, w.scalar(index), ConstInt(I64, scale)),))
        else:
            moved = _bytes_of(builder, w.vector(index), w.lanes.splat(ConstInt(I64, scale)))
            own = builder.binary("add", own, moved) if own is not None else moved
    assert own is not None
    firsts, hold = _are_steps(w, own, size, row_of(w)[1])
    return Neighbours(hold, [builder.gep(I8, address, (first,)) for first in firsts])


def _bits(index: Value) -> int:
    assert isinstance(index.type, IntType)
    return index.type.bits


def _bytes_of(builder: Builder, index: Value, scale: Value) -> Value:
    """An index, which is extended by sign to an address, times what it counts for."""
    type = scale.type
    wide = builder.cast("sext", index, type) if index.type != type else index
    return builder.binary("mul", wide, scale)


def _by_stride(w: Widening, access: Instruction, size: int) -> Neighbours | None:
    """Addresses whose numbers of 32 bits are neighbours, though those of 64 bits would wrap around in passive lanes.

    A lane that accesses memory has a number within its object. Where the 32 bits run over between two lanes, those on
    one side are out of it, so that they are passive, and the others are as far from the first of their row as their
    numbers say.
    """
    along, row = row_of(w)
    if row_step(w.divergence, w.addresses.location(access.pointer), along) != size:
        return None
    addresses: list[Value] = []
    for lane in range(0, w.lanes.width, row):
        numbers = lane_numbers(w, access, lane=lane)
        if numbers is None or numbers.unit < _LEAST_UNIT:
            return None
        number = w.builder.binary("add", numbers.same, numbers.own)
        addresses.append(w.builder.gep(int_type(8 * numbers.unit), numbers.base, (number,)))
    return Neighbours(None, addresses)


def in_two_ways(
    w: Widening, hold: Value, together: Callable[[], Instruction], apart: Callable[[], Instruction]
) -> Instruction:
    """Build both accesses and a branch to one of them; the value is that of the one taken."""
    builder = w.builder
    near = w.new_block("neighbours")
    far = w.target.add_block("apart", after=near)
    done = w.target.add_block("accessed", after=far)
    builder.cond_br(hold, near, far)
    results = []
    for block, build in ((near, together), (far, apart)):
        builder.at_end(block)
        results.append((build(), block))
        builder.br(done)
    builder.at_end(done)
    value, _ = results[0]
    if value.type.is_void:
        return value
    phi = builder.phi(value.type)
    for value, block in results:
        phi.add_incoming(value, block)
    return phi
