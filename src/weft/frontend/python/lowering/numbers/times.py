"""Dates and spans of time, `numpy.datetime64` and `numpy.timedelta64`: how many units, in an int64.

Operands of several units are taken in the finer one. NaT, the least int64, makes every result NaT, and every comparison
false but ``!=``. A number of units that int64 does not hold wraps, as NumPy's does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, scalar_type
from weft.frontend.python.types import Scalar, Time, boolean, float64, int64, time_named
from weft.ir.builder import const_float, const_int
from weft.ir.constants import FALSE, TRUE
from weft.ir.types import F64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

NAT = const_int(-(1 << 63))
_INT = {"==": "eq", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}


def constant(value: np.generic, type: Time) -> Typed:
    """A NumPy scalar from outside, or that a call with literals makes."""
    return Typed(type, (const_int(int(value.astype(np.int64))),))


def count_of(value: Typed) -> Typed:
    """How many units it is."""
    return Typed(int64, value.parts)


def _is_nat(low: Lowering, count: Value) -> Value:
    return low.builder.icmp("eq", count, NAT)


def _unless_nat(low: Lowering, result: Value, *counts: Value) -> Value:
    for count in counts:
        result = low.builder.select(_is_nat(low, count), NAT, result)
    return result


def _factor(source: Time, target: Time) -> int:
    """How many units of `target` one of `source` is.

    Raises
    ------
    TypingError
        No whole number, or not the same for all: a month.
    """
    (unit, count), (fine, step) = map(np.datetime_data, (source.dtype, target.dtype))
    if unit == fine or "generic" in (unit, fine):
        whole, rest = divmod(count, step) if unit == fine else (1, 0)
    elif unit in "YM" and fine in "YM":
        whole, rest = divmod(count * 12, step)
    elif "Y" in (unit, fine) or "M" in (unit, fine):
        whole, rest = 0, 1
    else:
        whole, rest = divmod(int(np.timedelta64(count, unit) / np.timedelta64(1, fine)), step)
    if rest or not whole:
        raise TypingError(f"{source} cannot become {target}", hint="convert the array before: a.astype(...)")
    return whole


def in_unit(low: Lowering, value: Typed, target: Scalar) -> Value:
    """The count of a date or a span in the unit of another type of the kind."""
    source = value.type
    if not isinstance(source, Time) or not isinstance(target, Time) or source.kind != target.kind:
        hint = "write np.timedelta64(x, 'D'), or take the number by np.int64(x)"
        raise TypingError(f"{source} cannot become {target}", hint=hint)
    factor = _factor(source, target)
    if factor == 1:
        return value.parts[0]
    scaled = low.builder.binary("mul", value.parts[0], const_int(factor))
    return _unless_nat(low, scaled, value.parts[0])


def _finer(a: Time, b: Time) -> str:
    """The unit of an operation on both, as the types of NumPy write it."""
    spans = (np.dtype(t.name.replace("datetime64", "timedelta64")) for t in (a, b))
    try:
        return np.promote_types(*spans).name.removeprefix("timedelta64")
    except TypeError:
        raise TypingError(f"{a} and {b} have no common unit") from None


def _in_finer(low: Lowering, a: Typed, b: Typed) -> tuple[Value, Value, str]:
    assert isinstance(a.type, Time) and isinstance(b.type, Time)
    unit = _finer(a.type, b.type)
    names = {"M": "datetime64", "m": "timedelta64"}
    x, y = (in_unit(low, v, time_named(names[v.type.kind] + unit)) for v in (a, b))  # type: ignore[attr-defined]
    return x, y, unit


def binary(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """Lower ``a symbol b``, of which one is a date or a span."""
    first, second = ("n" if not isinstance(v.type, Time) else v.type.kind for v in (a, b))
    kinds = first, second
    result = {("M", "M", "-"): "timedelta64", ("M", "m", "+"): "datetime64", ("M", "m", "-"): "datetime64",
              ("m", "M", "+"): "datetime64", ("m", "m", "+"): "timedelta64",
              ("m", "m", "-"): "timedelta64"}.get((first, second, symbol))  # fmt: skip
    if result is not None:
        x, y, unit = _in_finer(low, a, b)
        made = low.builder.binary("add" if symbol == "+" else "sub", x, y)
        return Typed(time_named(result + unit), (_unless_nat(low, made, x, y),))
    if kinds == ("m", "m") and symbol in ("/", "//", "%"):
        return _of_spans(low, symbol, a, b)
    if kinds == ("n", "m") and symbol == "*":
        return _scaled(low, symbol, b, a)
    if kinds == ("m", "n") and symbol in ("*", "/", "//"):
        return _scaled(low, symbol, a, b)
    raise TypingError(f"there is no operation {a.type} {symbol} {b.type}")


def _of_spans(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """How often a span goes into another, or what is left."""
    from weft.frontend.python.lowering.numbers import arithmetic

    x, y, unit = _in_finer(low, a, b)
    either = low.builder.select(_is_nat(low, x), TRUE, _is_nat(low, y))
    if symbol == "/":
        quotient = arithmetic.binary(low, "/", *(Typed(int64, (count,)) for count in (x, y))).value
        return Typed(float64, (low.builder.select(either, const_float(float("nan"), F64), quotient),))
    value = arithmetic.binary(low, symbol, *(Typed(int64, (count,)) for count in (x, y))).value
    if symbol == "//":
        return Typed(int64, (low.builder.select(either, const_int(0), value),))
    none = low.builder.select(either, TRUE, low.builder.icmp("eq", y, const_int(0)))
    return Typed(time_named("timedelta64" + unit), (low.builder.select(none, NAT, value),))


def _scaled(low: Lowering, symbol: str, span: Typed, number: Typed) -> Typed:
    """A span times or by a number, rounded toward 0, by ``//`` too: so NumPy's arrays do."""
    from weft.frontend.python.lowering.numbers import arithmetic
    from weft.frontend.python.lowering.numbers.casts import cast, to_real

    kind = scalar_type(number)
    if kind is None or kind.kind not in "biuf":
        raise TypingError(f"there is no operation {span.type} {symbol} {number.type}")
    (count,) = span.parts
    if kind.kind == "f":
        if symbol == "//":
            raise TypingError(f"there is no operation {span.type} // {number.type}")
        whole, factor = cast(low, count_of(span), float64), Typed(float64, (to_real(low, number, float64),))
        made = arithmetic.binary(low, symbol, whole, factor)
        lost = low.builder.fcmp("uno", made.value, made.value)
        value = low.builder.select(lost, NAT, cast(low, made, int64).value)
        return Typed(span.type, (_unless_nat(low, value, count),))
    factor = Typed(int64, (to_real(low, number, int64),))
    if symbol == "*":
        made = arithmetic.binary(low, symbol, count_of(span), factor).value
    else:
        # Toward zero, which is downward for the absolute values.
        sizes = [arithmetic.absolute(low, v) for v in (count_of(span), factor)]
        size = arithmetic.binary(low, "//", *sizes).value
        opposite = low.builder.icmp("slt", low.builder.binary("xor", count, factor.value), const_int(0))
        made = low.builder.select(opposite, low.builder.binary("sub", const_int(0), size), size)
    if symbol != "*":
        zero = low.builder.icmp("eq", factor.value, const_int(0))
        made = low.builder.select(zero, NAT, made)
    return Typed(span.type, (_unless_nat(low, made, count),))


def relation(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """Lower a comparison of two dates, or two spans."""
    if not isinstance(a.type, Time) or not isinstance(b.type, Time) or a.type.kind != b.type.kind:
        raise TypingError(f"there is no comparison {a.type} {symbol} {b.type}")
    x, y, _ = _in_finer(low, a, b)
    made = low.builder.icmp(_INT.get(symbol, "eq"), x, y)
    for count in (x, y):
        made = low.builder.select(_is_nat(low, count), FALSE, made)
    if symbol == "!=":
        made = low.builder.binary("xor", made, TRUE)
    return Typed(boolean, (made,))


def extreme(low: Lowering, name: str, a: Typed, b: Typed) -> Typed:
    """``np.minimum``, ``maximum``, ``fmin`` or ``fmax`` of two dates, or two spans."""
    if not isinstance(a.type, Time) or not isinstance(b.type, Time) or a.type.kind != b.type.kind:
        raise TypingError(f"{name}() takes two dates or two spans, not {a.type} and {b.type}")
    x, y, unit = _in_finer(low, a, b)
    first = low.builder.icmp("slt" if name in ("minimum", "fmin") else "sgt", x, y)
    made: Value = low.builder.select(first, x, y)
    if name in ("fmin", "fmax"):
        made = low.builder.select(_is_nat(low, x), y, made)
        made = low.builder.select(_is_nat(low, y), x, made)
    else:
        made = _unless_nat(low, made, x, y)
    return Typed(time_named(a.type.name.partition("[")[0] + unit), (made,))


def _of_span(value: Typed, operation: str) -> Value:
    if not isinstance(value.type, Time) or value.type.kind != "m":
        raise TypingError(f"there is no operation {operation} of {value.type}")
    return value.parts[0]


def negative(low: Lowering, value: Typed) -> Typed:
    """``-span``; NaT is its own."""
    return Typed(value.type, (low.builder.binary("sub", const_int(0), _of_span(value, "-")),))


def absolute(low: Lowering, value: Typed) -> Typed:
    """``abs(span)``; NaT is its own."""
    count = _of_span(value, "abs()")
    negated = low.builder.binary("sub", const_int(0), count)
    return Typed(
        value.type, (low.builder.select(low.builder.icmp("slt", count, const_int(0)), negated, count),)
    )


@call(np.isnat)
def _call_isnat(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("x")
    if not isinstance(value.type, Time):
        raise TypingError(f"isnat() takes a date or a span, not {value.type}")
    return Typed(boolean, (_is_nat(low, value.parts[0]),))


def _call_time(kind: Any) -> Any:
    def lower(low: Lowering, args: Arguments) -> Typed:
        """Of literals a constant; of a span or a number that varies, in a unit that is a literal."""
        value, *unit = args.bind("value", "unit", optional=1)
        known = value.literal if value.is_literal else value.static
        units = [each.static for each in unit]
        if not all(isinstance(each, str) for each in units):
            raise TypingError(f"the unit of {args.name}() is a string literal, such as 'D'")
        try:
            if known is not None:
                made = kind(known, *units)
                return constant(made, time_named(made.dtype.name))
            type_ = time_named(np.dtype(f"{kind.__name__}[{units[0]}]" if units else kind).name)
        except (ValueError, TypeError) as error:
            raise TypingError(f"{args.name}(): {error}") from None
        if isinstance(value.type, Time):
            return Typed(type_, (in_unit(low, value, type_),)) if units else value
        from weft.frontend.python.lowering.numbers.casts import to_int64

        return Typed(type_, (to_int64(low, value, f"the number of units that {args.name}() takes"),))

    return lower


for _kind in (np.datetime64, np.timedelta64):
    call(_kind)(_call_time(_kind))
