"""Places that count from the end where an index is negative, as the least of two unsigned numbers.

    number = i + (n if i < 0 else 0)     ==>     number = umin(i, i + n)

So it is for each i from -n on that 31 bits hold. An index that is not negative is less than what n below 2^31 is added
to; one that is negative is 2^31 or more without its sign, and its place is less. An index below -n has its place before
the array, where no lane accesses memory: an object begins at the base, and the sum over the integers lies within it
(`weft.codegen.widen.lane_addresses`). Where masks are elements of registers, a comparison, an `and` and a sum become a
sum and the least of two. Where there are registers for masks, two instructions are two, as one adds under a mask; but
results wait three cycles for the mask. There, places in several arrays of one index keep the mask, which they share.

It is known here, where an access is at hand, and not of the choice itself: what else analyses ask of that stays.
Elements of more dimensions than one have a sum of several choices, of which only the whole is known to be natural.

Precondition: an access to a small object that begins at its base. Postcondition: numbers that are the same in all
lanes that access memory.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.alias import Location
from weft.codegen.widen.context import Widening, broadcast
from weft.codegen.widen.masked import mangled
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.constants import is_zero
from weft.ir.types import I32, IntType

_END = 1 << 31


class _Choice(Struct, frozen=True):
    """``length if number < bound else 0``: the index ``number - bound`` counts from the end where it is negative."""

    question: Instruction
    number: Value
    bound: int
    length: Value


def least_place(w: Widening, location: Location, block: BasicBlock | None) -> tuple[Value, int] | None:
    """The place of each lane as a vector of 32-bit numbers, and how many bytes one of them counts for.

    None where the location, that of an access of `block`, is no place of the kind, or lanes have no such operation.
    """
    if not w.isa.has_least_of_unsigned or len(location.terms) != 2:
        return None
    one, two = location.terms
    for term, other in ((one, two), (two, one)):
        choice, scale = _choice(term), location.terms[term]
        if choice is None or scale != location.terms[other] or scale <= 0 or w.is_uniform(choice.number):
            continue
        if w.isa.mask_registers and any(user is not term for user in choice.question.instruction_users()):
            continue
        if _is_index(choice, other, location.offset, scale) and _is_length(w, choice.length, block):
            return _least(w, choice), scale
    return None


def _choice(term: Value) -> _Choice | None:
    if not isinstance(term, Instruction) or term.op != "select" or not is_zero(term.operands[2]):
        return None
    question, length, _ = term.operands
    if not isinstance(question, Instruction) or question.op != "icmp" or question.predicate != "slt":
        return None
    number, bound = question.operands
    if not isinstance(number.type, IntType) or not isinstance(bound, ConstInt) or abs(bound.signed) >= _END:
        return None
    return _Choice(question, number, bound.signed, length)


def _is_index(choice: _Choice, other: Value, offset: int, scale: int) -> bool:
    """Whether the index that a choice is for is what the lanes' other term and the offset come to.

    If a sum of 32 bits or more wrapped around, the sum over the integers would lie outside any small object.
    """
    number = _unextended(choice.number)
    offset += choice.bound * scale
    while offset and isinstance(number, Instruction) and number.op == "add":
        assert isinstance(number.type, IntType)
        may_wrap = number.type.bits < I32.bits and "nsw" not in number.flags
        number, more = number.operands
        if may_wrap or not isinstance(more, ConstInt):
            return False
        offset -= more.signed * scale
        number = _unextended(number)
    return offset == 0 and number is _unextended(other)


def _unextended(value: Value) -> Value:
    """What a number is extended of by its sign."""
    while isinstance(value, Instruction) and value.op == "sext":
        (value,) = value.operands
    return value


def _is_length(w: Widening, length: Value, block: BasicBlock | None) -> bool:
    """Whether it is from 0 up to less than 2^31."""
    ranges = w.divergence.engine.ranges
    known = ranges.at(length, block) if ranges is not None else None
    return known is not None and known.lo >= 0 and known.hi < _END


def _least(w: Widening, choice: _Choice) -> Value:
    index = _low(w, choice.number)
    if choice.bound:
        bound = w.lanes.splat(ConstInt(I32, -choice.bound & 0xFFFF_FFFF))
        index = w.builder.binary("add", index, bound)
    from_end = w.builder.binary("add", index, _low(w, choice.length))
    type = w.lanes.vector(I32)
    return w.builder.call(w.intrinsic(f"llvm.umin.{mangled(type)}", type, (type, type)), (index, from_end))


def _low(w: Widening, value: Value) -> Value:
    """The low 32 bits of a number in each lane, or the number extended by its sign."""
    assert isinstance(value.type, IntType)
    bits = value.type.bits
    known = w.scalar(value) if w.is_uniform(value) else w.vector(value)
    if bits != I32.bits:
        type = w.lanes.vector(I32) if known.type.is_vector else I32
        known = w.builder.cast("trunc" if bits > I32.bits else "sext", known, type)
    return known if known.type.is_vector else broadcast(w.builder, known, w.lanes)
