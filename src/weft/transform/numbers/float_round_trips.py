"""Floats that become integers of 64 bits and floats again are rounded, and no integers.

In Python ``math.floor`` gives an integer, so that ``x - math.floor(x)`` goes by way of one of 64 bits. Below AVX-512 no
instruction converts vectors of these: LLVM takes them apart, lane by lane. The float that comes back is ``x`` without
its fraction, exactly, with a positive zero for a negative one, and between the ends of integers, 0 for NaN, where the
conversion brings it there (``llvm.fptosi.sat``)::

    k = saturating(x)                 t = trunc(x) + 0.0; t = t < -2^63 ? -2^63 : t; t = t > 2^63 ? 2^63 : t
    r = float(k)                ==>   r = x is NaN ? 0.0 : t

Precondition: plain code of one thread. Postcondition: the same; no signed conversion of a float to 64 bits becomes a
float again. Preserves the program under FR: where the conversion is poison the new number is any.
"""

from __future__ import annotations

from weft.analysis.integers.converted_floats import is_conversion, is_never_nan, is_saturating
from weft.ir import Builder, Function, Instruction, Value
from weft.ir.builder import const_float
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import PURE
from weft.ir.types import I64, FloatType, FunctionType

_ROUNDED = tuple(
    f"llvm.{name}." for name in ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven")
)
_END = float(1 << 63)


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
    result: Value = b.binary("fadd", number, const_float(0.0, type))
    if is_saturating(conversion):
        for predicate, end in (("olt", -_END), ("ogt", _END)):
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
