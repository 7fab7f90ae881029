"""Addresses of gathers and scatters: one base and a 32-bit number for each lane, where that is enough.

Machines gather by a base register and a vector of indices; with 32-bit indices one instruction serves twice the lanes.
An address is taken apart down to its object (`analysis.linear_locations`) and the rest is added up in 32 bits, in
units of up to 8 bytes, the largest scale that addressing knows. That is right where ranges prove that the sum fits, and
also where the object is smaller than 2 GiB: in lanes that access memory the sum over the integers lies within the
object, so its 32 low bits say all. Where the base is the beginning of an object, no such lane has a number below 0.

Of two arrays that each lane chooses from, ``a[k] if c else b[k]``, the numbers are chosen, and extended once behind the
base that is chosen: places in both of 64 bits would take twice the registers.
"""

from __future__ import annotations

from math import gcd

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.memory.alias import Location
from weft.codegen.widen.context import Widening, broadcast
from weft.codegen.widen.least_places import least_place
from weft.codegen.widen.low_products import low_product
from weft.codegen.widen.runs import lane_value
from weft.ir import Argument, BasicBlock, ConstInt, Instruction, Value
from weft.ir.function import GlobalVariable
from weft.ir.intrinsics import ARRAY_BYTES_ATTRIBUTE, SMALL_ARRAYS_ATTRIBUTE
from weft.ir.types import I8, I32, I64, IntType, int_type

MAX_UNIT = 8
_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1


class LaneNumbers(Struct, frozen=True):
    """Addresses as a base and 32-bit numbers of units, of which a part is the same in all lanes.

    Parameters
    ----------
    base
        One address.
    unit
        Bytes that a number counts for.
    same, own
        A scalar and a vector, whose sum is each lane's number; of one lane alone, two scalars.
    begins
        Whether an object begins at `base`: what is there can be read wherever any lane accesses memory.
    natural
        Whether no number of an active lane is below 0.
    """

    base: Value
    unit: int
    same: Value
    own: Value
    begins: bool
    natural: bool


def lane_addresses(w: Widening, access: Instruction, moved: int = 0) -> Value:
    """The addresses of all lanes' accesses, or those so many bytes behind them, as a vector of pointers."""
    numbers = lane_numbers(w, access, moved)
    if numbers is not None:
        return w.builder.gep(int_type(8 * numbers.unit), numbers.base, (each_number(w, numbers),))
    either = _of_either_base(w, access, moved)
    if either is not None:
        return either
    addresses = w.vector(access.pointer)
    return w.builder.gep(I8, addresses, (ConstInt(I64, moved),)) if moved else addresses


def _of_either_base(w: Widening, access: Instruction, moved: int) -> Value | None:
    """Addresses in one of two arrays, of which each lane chooses; None where they are not such."""
    location = w.addresses.location(access.pointer)
    choice = location.base
    if not isinstance(choice, Instruction) or choice.op != "select" or w.is_uniform(choice.operands[0]):
        return None
    if w.divergence.element_bytes(access.pointer) is not None:
        return None
    found: list[LaneNumbers] = []
    for way in choice.operands[1:]:
        begin = w.addresses.location(way)
        if not (w.is_scalar(begin.base) and w.is_uniform(begin.base)):
            return None
        terms = dict(begin.terms)
        for index, scale in location.terms.items():
            terms[index] = terms.get(index, 0) + scale
        whole = replace(begin, offset=begin.offset + location.offset, terms=terms)
        numbers = numbers_at(w, whole, access.block, moved)
        if numbers is None or not numbers.natural:
            return None
        found.append(numbers)
    one, other = found
    if one.unit != other.unit or one.base.type != other.base.type or one.base is other.base:
        return None
    chosen = w.vector(choice.operands[0])
    number = w.builder.select(chosen, each_number(w, one), each_number(w, other))
    first, second = (broadcast(w.builder, each.base, w.lanes) for each in found)
    wide = w.builder.cast("zext", number, w.lanes.vector(I64))
    return w.builder.gep(int_type(8 * one.unit), w.builder.select(chosen, first, second), (wide,))


def each_number(w: Widening, numbers: LaneNumbers) -> Value:
    """The numbers of all lanes, as a vector."""
    if numbers.same == ConstInt(I32, 0):
        return numbers.own
    return w.builder.binary("add", broadcast(w.builder, numbers.same, w.lanes), numbers.own)


def lane_numbers(
    w: Widening, access: Instruction, moved: int = 0, *, lane: int | None = None
) -> LaneNumbers | None:
    """The addresses as one base and 32-bit numbers, or that of one lane; None where these are not enough."""
    if not has_one_base(w, access):
        return None
    return numbers_at(w, w.addresses.location(access.pointer), access.block, moved, lane=lane)


def numbers_at(
    w: Widening, found: Location, block: BasicBlock | None, moved: int = 0, *, lane: int | None = None
) -> LaneNumbers | None:
    """The same of an access of `block` to a location that all lanes count from one address."""
    location = replace(found, offset=found.offset + moved)
    unit = gcd(MAX_UNIT, location.offset, *location.terms.values())
    low, high = _bounds(w, location, unit, block)
    if not (_is_small(w, location.base, unit) or (low >= _SMALLEST and high <= _LARGEST)):
        return None
    begins = _begins(location.base)
    least = least_place(w, found, block) if begins and lane is None else None
    if least is not None:
        place, scale = least
        own_number = _times(w, place, ConstInt(I32, scale // unit))
        return LaneNumbers(
            w.scalar(location.base), unit, ConstInt(I32, moved // unit), own_number, begins, begins
        )
    same: Value = ConstInt(I32, location.offset // unit)
    own: Value | None = None
    for index, scale in location.terms.items():
        number, factor = _as_i32(w, index, lane, block), ConstInt(I32, scale // unit)
        if w.is_uniform(index):
            same = w.builder.binary("add", _times(w, number, factor), same)
        else:
            number = _times(w, number, factor)
            own = w.builder.binary("add", own, number) if own is not None else number
    zero = ConstInt(I32, 0)
    return LaneNumbers(
        w.scalar(location.base),
        unit,
        same,
        own or (w.lanes.splat(zero) if lane is None else zero),
        begins,
        begins or low >= 0,
    )


def _times(w: Widening, number: Value, factor: ConstInt) -> Value:
    if factor.value == 1:
        return number
    return w.builder.binary("mul", number, w.lanes.splat(factor) if number.type.is_vector else factor)


def has_one_base(w: Widening, access: Instruction) -> bool:
    """Whether all lanes' addresses are counted from one address."""
    base = w.addresses.location(access.pointer).base
    is_one = not base.type.is_vector and w.is_scalar(base) and w.is_uniform(base)
    return is_one and w.divergence.element_bytes(access.pointer) is None


def _is_small(w: Widening, base: Value, unit: int) -> bool:
    """Whether it is the address of an object of less than 2 GiB or 2^31 units, or of a place within one."""
    if isinstance(base, Argument):
        most = _array_bytes(base)
        return w.source.attribute(SMALL_ARRAYS_ATTRIBUTE) is not None or (
            most is not None and most <= unit << 31
        )
    return _is_object(base)


def _begins(base: Value) -> bool:
    """Whether an object begins there."""
    return _is_object(base) or (isinstance(base, Argument) and _array_bytes(base) is not None)


def _is_object(base: Value) -> bool:
    return isinstance(base, GlobalVariable) or (isinstance(base, Instruction) and base.op == "alloca")


def _array_bytes(base: Argument) -> int | None:
    """How many bytes the array that begins there has at most."""
    most = base.attribute(ARRAY_BYTES_ATTRIBUTE)
    return None if most is None else int(most)


def _bounds(w: Widening, location: Location, unit: int, block: BasicBlock | None) -> tuple[int, int]:
    """What ranges know of the sum over the integers."""
    low = high = location.offset // unit
    ranges = w.divergence.engine.ranges
    for index, scale in location.terms.items():
        assert isinstance(index.type, IntType)
        known = ranges.at(index, block) if ranges is not None else None
        half = 1 << (index.type.bits - 1)
        bounds = (-half, half - 1) if known is None else (known.lo, known.hi)
        ends = [bound * scale // unit for bound in bounds]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _as_i32(w: Widening, index: Value, lane: int | None, block: BasicBlock | None) -> Value:
    """The low 32 bits of an index, which is extended by sign to an address; a scalar of a uniform one."""
    assert isinstance(index.type, IntType)
    if lane is not None:
        value = lane_value(w, index, lane)
    elif (product := low_product(w, index, block)) is not None:
        return product
    else:
        value = w.scalar(index) if w.is_uniform(index) else w.vector(index)
    if index.type.bits == 32:
        return value
    op = "trunc" if index.type.bits > 32 else "sext"
    return w.builder.cast(op, value, w.lanes.vector(I32) if value.type.is_vector else I32)
