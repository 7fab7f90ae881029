"""Conversions between floats and integers of 64 bits that are known to fit in 32 are of 32 bits.

``int(x)`` has 64 bits in Python, and below AVX-512 there is no instruction for vectors of that: LLVM takes them apart,
lane by lane, and so it does where the integer becomes a float again. Where ``x`` was compared with bounds, or is the
lesser or greater of a number and one, its range is known (`weft.analysis.integers.converted_floats`). Where the integer
is compared with such that fit, and used otherwise only where these comparisons, or minima and maxima, have brought it
between them, the nearest integer of 32 bits does as well. Integers that become floats, as counters and thread numbers
do, are cut off first: as what guards say of them is known here.

Numbers of 8 and 16 bits are made of such of 32, as bytes of a picture are, where minima and maxima have brought the
float between their ends, and it is never NaN: nothing has to be brought there again.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no conversion of a float to 64 bits whose
range, or all that is seen of it, fits in 32 bits; none to fewer than 32 of one that is so known to fit; no conversion
to a float of 64 bits that fit. Preserves the program under FR: both make the same of a number in range, and of NaN 0
(``llvm.fptosi.sat``) or poison (``fptosi``, which also stands for the former where NaN is poison already).
"""

from __future__ import annotations

from weft.analysis.integers.converted_floats import is_conversion, is_never_nan, limits_of
from weft.analysis.integers.intervals import Interval, full
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.ir import Builder, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import PURE
from weft.ir.types import F32, F64, I32, I64, FloatType, FunctionType, IntType

_SIGNED, _NATURAL = "llvm.fptosi.sat.", "llvm.fptoui.sat."
_TO_FLOATS = ("sitofp", "uitofp")
_OPPOSITE = {"llvm.smin": "llvm.smax", "llvm.smax": "llvm.smin"}


def shorten_conversions(function: Function) -> int:
    """Convert to 32 bits what fits; return how many conversions that were."""
    few = [i for i in function.instructions() if _is_between_ends(i)]
    for conversion in few:
        _through_32_bits(conversion)
    wide = [i for i in function.instructions() if i.type == I64 and is_conversion(i)]
    floats = [i for i in function.instructions() if i.op in _TO_FLOATS and i.operands[0].type == I64]
    if not wide and not floats:
        return len(few)
    view = cfg_of(function)
    ranges = ranges_of(function, view)
    # Both are asked before anything changes.
    fitting = [_fits(ranges.of(i)) for i in wide]
    same = [all(_sees_the_same(u, i, ranges) for u in i.instruction_users()) for i in wide]
    chosen = [(i, fits) for i, fits, same_seen in zip(wide, fitting, same, strict=True) if fits or same_seen]
    floats = [i for i in floats if _fits(ranges.at(i.operands[0], i.block))]
    for conversion, fits in chosen:
        _shorten(function, conversion, fits)
    floats = [i for i in floats if i.operands[0].type == I64]
    for conversion in floats:
        _cut_off(conversion)
    return len(few) + len(chosen) + len(floats)


def _is_between_ends(conversion: Instruction) -> bool:
    """Whether minima and maxima bring a float, which is no NaN, between the ends of what it becomes, of few bits."""
    name, type = conversion.callee_name or "", conversion.type
    if not name.startswith((_SIGNED, _NATURAL)) or not isinstance(type, IntType) or type.bits >= I32.bits:
        return False
    number = conversion.operands[0]
    if number.type not in (F32, F64) or not is_never_nan(number):
        return False
    limits, integers = limits_of(conversion, lambda _: ())
    if integers:
        return False
    lo, hi = limits.limits(())
    if name.startswith(_NATURAL):
        return lo >= 0 and hi < 1 << type.bits
    return lo >= -(1 << type.bits - 1) and hi < 1 << type.bits - 1


def _through_32_bits(conversion: Instruction) -> None:
    builder = Builder(before=conversion)
    builder.loc = conversion.loc
    number = builder.cast("fptosi", conversion.operands[0], I32)
    replace_and_erase(conversion, builder.cast("trunc", number, conversion.type))


def _cut_off(conversion: Instruction) -> None:
    """Let an integer that has 32 bits become a float as such; a natural one fits as a signed one, too."""
    builder = Builder(before=conversion)
    builder.loc = conversion.loc
    short = builder.cast("trunc", conversion.operands[0], I32)
    flags = tuple(flag for flag in conversion.flags if flag != "nneg")
    replace_and_erase(conversion, builder.cast("sitofp", short, conversion.type, flags))


def _fits(range: Interval | None, margin: int = 0) -> bool:
    """Whether all of a range has 32 bits, and is so far from their ends."""
    whole = full(I32.bits)
    return range is not None and whole.lo + margin <= range.lo and range.hi <= whole.hi - margin


def _sees_the_same(user: Instruction, conversion: Instruction, ranges: Ranges) -> bool:
    """Whether an instruction makes the same of the nearest integer of 32 bits."""
    if user.is_phi or user.block is None:
        return False
    if _fits(ranges.at(conversion, user.block)):
        return True
    if user.op == "icmp":
        others = [ranges.at(o, user.block) for o in user.operands if o is not conversion]
        natural = user.predicate[0] != "u" or all(o is not None and o.lo >= 0 for o in others)
        return natural and all(_fits(o, margin=1) for o in others)
    if not _is_bounded(user, conversion, ranges):
        return False
    # One end is settled; so has to be the other one, before anything else sees the number.
    opposite = _OPPOSITE[_kind(user)]
    users = list(user.instruction_users())
    return all(_kind(u) == opposite and _is_bounded(u, user, ranges) for u in users)


def _kind(user: Instruction) -> str:
    return (user.callee_name or "").removesuffix(".i64") if user.op == "call" else ""


def _is_bounded(user: Instruction, number: Value, ranges: Ranges) -> bool:
    """Whether this is the lesser, or the greater, of a number and one that fits."""
    others = [o for o in user.operands[:2] if o is not number]
    return _kind(user) in _OPPOSITE and len(others) == 1 and _fits(ranges.at(others[0], user.block), margin=1)


def _shorten(function: Function, conversion: Instruction, fits: bool) -> None:
    """Convert to 32 bits, and extend that, but for what becomes a float again."""
    builder = Builder(before=conversion)
    builder.loc = conversion.loc
    number = conversion.operands[0]
    if fits and (conversion.op == "fptosi" or is_never_nan(number)):
        short = builder.cast("fptosi", number, I32)
    else:
        assert function.module is not None and isinstance(number.type, FloatType)
        name = f"llvm.fptosi.sat.i32.f{number.type.bits}"
        short = builder.call(
            function.module.declare(name, FunctionType(I32, (number.type,)), PURE), (number,)
        )
    extended = builder.cast("sext", short, I64)
    replace_and_erase(conversion, extended)
    for user in list(extended.instruction_users()):
        if user.op == "sitofp":
            user.set_operand(0, short)
