"""Powers: multiplied out for small literal exponents, by square and multiply for integers, else `llvm.pow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from weft.frontend.python.components import ir_scalar
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers import complexes
from weft.frontend.python.lowering.numbers.casts import cast, cast_value, convert, number, to_real
from weft.frontend.python.types import Scalar, boolean, float32, float64, pyfloat, pyint
from weft.frontend.python.typing_rules import arithmetic
from weft.ir.builder import const_float, const_int
from weft.ir.instruction import Instruction
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_MULTIPLIED_OUT = 8
"""Up to this exponent ``x ** n`` of a float is multiplied out; above, `pow` is faster and more exact."""

_T = TypeVar("_T")


def power(low: Lowering, a: Typed, b: Typed) -> Typed:
    """Lower ``a ** b``."""
    assert isinstance(a.type, Scalar) and isinstance(b.type, Scalar)
    result = arithmetic(a.type, b.type, a.int_literal, None if a.type.is_integer else b.int_literal)
    exponent = b.literal if isinstance(b.literal, int) and not isinstance(b.literal, bool) else None
    if exponent is not None and a.type.is_integer and not a.type.weak:
        result = a.type
    if result.kind == "c":
        return complexes.power(low, a, b, result, exponent)
    if result.kind in "iu":
        if exponent is not None and exponent < 0:
            # As in Python, a negative exponent leads out of the integers.
            result = pyfloat if result.weak else float64
            return _float_power(low, cast(low, a, result), b, result, exponent)
        return _int_power(low, a, b, result, exponent)
    if isinstance(b.literal, float) and b.literal.is_integer():
        exponent = int(b.literal)
    return _float_power(low, a, b, result, exponent)


def by_squaring(base: _T, exponent: int, multiply: Callable[[_T, _T], _T]) -> _T:
    """``base`` to a literal exponent of at least 1, with few multiplications."""
    result: _T | None = None
    while True:
        if exponent & 1:
            result = base if result is None else multiply(result, base)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        base = multiply(base, base)


def _float_power(low: Lowering, a: Typed, b: Typed, result: Scalar, exponent: int | None) -> Typed:
    working = float32 if result.bits == 16 else result
    x = cast_value(low, to_real(low, a, result), result, working)
    ir, flags, builder = x.type, low.unit.options.fastmath, low.builder
    one = const_float(1.0, ir_scalar(working))
    value: Value
    if exponent == 0:
        value = one
    elif exponent is not None and abs(exponent) <= _MULTIPLIED_OUT:
        value = by_squaring(x, abs(exponent), lambda p, q: builder.binary("fmul", p, q, flags))
        if exponent < 0:
            value = builder.binary("fdiv", one, value, flags)
    elif b.literal == 0.5:
        value = builder.call(low.unit.llvm(f"llvm.sqrt.f{working.bits}", ir, ir), (x,), flags=flags)
    else:
        y = cast_value(low, to_real(low, b, result), result, working)
        value = builder.call(low.unit.llvm(f"llvm.pow.f{working.bits}", ir, ir, ir), (x, y), flags=flags)
    return Typed(result, (cast_value(low, value, working, result),))


def _int_power(low: Lowering, a: Typed, b: Typed, result: Scalar, exponent: int | None) -> Typed:
    bound = 0 if result.kind == "u" or (a.low is not None and a.low >= 0 and result.bits == 64) else None
    x = to_real(low, a, result)
    builder = low.builder
    if exponent is not None:
        if exponent == 0:
            return Typed(result, (const_int(1, x.type),), low=1)
        return Typed(
            result,
            (by_squaring(x, exponent, lambda p, q: builder.binary("mul", p, q)),),
            low=bound,
            sure=result.kind == "u",
        )
    return Typed(result, (_power_loop(low, x, b, result),), low=bound, sure=result.kind == "u")


def _power_loop(low: Lowering, x: Value, b: Typed, result: Scalar) -> Value:
    """Square and multiply while bits of the exponent are left.

    A negative exponent gives the integer part of the true power: 0, except for the bases 1 and -1.
    """
    assert isinstance(b.type, Scalar)
    builder, ir = low.builder, x.type
    n = convert(low, b, pyint)[0] if b.type is boolean else number(low, b)
    zero, one = const_int(0, ir), const_int(1, ir)
    if b.type.kind == "i":
        negative = builder.icmp("slt", n, const_int(0, n.type))
        is_unit = builder.icmp("eq", x, one)
        if result.kind == "i":
            is_unit = builder.binary("or", is_unit, builder.icmp("eq", x, const_int(-1, ir)))
        # With base 1 or -1 only the exponent's parity counts, and that is the same for its negation.
        vanishes = builder.select(
            negative, builder.binary("xor", is_unit, const_int(1, is_unit.type)), negative
        )
        magnitude = builder.select(negative, builder.binary("sub", const_int(0, n.type), n), n)
        n = builder.select(vanishes, const_int(0, n.type), magnitude)
        start: Value = builder.select(vanishes, zero, one)
    else:
        start = one
    before = builder.block
    head, body, end = (low.new_block(f"pow.{part}") for part in ("cond", "body", "end"))
    assert before is not None
    builder.br(head)
    low.start(head)
    exponent, base, product = (builder.phi(v.type) for v in (n, x, one))
    low.branch_if(builder.icmp("ne", exponent, const_int(0, n.type)), body, end)
    low.start(body)
    odd = builder.icmp("ne", builder.binary("and", exponent, const_int(1, n.type)), const_int(0, n.type))
    new_product = builder.select(odd, builder.binary("mul", product, base), product)
    new_base = builder.binary("mul", base, base)
    new_exponent = builder.binary("lshr", exponent, const_int(1, n.type))
    builder.br(head)
    _close(exponent, n, before, new_exponent, body)
    _close(base, x, before, new_base, body)
    _close(product, start, before, new_product, body)
    low.start(end)
    return product


def _close(phi: Instruction, start: Value, before, again: Value, body) -> None:
    phi.add_incoming(start, before)
    phi.add_incoming(again, body)
