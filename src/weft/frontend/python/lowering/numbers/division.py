"""Python's ``//`` and ``%``: quotients rounded down, remainders with the divisor's sign.

Nothing traps: ``x // 0`` and ``x % 0`` are 0 on integers, the least integer divided by -1 is itself; floats
follow NumPy's ``floor_divide`` and ``remainder``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.frontend.python.lowering.checks import DIVISION_BY_ZERO, check
from weft.frontend.python.types import Scalar
from weft.ir.builder import Builder, const_float, const_int
from weft.ir.constants import ConstInt
from weft.ir.types import FloatType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def int_divmod(
    low: Lowering, symbol: str, a: Value, b: Value, type: Scalar, nonnegative: bool, least: int | None
) -> Value:
    """``a // b`` or ``a % b`` of an integer type; `nonnegative` is about `a`, `least` is a lower bound of `b`."""
    if isinstance(b, ConstInt) and b.value:
        return _by_constant(low, symbol, a, b, type, nonnegative)
    builder, ir = low.builder, b.type
    zero, one = const_int(0, ir), const_int(1, ir)
    if least is not None and least >= 1:
        return _divide(builder, symbol, a, b, type, nonnegative)
    is_zero = builder.icmp("eq", b, zero)
    check(low, DIVISION_BY_ZERO, is_zero)
    if type.kind == "u":
        quotient = builder.binary(_name(symbol, "u"), a, builder.select(is_zero, one, b))
        return builder.select(is_zero, zero, quotient)
    # Division by -1 overflows for the least integer: negate instead, with wrapping.
    is_minus_one = builder.icmp("eq", b, const_int(-1, ir))
    unusual = builder.binary("or", is_zero, is_minus_one)
    usual = _divide(builder, symbol, a, builder.select(unusual, one, b), type, False)
    if symbol == "%":
        return builder.select(unusual, zero, usual)
    negated = builder.binary("sub", zero, a)
    return builder.select(is_zero, zero, builder.select(is_minus_one, negated, usual))


def _name(symbol: str, sign: str) -> str:
    return f"{sign}{'div' if symbol == '//' else 'rem'}"


def _by_constant(low: Lowering, symbol: str, a: Value, b: ConstInt, type: Scalar, nonnegative: bool) -> Value:
    builder = low.builder
    if type.kind == "i" and b.signed == -1:
        zero = const_int(0, b.type)
        return zero if symbol == "%" else builder.binary("sub", zero, a)
    positive = type.kind == "u" or b.signed > 0
    if positive and b.value & (b.value - 1) == 0:
        # Floor division by a power of two is a shift, for negative numbers too.
        if symbol == "%":
            return builder.binary("and", a, const_int(b.value - 1, b.type))
        logical = type.kind == "u" or nonnegative
        return builder.binary("lshr" if logical else "ashr", a, const_int(b.value.bit_length() - 1, b.type))
    return _divide(builder, symbol, a, b, type, nonnegative and positive)


def _divide(builder: Builder, symbol: str, a: Value, b: Value, type: Scalar, truncates: bool) -> Value:
    """The division by a divisor that is neither 0 nor -1; `truncates` says that rounding down needs no help."""
    if type.kind == "u" or truncates:
        return builder.binary(_name(symbol, "u" if type.kind == "u" else "s"), a, b)
    zero = const_int(0, a.type)
    remainder = builder.binary("srem", a, b)
    signs_differ = builder.icmp("slt", builder.binary("xor", remainder, b), zero)
    adjust = builder.select(
        builder.icmp("ne", remainder, zero), signs_differ, const_int(0, signs_differ.type)
    )
    if symbol == "%":
        return builder.binary("add", remainder, builder.select(adjust, b, zero))
    quotient = builder.binary("sdiv", a, b)
    return builder.binary("sub", quotient, builder.cast("zext", adjust, a.type))


def float_divmod(low: Lowering, symbol: str, a: Value, b: Value) -> Value:
    """``a // b`` or ``a % b`` of float32 or float64, as NumPy computes them."""
    builder, flags, ir = low.builder, low.unit.options.fastmath, a.type
    assert isinstance(ir, FloatType)
    zero, one = const_float(0.0, ir), const_float(1.0, ir)
    copysign = low.unit.llvm(f"llvm.copysign.f{ir.bits}", ir, ir, ir)
    remainder = builder.binary("frem", a, b, flags)
    is_zero = builder.fcmp("oeq", remainder, zero)
    signs_differ = builder.binary("xor", builder.fcmp("olt", remainder, zero), builder.fcmp("olt", b, zero))
    adjust = builder.select(is_zero, const_int(0, signs_differ.type), signs_differ)
    if symbol == "%":
        moved = builder.select(adjust, builder.binary("fadd", remainder, b, flags), remainder)
        return builder.select(is_zero, builder.call(copysign, (zero, b)), moved)
    quotient = builder.binary("fdiv", builder.binary("fsub", a, remainder, flags), b, flags)
    quotient = builder.select(adjust, builder.binary("fsub", quotient, one, flags), quotient)
    floor = builder.call(low.unit.llvm(f"llvm.floor.f{ir.bits}", ir, ir), (quotient,), flags=flags)
    # The quotient is near an integer; the subtraction above may have rounded it below.
    rest = builder.binary("fsub", quotient, floor, flags)
    above = builder.fcmp("ogt", rest, const_float(0.5, ir))
    floor = builder.select(above, builder.binary("fadd", floor, one, flags), floor)
    exact = builder.binary("fdiv", a, b, flags)
    signed_zero = builder.call(copysign, (zero, exact))
    result = builder.select(builder.fcmp("oeq", quotient, zero), signed_zero, floor)
    return builder.select(builder.fcmp("oeq", b, zero), exact, result)
