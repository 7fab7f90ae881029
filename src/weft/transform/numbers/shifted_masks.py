"""Multiples of quotients by powers of two: LLVM writes them as a shift and a mask, which hide what lanes share.

    and (lshr x, a), -2^b       shl (lshr x, a + b), b            as (x // 2^(a+b)) * 2^b is in the source
    and (lshr x, a), m          shl (and (lshr x, a + b), m >> b), b      where m has b zeros at its end

Of W lanes that begin at a multiple of W, all have the quotient by 2^(a+b) in common if that is at least W; of the
quotient by 2^a, which is less, no shape can be told. ``ashr`` is taken in the same way, and a ``trunc`` between shift
and mask stays where it is. LLVM's pipeline behind the passes makes one of both again.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no mask clears low bits of what a constant
shifts to the right. Preserves the program under FR: bit b + i of the result is bit a + b + i of x on either side.
"""

from __future__ import annotations

from weft.analysis.integers.bounds import trailing_zeros
from weft.analysis.integers.intervals import unsigned
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType

_SHIFTS = ("lshr", "ashr")


def separate_multiples(function: Function) -> int:
    """Write such masks as quotients and multiples; return how many there were."""
    found = [(i, shift) for i in function.instructions() if (shift := _masked_shift(i)) is not None]
    if not found:
        return 0
    ranges = ranges_of(function, cfg_of(function))
    # What is known is of the program as it is.
    widths = [_bits_seen(mask, shift, ranges) for mask, shift in found]
    for (mask, shift), bits in zip(found, widths, strict=True):
        _separate(mask, shift, bits)
    return len(found)


def _masked_shift(instruction: Instruction) -> Instruction | None:
    """The shift to the right by a constant whose low bits the instruction clears."""
    if instruction.op != "and" or not isinstance(mask := instruction.operands[1], ConstInt):
        return None
    number = instruction.operands[0]
    if isinstance(number, Instruction) and number.op == "trunc":
        number = number.operands[0]
    if not isinstance(number, Instruction) or number.op not in _SHIFTS:
        return None
    amount, type = number.operands[1], number.type
    if not isinstance(amount, ConstInt) or not isinstance(type, IntType) or not mask.value:
        return None
    cleared = trailing_zeros(mask.value)
    return number if cleared and amount.value > 0 and amount.value + cleared < type.bits else None


def _bits_seen(mask: Instruction, shift: Instruction, ranges: Ranges) -> int:
    """How many low bits of the masked number may differ from zero."""
    assert isinstance(mask.type, IntType)
    known = ranges.at(mask.operands[0], mask.block)
    return mask.type.bits if known is None else unsigned(known, mask.type.bits)[1].bit_length()


def _separate(mask: Instruction, shift: Instruction, bits: int) -> None:
    number, amount, kept = shift.operands[0], shift.operands[1], mask.operands[1]
    assert isinstance(amount, ConstInt) and isinstance(kept, ConstInt) and isinstance(mask.type, IntType)
    cleared = trailing_zeros(kept.value)
    builder = Builder(before=mask)
    builder.loc = mask.loc
    is_whole = mask.operands[0] is shift
    quotient: Value = builder.binary(shift.op, number, const_int(amount.value + cleared, amount.type))
    if not is_whole:
        quotient = builder.cast("trunc", quotient, mask.type)
    left = ((1 << bits) - 1) >> cleared
    is_natural = bits < mask.type.bits or (is_whole and shift.op == "lshr")
    # No multiple is further from zero than the shifted number.
    flags = ("nuw", "nsw") if is_natural else ()
    if (kept.value >> cleared) & left != left:
        quotient = builder.binary("and", quotient, const_int(kept.value >> cleared, mask.type))
    elif is_whole and not is_natural:
        flags = ("nsw",)
    replace_and_erase(mask, builder.binary("shl", quotient, const_int(cleared, mask.type), flags=flags))
