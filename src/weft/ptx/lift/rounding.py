"""Sums, products, quotients and roots rounded towards zero, down or up, from those rounded to nearest.

What rounding to nearest took away is found exactly (a sum's error by Knuth's two-sum, those of products, quotients and
roots by a fused multiplication), and the result goes one step the right way where it lies on the wrong side. Single
precision is computed in double, where no error can be lost to underflow. Double precision scales nothing: where the
error itself underflows (results below about 2^-968), the step may be left out.
"""

from __future__ import annotations

import sys

from weft.ir import ConstFloat, ConstSplat, Value
from weft.ir.constants import TRUE
from weft.ir.types import F64, I64, FloatType, Type, VectorType, int_type
from weft.ptx.lift.body import Body

_ZERO = ConstFloat.of(F64, 0.0)


def rounded_sum(body: Body, a: Value, b: Value, direction: str) -> Value:
    """``a + b`` rounded ``rz``, ``rm`` or ``rp``."""
    if a.type != F64:
        wide = _wide(body, a), _wide(body, b)
        value = narrowed(body, *_two_sum(body, *wide), direction, a.type)
        return _zero_sign(body, value, *wide, direction)
    value = _stepped(body, *_two_sum(body, a, b), direction)
    return _zero_sign(body, _without_overflow(body, value, (a, b), direction), a, b, direction)


def rounded_fma(body: Body, a: Value, b: Value, c: Value | None, direction: str) -> Value:
    """``a * b + c``, or ``a * b``, rounded once."""
    builder = body.builder
    if a.type != F64:
        product = builder.binary("fmul", _wide(body, a), _wide(body, b))
        if c is None:
            return narrowed(body, product, _ZERO, direction, a.type)
        wide = _wide(body, c)
        value = narrowed(body, *_two_sum(body, product, wide), direction, a.type)
        return _zero_sign(body, value, product, wide, direction)
    if c is None:
        value = builder.binary("fmul", a, b)
        error = body.of("llvm.fma", a, b, builder.unary("fneg", value))
        return _without_overflow(body, _stepped(body, value, error, direction), (a, b), direction)
    value = _stepped(body, *_fma_error(body, a, b, c), direction)
    value = _without_overflow(body, value, (a, b, c), direction)
    return _zero_sign(body, value, builder.binary("fmul", a, b), c, direction)


def whole_below(body: Body, a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` rounded down, where neighbours of the sum are 1 apart, as those of `c` are, and a product is >= 0.

    What is added to `c` is an integer next to the product, above or below; which one tells a sum that is rounded once.
    """
    builder = body.builder
    near = builder.binary("fadd", builder.binary("fmul", a, b), c)
    added = builder.binary("fsub", near, c)
    rest = body.of("llvm.fma", a, b, builder.unary("fneg", added))
    assert isinstance(a.type, FloatType)
    zero, one = ConstFloat.of(a.type, 0.0), ConstFloat.of(a.type, 1.0)
    return builder.binary("fsub", near, builder.select(builder.fcmp("olt", rest, zero), one, zero))


def fused_bfloats(body: Body, a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` of bfloat16, or pairs of these, rounded to nearest once.

    The product is exact in double. Where the sum loses digits its last bit is set, so that it is not taken for one that
    lies halfway. LLVM's operation rounds to single precision first.
    """
    builder = body.builder
    wide = _elements(a.type, F64)
    product = builder.binary("fmul", builder.cast("fpext", a, wide), builder.cast("fpext", b, wide))
    value, error = _two_sum(body, product, builder.cast("fpext", c, wide))
    zero = ConstSplat(wide, _ZERO) if isinstance(wide, VectorType) else _ZERO
    lost = builder.fcmp("one", error, zero)
    beyond = builder.binary("xor", builder.fcmp("olt", error, zero), builder.fcmp("olt", value, zero))
    words = _elements(a.type, I64)
    bits = builder.cast("bitcast", value, words)
    bits = builder.binary("sub", bits, builder.cast("zext", builder.binary("and", lost, beyond), words))
    bits = builder.binary("or", bits, builder.cast("zext", lost, words))
    return builder.cast("fptrunc", builder.cast("bitcast", bits, wide), a.type)


def _elements(type: Type, element: Type) -> Type:
    """`element`, or as many of it as a vector type has."""
    return VectorType(element, type.count) if isinstance(type, VectorType) else element


def rounded_ratio(body: Body, a: Value, b: Value, direction: str) -> Value:
    """``a / b``."""
    builder = body.builder
    wide_a, wide_b = _wide(body, a), _wide(body, b)
    value = builder.binary("fdiv", wide_a, wide_b)
    rest = body.of("llvm.fma", builder.unary("fneg", value), wide_b, wide_a)
    # What is left has the sign of the error where the divisor is positive.
    negative = builder.fcmp("olt", wide_b, _ZERO)
    error = builder.select(negative, builder.unary("fneg", rest), rest)
    if a.type != F64:
        return narrowed(body, value, error, direction, a.type)
    value = _stepped(body, value, error, direction)
    is_number = builder.fcmp("one", b, _ZERO)
    return builder.select(is_number, _without_overflow(body, value, (a, b), direction), value)


def rounded_root(body: Body, a: Value, direction: str) -> Value:
    """The square root."""
    wide = _wide(body, a)
    value = body.of("llvm.sqrt", wide)
    error = body.of("llvm.fma", body.builder.unary("fneg", value), value, wide)
    if a.type != F64:
        return narrowed(body, value, error, direction, a.type)
    return _stepped(body, value, error, direction)


def narrowed(body: Body, value: Value, error: Value, direction: str, type: Type) -> Value:
    """A double, and the sign of what it lacks, in a narrower type."""
    builder = body.builder
    near = builder.cast("fptrunc", value, type)
    back = builder.cast("fpext", near, F64)
    # What the double lost decides only where narrowing lost nothing.
    same = builder.fcmp("oeq", value, back)
    error = builder.select(same, error, builder.binary("fsub", value, back))
    return _stepped(body, near, error, direction)


def rounded_pair(body: Body, a: Value, b: Value, direction: str, type: Type) -> Value:
    """The sum of two doubles in `type`, rounded once."""
    value, error = _two_sum(body, a, b)
    return (
        _stepped(body, value, error, direction)
        if type == F64
        else narrowed(body, value, error, direction, type)
    )


def _wide(body: Body, value: Value) -> Value:
    return value if value.type == F64 else body.builder.cast("fpext", value, F64)


def _two_sum(body: Body, a: Value, b: Value) -> tuple[Value, Value]:
    """A sum, and what rounding took from it."""
    builder = body.builder
    value = builder.binary("fadd", a, b)
    of_b = builder.binary("fsub", value, a)
    of_a = builder.binary("fsub", value, of_b)
    error = builder.binary("fadd", builder.binary("fsub", a, of_a), builder.binary("fsub", b, of_b))
    return value, error


def _fma_error(body: Body, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """A fused product and sum in double, and a number of the sign of its error (Boldo and Muller)."""
    builder = body.builder
    value = body.of("llvm.fma", a, b, c)
    high = builder.binary("fmul", a, b)
    low = body.of("llvm.fma", a, b, builder.unary("fneg", high))
    middle, rest = _two_sum(body, c, low)
    top, below = _two_sum(body, high, middle)
    gap = builder.binary("fadd", builder.binary("fsub", top, value), below)
    return value, builder.binary("fadd", gap, rest)


def _stepped(body: Body, value: Value, error: Value, direction: str) -> Value:
    """`value`, one step towards where `error` says that the exact result is, if that is where it is rounded to."""
    builder = body.builder
    assert isinstance(value.type, FloatType)
    zero = ConstFloat.of(value.type, 0.0)
    below, above = builder.fcmp("olt", error, _ZERO), builder.fcmp("ogt", error, _ZERO)
    positive, negative = builder.fcmp("ogt", value, zero), builder.fcmp("olt", value, zero)
    if direction == "rm":
        down, up = below, None
    elif direction == "rp":
        down, up = None, above
    else:
        down, up = builder.binary("and", below, positive), builder.binary("and", above, negative)
    if down is not None:
        value = builder.select(down, _next(body, value, up=False), value)
    if up is not None:
        value = builder.select(up, _next(body, value, up=True), value)
    return value


def _next(body: Body, value: Value, *, up: bool) -> Value:
    """The next number upwards or downwards; `value` is finite, or is not used."""
    builder = body.builder
    assert isinstance(value.type, FloatType)
    bits = body.cast_bits(value, int_type(value.type.bits))
    away = builder.fcmp("ogt" if up else "olt", value, ConstFloat.of(value.type, 0.0))
    step = builder.select(away, body.number(1, bits), body.number(-1, bits))
    moved = body.cast_bits(builder.binary("add", bits, step), value.type)
    least = ConstFloat(value.type, 1 if up else 1 | 1 << (value.type.bits - 1))
    is_zero = builder.fcmp("oeq", value, ConstFloat.of(value.type, 0.0))
    return builder.select(is_zero, least, moved)


def _without_overflow(body: Body, value: Value, inputs: tuple[Value, ...], direction: str) -> Value:
    """The greatest number in the place of an infinity, where that is not the direction and all inputs are finite."""
    builder = body.builder
    infinity = ConstFloat.of(F64, float("inf"))
    for up, most in ((True, sys.float_info.max), (False, -sys.float_info.max)):
        if direction == ("rp" if up else "rm"):
            continue
        limit = infinity if up else ConstFloat.of(F64, float("-inf"))
        test: Value = builder.fcmp("oeq", value, limit)
        for number in inputs:
            finite = builder.fcmp("olt", body.of("llvm.fabs", number), infinity)
            test = builder.binary("and", test, finite)
        value = builder.select(test, ConstFloat.of(F64, most), value)
    return value


def _zero_sign(body: Body, value: Value, a: Value, b: Value, direction: str) -> Value:
    """A sum that is 0 is -0 when rounded down, unless both terms are +0."""
    if direction != "rm":
        return value
    builder = body.builder
    assert isinstance(value.type, FloatType)
    is_zero = builder.fcmp("oeq", value, ConstFloat.of(value.type, 0.0))
    both = builder.binary("or", body.cast_bits(a, I64), body.cast_bits(b, I64))
    plus = builder.icmp("eq", both, body.number(0, both))
    negative = ConstFloat(value.type, 1 << (value.type.bits - 1))
    return builder.select(builder.binary("and", is_zero, builder.binary("xor", plus, TRUE)), negative, value)
