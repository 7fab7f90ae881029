"""Votes under masks that are kept as numbers of bits are asked of numbers of bits.

Lanes that share a stack keep with each node which of them put it there, as bits of a number. What a lane does at a node
is decided under that mask, and who does it is what is kept with the next nodes. As vectors, each such number is spread
over the lanes, joined with the comparison, and taken out again: one node waits for the other that long::

    lanes = load; on = (lanes & (1, 2, 4, ...)) != 0
    goes = select on, test, false                 ==>    who = (bits of freeze test) & lanes
    who = bits of goes
    if who != 0: ...select goes, ...; store who          if who != 0: ...select (who & (1, 2, 4, ...)) != 0, ...

So the bits of a comparison are joined with the number, and the mask is made of what comes of it only where lanes use
it. Then a node waits for the one before it no longer than for a load and an ``and``.

A test may be poison in lanes that are off, so what it compares is frozen. The interpreter, for which a number is
undefined as a whole if one bit of it is, does not see this: it comes behind the last program that it runs.

Precondition: plain LLVM IR. Postcondition: where the processor has vectors of 256 bits, and a number is spread over the
lanes in two registers at most, bits of masks that are made of such numbers are made of the numbers. Preserves what
functions give, in all lanes.
"""

from __future__ import annotations

from weft.ir import BasicBlock, Builder, ConstInt, ConstSplat, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import ConstAggregate, Constant, ConstZero
from weft.ir.types import I1, IntType, VectorType
from weft.machine.targets import Isa


def number_masks(function: Function, isa: Isa) -> int:
    """Make bits of masks of the numbers that these are made of; of how many masks."""
    if isa.vector_bits < 256:
        # To spread a number over lanes takes longer than to take it out of them.
        return 0
    found: dict[Instruction, Value] = {}
    for block in function.blocks:
        for i in list(block.instructions):
            if _joins(i) and any(u.op == "bitcast" for u in i.instruction_users()):
                spread = _spread_in(i)
                if spread is not None and _is_spread_fast(spread, isa):
                    found[i] = _number(i, spread, found)
    if found:
        remove_dead_instructions(function)
    return len(found)


def _joins(value: Value) -> bool:
    """Whether a value is a mask of the lanes that are in one mask and in another."""
    return (
        isinstance(value, Instruction)
        and value.op == "select"
        and isinstance(value.type, VectorType)
        and value.type.element == I1
        and value.operands[0].type == value.type
        and _is_zero(value.operands[2])
    )


def _spread_in(mask: Value) -> Instruction | None:
    """Among the masks that one is joined of, one that is made of a number."""
    while isinstance(mask, Instruction):
        if _is_spread(mask):
            return mask
        if not _joins(mask):
            return None
        other = _spread_in(mask.operands[1])
        if other is not None:
            return other
        mask = mask.operands[0]
    return None


def _is_spread(mask: Instruction) -> bool:
    """Whether a mask has the lanes whose bits a number has."""
    type = mask.type
    if mask.op != "icmp" or mask.predicate != "ne" or not isinstance(type, VectorType) or type.element != I1:
        return False
    both, zero = mask.operands
    if not isinstance(both, Instruction) or both.op != "and" or not _is_zero(zero):
        return False
    vector, bits = both.operands
    number = _number_of(vector)
    if number is None or not isinstance(number.type, IntType) or number.type.bits < type.count:
        return False
    return _is_bit_per_lane(bits)


def _is_spread_fast(mask: Instruction, isa: Isa) -> bool:
    """Whether a number is spread over the lanes in one register or two, or in one for masks."""
    both = mask.operands[0]
    assert isinstance(both.type, VectorType) and isinstance(both.type.element, IntType)
    return isa.mask_registers > 0 or both.type.count * both.type.element.bits <= 2 * isa.vector_bits


def _number_of(vector: Value) -> Value | None:
    """What all lanes of a vector are; None where that is not the same."""
    if not isinstance(vector, Instruction) or vector.op != "shufflevector":
        return None
    one = vector.operands[0]
    if any(vector.attrs["mask"]) or not isinstance(one, Instruction) or one.op != "insertelement":
        return None
    place = one.operands[2]
    return one.operands[1] if isinstance(place, ConstInt) and place.value == 0 else None


def _is_bit_per_lane(bits: Value) -> bool:
    if isinstance(bits, Instruction) and bits.op == "shl":
        one, places = bits.operands
        if not isinstance(one, ConstSplat) or one.element != const_int(1, one.element.type):
            return False
        return isinstance(places, ConstAggregate) and all(
            isinstance(p, ConstInt) and p.value == lane for lane, p in enumerate(places.elements)
        )
    return isinstance(bits, ConstAggregate) and all(
        isinstance(b, ConstInt) and b.value == 1 << lane for lane, b in enumerate(bits.elements)
    )


def _number(mask: Instruction, spread: Instruction, found: dict[Instruction, Value]) -> Value:
    """Put the bits of a mask behind it, and have them used."""
    block = mask.block
    assert block is not None and isinstance(mask.type, VectorType)
    builder = Builder(before=block.instructions[block.instructions.index(mask) + 1])
    builder.loc = mask.loc
    type = IntType(mask.type.count)
    bits = _bits(mask, type, builder, found)
    for user in list(mask.instruction_users()):
        if user.op == "bitcast" and user.type == type:
            user.replace_all_uses(bits)
            user.erase()
    spreads: dict[BasicBlock, Instruction] = {}
    for user in list(mask.instruction_users()):
        if user.block is not block and not user.is_phi:
            assert user.block is not None
            if user.block not in spreads:
                spreads[user.block] = _spread(bits, spread, user.block)
            user.replace_operand(mask, spreads[user.block])
    return bits


def _bits(mask: Value, type: IntType, builder: Builder, found: dict[Instruction, Value]) -> Value:
    if isinstance(mask, Instruction):
        if mask in found:
            return found[mask]
        if _is_spread(mask):
            both = mask.operands[0]
            assert isinstance(both, Instruction)
            number = _number_of(both.operands[0])
            assert number is not None and isinstance(number.type, IntType)
            number = builder.unary("freeze", number)
            return number if number.type == type else builder.cast("trunc", number, type)
        if _joins(mask):
            first, second = (_bits(v, type, builder, found) for v in mask.operands[:2])
            return builder.binary("and", first, second)
        if mask.op == "xor" and isinstance(mask.operands[1], ConstSplat):
            return builder.binary("xor", _bits(mask.operands[0], type, builder, found), const_int(-1, type))
    return builder.cast("bitcast", _frozen(mask, builder), type)


def _frozen(mask: Value, builder: Builder) -> Value:
    """A mask that is some mask where it is poison; what is compared is frozen, as vectors of i1 are packed for that."""
    if isinstance(mask, Instruction) and mask.op == "xor" and isinstance(mask.operands[1], ConstSplat):
        return builder.binary("xor", _frozen(mask.operands[0], builder), mask.operands[1])
    if isinstance(mask, Instruction) and mask.op in ("fcmp", "icmp"):
        left, right = (v if isinstance(v, Constant) else builder.unary("freeze", v) for v in mask.operands)
        return builder.compare(mask.op, mask.predicate, left, right)
    return builder.unary("freeze", mask)


def _spread(bits: Value, model: Instruction, block: BasicBlock) -> Instruction:
    """The mask of some bits, as another one is made of a number."""
    both, zero = model.operands
    assert isinstance(both, Instruction)
    number, places = both.operands
    assert isinstance(number, Instruction) and isinstance(number.type, VectorType)
    element = number.type.element
    builder = Builder.after_phis(block)
    one = number.operands[0]
    assert isinstance(one, Instruction) and isinstance(bits.type, IntType) and isinstance(element, IntType)
    wide = bits if bits.type == element else builder.cast("zext", bits, element)
    inserted = builder.insert_element(one.operands[0], wide, one.operands[2])
    spread = builder.shuffle(inserted, number.operands[1], number.attrs["mask"])
    return builder.icmp("ne", builder.binary("and", spread, places), zero)


def _is_zero(value: Value) -> bool:
    if isinstance(value, ConstSplat):
        value = value.element
    return isinstance(value, ConstZero) or (isinstance(value, ConstInt) and value.value == 0)
