"""Floats that become integers of 64 bits and floats again are rounded, and no integers.

In Python ``math.floor`` gives an integer, so that ``x - math.floor(x)`` goes by way of one of 64 bits. Below AVX-512 no
instruction converts vectors of these: LLVM takes them apart, lane by lane. The float that comes back is ``x`` without
its fraction, exactly, with a positive zero for a negative one, and between the ends of integers, 0 for NaN, where the
conversion brings it there (``llvm.fptosi.sat``)::

    k = saturating(x)                 t = trunc(x) + 0.0; t = t < -2^63 ? -2^63 : t; t = t > 2^63 ? 2^63 : t
    r = float(k)                ==>   r = x is NaN ? 0.0 : t

An end is left out where a minimum or maximum with a constant settles it anyway, and the positive zero where whoever
sees the number takes zeros of both signs for the same.

Precondition: plain code of one thread. Postcondition: the same; no signed conversion of a float to 64 bits becomes a
float again. Preserves the program under FR: where the conversion is poison the new number is any.
"""

from __future__ import annotations

from weft.analysis.integers.converted_floats import (
    is_conversion,
    is_never_nan,
    is_saturating,
    lesser_or_greater,
)
from weft.ir import Builder, ConstFloat, Function, Instruction, Value
from weft.ir.builder import const_float
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import PURE
from weft.ir.types import I64, FloatType, FunctionType

_ROUNDED = tuple(
    f"llvm.{name}." for name in ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven")
)
_END = float(1 << 63)
_ZEROS = frozenset(("fast", "nsz"))


def drop_round_trips(function: Function) -> int:
    """Round such floats; return how many became floats again."""
    found = [i for i in function.instructions() if i.op == "sitofp" and _is_float_again(i)]
    for again in found:
        _round(function, again)
    return len(found)


def _is_float_again(again: Instruction) -> bool:
    conversion = again.operands[0]
    return isinstance(conversion, Instruction) and conversion.type == I64 and is_conversion(conversion)


def _is_rounded(number: Value) -> bool:
    return isinstance(number, Instruction) and (number.callee_name or "").startswith(_ROUNDED)


def _takes_any_zero(number: Value) -> bool:
    """Whether all that see a number make the same of zeros of both signs, or may."""
    return all(
        user.op == "fcmp"
        or is_conversion(user)
        or not _ZEROS.isdisjoint(user.flags)
        or (_extremum(user, number) is not None and _takes_any_zero(user))
        for user in number.instruction_users()
    )


def _is_settled(number: Value, *, is_minimum: bool) -> bool:
    """Whether a minimum settles, or else a maximum, what is beyond the last integer, or before the first."""
    users = [user for user in number.instruction_users() if not _only_chooses(user, number)]
    return bool(users) and all(
        (found := _extremum(user, number)) is not None
        and (
            (found[0] is is_minimum and (found[1] <= _END if is_minimum else found[1] >= -_END))
            or _is_settled(user, is_minimum=is_minimum)
        )
        for user in users
    )


def _only_chooses(user: Instruction, number: Value) -> bool:
    """Whether a comparison is nothing but a part of minima or maxima."""
    return user.op == "fcmp" and all(_extremum(u, number) is not None for u in user.instruction_users())


def _extremum(user: Instruction, number: Value) -> tuple[bool, float] | None:
    """Whether it is the lesser, or else the greater, of a number and a constant, and of which one."""
    found = lesser_or_greater(user)
    if found is None:
        return None
    is_minimum, operands = found
    others = [o for o in operands if o is not number]
    return (is_minimum, others[0].value) if len(others) == 1 and isinstance(others[0], ConstFloat) else None


def _round(function: Function, again: Instruction) -> None:
    conversion = again.operands[0]
    assert isinstance(conversion, Instruction)
    number = conversion.operands[0]
    type = number.type
    assert function.module is not None and isinstance(type, FloatType)
    b = Builder(before=again)
    b.loc = again.loc
    if not _is_rounded(number):
        trunc = function.module.declare(f"llvm.trunc.f{type.bits}", FunctionType(type, (type,)), PURE)
        number = b.call(trunc, (number,))
    result = number
    if not _takes_any_zero(again):
        result = b.binary("fadd", number, const_float(0.0, type))
    if is_saturating(conversion):
        for predicate, end in (("olt", -_END), ("ogt", _END)):
            if _is_settled(again, is_minimum=end > 0):
                continue
            limit = const_float(end, type)
            result = b.select(b.fcmp(predicate, result, limit), limit, result)
        if not is_never_nan(conversion.operands[0]):
            result = b.select(b.fcmp("uno", number, number), const_float(0.0, type), result)
    if again.type != type:
        assert isinstance(again.type, FloatType)
        result = b.cast("fpext" if again.type.bits > type.bits else "fptrunc", result, again.type)
    replace_and_erase(again, result)
    if not any(conversion.instruction_users()):
        conversion.erase()
