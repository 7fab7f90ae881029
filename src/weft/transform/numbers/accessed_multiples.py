"""Multiples of one number that are extended and accessed: computed without wrap-around.

``a[3*i + 1]`` of an ``int`` may wrap around in PTX, in three ways that compilers write it:

    sext(mul(i, 3) + 1)          ashr(mul(i, 3 << 32) + (1 << 32), 32)          sext((4*i | 1) - i)

All of them are the low 32 bits of one multiple, with their sign or without; a shift by 30 makes bytes of four of it.
What is accessed has an interval (`accessed_indices`), and what is known of the number another one. If both are so small
that no other number of the second has the low bits of one in the first, the multiple is what is accessed, and has not
wrapped around.

Precondition: canonical form, without predicates, shadows and guards. Preserves the program under FR: new flags concern
threads only of which the access was undefined.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.integers.intervals import Interval, full
from weft.analysis.integers.ranges import Ranges
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.types import I32, I64
from weft.transform.numbers.accessed_indices import window

_WRAP = 1 << 32
_INT = full(32)
_MAX_DEPTH = 8


class _Multiple(Struct, frozen=True):
    """``factor·number + offset``, where nothing counts but the low bits; of no number, it is the offset."""

    number: Value | None
    factor: int
    offset: int


def is_cut_multiple(extension: Instruction) -> bool:
    """Whether it may be the low 32 bits of a multiple, extended to 64."""
    if extension.op in ("sext", "zext"):
        sum = extension.operands[0]
        return extension.type == I64 and sum.type == I32 and _is_computed(sum)
    if extension.op not in ("ashr", "lshr") or extension.type != I64:
        return False
    sum, amount = extension.operands
    if not isinstance(amount, ConstInt) or not _is_computed(sum):
        return False
    return amount.value == 32 or (16 <= amount.value < 32 and "exact" in extension.flags)


def _is_computed(value: Value) -> bool:
    return isinstance(value, Instruction) and (
        value.op in ("add", "sub", "mul", "shl") or "disjoint" in value.flags
    )


def accessed_multiple(extension: Instruction, ranges: Ranges, function: Function) -> Value | None:
    """What may be used instead of an extension, of which the multiple does not wrap around; None if it may."""
    found = _multiple(extension.operands[0], 0)
    if found.number is None:
        return None
    factor, offset, bytes = found.factor, found.offset, 1
    if extension.op in ("ashr", "lshr"):
        # Numbers of 64 bits, of which the upper half is what counts.
        if factor % _WRAP or offset % _WRAP:
            return None
        factor, offset = factor // _WRAP, offset // _WRAP
        amount = extension.operands[1]
        assert isinstance(amount, ConstInt)
        bytes = _WRAP >> amount.value
    factor, offset = _signed(factor), _signed(offset)
    wanted = window(extension, function) if abs(factor) > 1 and extension.is_used else None
    if wanted is None:
        return None
    least, most = (_INT.lo, _INT.hi) if extension.op in ("sext", "ashr") else (0, _WRAP - 1)
    wanted = Interval(max(-(-wanted.lo // bytes), least), min(wanted.hi // bytes, most))
    number, known = _whole(found.number, extension, ranges)
    ends = sorted((factor * known.lo + offset, factor * known.hi + offset))
    if wanted.lo > wanted.hi or ends[1] >= wanted.lo + _WRAP or ends[0] <= wanted.hi - _WRAP:
        return None
    builder = Builder(before=extension)
    builder.loc = extension.loc
    fits = _INT.lo <= wanted.lo - offset and wanted.hi - offset <= _INT.hi and wanted.hi <= _INT.hi
    if number.type == I32 and not fits:
        number = builder.cast("sext", number, I64)
    value: Value = builder.binary("mul", number, _number(number, factor * bytes), ("nsw",))
    if offset:
        value = builder.binary("add", value, _number(number, offset * bytes), ("nsw",))
    return value if value.type == I64 else builder.cast("sext", value, I64)


def _number(like: Value, number: int) -> ConstInt:
    return ConstInt(I64 if like.type == I64 else I32, number)


def _whole(number: Value, at: Instruction, ranges: Ranges) -> tuple[Value, Interval]:
    """A number, or what it was cut from if that is no more, and what it is in.

    LLVM would compute the multiple of what it is cut from, and cut that.
    """
    known = ranges.at(number, at.block)
    if isinstance(number, Instruction) and number.op == "trunc" and number.operands[0].type == I64:
        source = number.operands[0]
        wide = ranges.at(source, at.block)
        if wide is not None and _INT.lo <= wide.lo and wide.hi <= _INT.hi:
            return source, wide
    return number, known or full(32 if number.type == I32 else 64)


def _signed(number: int) -> int:
    """The number of 32 bits that has the low bits of another one."""
    return (number - _INT.lo) % _WRAP + _INT.lo


def _multiple(value: Value, depth: int) -> _Multiple:
    """A value as a multiple of one number: of itself where there are several in it."""
    if isinstance(value, ConstInt):
        return _Multiple(None, 0, value.signed)
    whole = _Multiple(value, 1, 0)
    if not isinstance(value, Instruction) or depth > _MAX_DEPTH or not _is_computed(value):
        return whole
    first, second = (_multiple(operand, depth + 1) for operand in value.operands)
    if value.op in ("mul", "shl"):
        if second.number is not None or (value.op == "shl" and not 0 <= second.offset < 64):
            return whole
        times = second.offset if value.op == "mul" else 1 << second.offset
        return _Multiple(first.number, first.factor * times, first.offset * times)
    if first.number is not None and second.number is not None and first.number is not second.number:
        return whole
    sign = -1 if value.op == "sub" else 1
    number = first.number if first.number is not None else second.number
    return _Multiple(number, first.factor + sign * second.factor, first.offset + sign * second.offset)
