"""NumPy's functions of scalars that are operators, comparisons or choices, and what `math` has beside functions."""

from __future__ import annotations

import cmath
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.components import ir_scalar
from weft.frontend.python.lowering.attributes import number_attribute
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed, literal, scalar_type, static
from weft.frontend.python.lowering.choices import select
from weft.frontend.python.lowering.numbers import complexes, times
from weft.frontend.python.lowering.numbers.arithmetic import binary, invert, negate
from weft.frontend.python.lowering.numbers.casts import to_real
from weft.frontend.python.lowering.numbers.comparisons import (
    both,
    condition,
    either,
    negation,
    relation,
    truth,
)
from weft.frontend.python.lowering.numbers.complexes import floats_of
from weft.frontend.python.lowering.numbers.mathematics import evaluate
from weft.frontend.python.types import Scalar, Time, boolean, float64, pyint
from weft.ir.builder import const_int
from weft.ir.types import int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_BINARY: dict[Any, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.floor_divide: "//",
    np.remainder: "%", np.power: "**", np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^",
    np.left_shift: "<<", np.right_shift: ">>",
}  # fmt: skip
_OPERATORS: dict[Any, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
    operator.iadd: "+", operator.isub: "-", operator.imul: "*", operator.itruediv: "/", operator.ifloordiv: "//",
    operator.imod: "%", operator.ipow: "**", operator.iand: "&", operator.ior: "|", operator.ixor: "^",
    operator.ilshift: "<<", operator.irshift: ">>",
}  # fmt: skip
_COMPARISONS: dict[Any, str] = {
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
_RELATIONS: dict[Any, str] = {
    np.equal: "==", np.not_equal: "!=", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=",
}  # fmt: skip
_EXTREMES: dict[Any, tuple[str, str]] = {
    np.minimum: ("minimum", "<"), np.maximum: ("maximum", ">"), np.fmin: ("fmin", "<"), np.fmax: ("fmax", ">"),
}  # fmt: skip


def _operator(symbol: str) -> CallHandler:
    return lambda low, args: binary(low, symbol, *args.bind("x1", "x2"))


def _relation(symbol: str) -> CallHandler:
    return lambda low, args: relation(low, symbol, *args.bind("x1", "x2"))


def _numpy_relation(symbol: str) -> CallHandler:
    """NumPy orders complex numbers by their real parts, equal ones by their imaginary parts."""

    def lower(low: Lowering, args: Arguments) -> Typed:
        a, b = args.bind("x1", "x2")
        if symbol in ("==", "!=") or "c" not in (_kind(a), _kind(b)):
            return relation(low, symbol, a, b)
        return _complex_order(low, symbol, a, b)

    return lower


def _kind(value: Typed) -> str:
    type = scalar_type(value)
    return "" if type is None else type.kind


def _complex_order(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    (a_real, a_imag), (b_real, b_imag) = (
        [number_attribute(low, value, part) for part in ("real", "imag")] for value in (a, b)
    )
    first = relation(low, symbol[0], a_real, b_real)
    tied = both(low, relation(low, "==", a_real, b_real), relation(low, symbol, a_imag, b_imag))
    return either(low, first, tied)


def _extreme(name: str, symbol: str) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        return extreme(low, name, symbol, *args.bind("x1", "x2"))

    return lower


def _complex_extreme(low: Lowering, name: str, symbol: str, a: Typed, b: Typed) -> Typed:
    """The first unless the other is beyond it in NumPy's order, or NaN decides: ``fmin`` and ``fmax`` leave it out."""
    (a_real, a_imag), (b_real, b_imag) = (
        [number_attribute(low, value, part) for part in ("real", "imag")] for value in (a, b)
    )
    ahead = relation(low, symbol, a_real, b_real)
    for part in (a_imag, b_imag):
        ahead = both(low, ahead, relation(low, "==", part, part))
    tied = both(low, relation(low, "==", a_real, b_real), relation(low, symbol + "=", a_imag, b_imag))
    deciding = (b_real, b_imag) if name in ("fmin", "fmax") else (a_real, a_imag)
    chosen = either(low, ahead, tied)
    for part in deciding:
        chosen = either(low, chosen, relation(low, "!=", part, part))
    if chosen.is_literal:
        return a if chosen.literal else b
    return select(low, chosen.value, a, b)


def extreme(low: Lowering, name: str, symbol: str, a: Typed, b: Typed) -> Typed:
    """The lesser or greater of two numbers; on floats by the function `name`, which decides about NaN."""
    left, right = scalar_type(a), scalar_type(b)
    if left is None or right is None:
        raise TypingError(f"{name}() takes numbers, not {a.type} and {b.type}")
    if isinstance(left, Time) or isinstance(right, Time):
        return times.extreme(low, name, a, b)
    if left.kind == "c" or right.kind == "c":
        return _complex_extreme(low, name, symbol, a, b)
    if left.kind == "f" or right.kind == "f":
        return evaluate(low, name, (a, b))
    test = relation(low, symbol, b, a)
    if test.is_literal:
        return b if test.literal else a
    return select(low, test.value, b, a)


for _ufunc, _symbol in (_BINARY | _OPERATORS).items():
    call(_ufunc)(_operator(_symbol))
for _ufunc, _symbol in _COMPARISONS.items():
    call(_ufunc)(_relation(_symbol))
for _ufunc, _symbol in _RELATIONS.items():
    call(_ufunc)(_numpy_relation(_symbol))
for _ufunc, (_name, _symbol) in _EXTREMES.items():
    call(_ufunc)(_extreme(_name, _symbol))


@call(np.negative, operator.neg)
def _negative(low: Lowering, args: Arguments) -> Typed:
    return negate(low, *args.bind("x"))


@call(np.invert, operator.invert, operator.inv)
def _invert(low: Lowering, args: Arguments) -> Typed:
    return invert(low, *args.bind("x"))


@call(np.logical_not, operator.not_)
def _logical_not(low: Lowering, args: Arguments) -> Typed:
    return negation(low, truth(low, *args.bind("x")))


@call(np.logical_and)
def _logical_and(low: Lowering, args: Arguments) -> Typed:
    a, b = args.bind("x1", "x2")
    return both(low, truth(low, a), truth(low, b))


@call(np.logical_or)
def _logical_or(low: Lowering, args: Arguments) -> Typed:
    a, b = args.bind("x1", "x2")
    return either(low, truth(low, a), truth(low, b))


@call(np.logical_xor)
def _logical_xor(low: Lowering, args: Arguments) -> Typed:
    a, b = args.bind("x1", "x2")
    return relation(low, "!=", truth(low, a), truth(low, b))


@call(np.where)
def _where(low: Lowering, args: Arguments) -> Typed:
    test, then, otherwise = args.bind("condition", "x", "y")
    return select(low, condition(low, test), then, otherwise)


@call(np.clip)
def _clip(low: Lowering, args: Arguments) -> Typed:
    value, least, most = args.bind("a", "a_min", "a_max")
    return _bounded(low, "<", _bounded(low, ">", value, least), most)


def _bounded(low: Lowering, symbol: str, value: Typed, bound: Typed) -> Typed:
    """The bound where it lies beyond the value, or is NaN; the value, if it is NaN."""
    left, right = scalar_type(value), scalar_type(bound)
    if left is None or right is None or left.kind == "c" or right.kind == "c":
        raise TypingError(f"np.clip() takes real numbers, not {value.type} and {bound.type}")
    test = relation(low, symbol, bound, value)
    if right.kind == "f":
        is_number = relation(low, "==", value, value)
        test = either(low, test, both(low, is_number, relation(low, "!=", bound, bound)))
    if test.is_literal:
        return bound if test.literal else value
    return select(low, test.value, bound, value)


@call(np.square)
def _square(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("x")
    return binary(low, "*", value, value)


@call(np.reciprocal)
def _reciprocal(low: Lowering, args: Arguments) -> Typed:
    """1 / x; of an integer rounded toward 0, so 0 but for 1 and -1, and 0 of 0."""
    (value,) = args.bind("x")
    type = scalar_type(value)
    if type is None or type.kind not in "biu":
        return binary(low, "/", literal(1), value)
    result = pyint if type is boolean else type
    x = to_real(low, value, result)
    is_unit = low.builder.icmp("eq", x, const_int(1, x.type))
    if result.kind == "i":
        is_unit = low.builder.binary("or", is_unit, low.builder.icmp("eq", x, const_int(-1, x.type)))
    return Typed(result, (low.builder.select(is_unit, x, const_int(0, x.type)),))


@call(np.sign)
def _sign(low: Lowering, args: Arguments) -> Typed:
    """-1, 0 or 1 in the type of the argument; NaN for NaN."""
    (value,) = args.bind("x")
    type = scalar_type(value)
    if type is None or type.kind in "bc":
        raise TypingError(f"np.sign() takes a real number, not {value.type}")
    positive, negative = (condition(low, relation(low, s, value, literal(0))) for s in (">", "<"))
    one, minus_one, zero = (
        Typed(
            type,
            (
                to_real(low, literal(n), type)
                if n >= 0 or type.kind != "u"
                else const_int(0, ir_scalar(type)),
            ),
        )
        for n in (1, -1, 0)
    )
    otherwise = select(low, negative, minus_one, zero)
    result = select(low, positive, one, otherwise)
    if type.kind != "f":
        return result
    is_nan = condition(low, relation(low, "!=", value, value))
    return select(low, is_nan, value, result)


def _class_of_float(test: str) -> CallHandler:
    """``isnan``, ``isinf`` or ``isfinite``; a complex number is so if a part (for finite: each part) is."""

    def lower(low: Lowering, args: Arguments) -> Typed:
        (value,) = args.bind("x")
        type = scalar_type(value)
        if type is None:
            raise TypingError(f"{args.name}() takes a number, not {value.type}")
        if value.is_literal and type.kind != "c":
            return literal(getattr(math, test)(value.literal))
        if type.kind in "biu":
            return literal(test == "isfinite")
        parts = value.parts if value.parts else complexes.pair(low, value, type)
        results = [Typed(boolean, (_is(low, test, part),)) for part in parts]
        result = results[0]
        for other in results[1:]:
            result = both(low, result, other) if test == "isfinite" else either(low, result, other)
        return result

    return lower


def _is(low: Lowering, test: str, value: Value) -> Value:
    if test == "isnan":
        return low.builder.fcmp("uno", value, value)
    f = floats_of(low, value)
    size = f.llvm("fabs", value)
    return low.builder.fcmp("oeq" if test == "isinf" else "olt", size, f.const(float("inf")))


for _test in ("isnan", "isinf", "isfinite"):
    call(getattr(math, _test), getattr(cmath, _test), getattr(np, _test))(_class_of_float(_test))


@call(np.signbit)
def _signbit(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("x")
    x = to_real(low, value, float64)
    bits = low.builder.cast("bitcast", x, int_type(64))
    return Typed(boolean, (low.builder.icmp("slt", bits, const_int(0)),))


@call(np.copysign)
def _copysign(low: Lowering, args: Arguments) -> Typed:
    return evaluate(low, "copysign", args.bind("x1", "x2"))


@call(np.conjugate)
def _conjugate(low: Lowering, args: Arguments) -> Typed:
    return complexes.conjugate(low, *args.bind("x"))


@call(np.real)
def _real(low: Lowering, args: Arguments) -> Typed:
    return number_attribute(low, args.bind("val")[0], "real")


@call(np.imag)
def _imag(low: Lowering, args: Arguments) -> Typed:
    return number_attribute(low, args.bind("val")[0], "imag")


@call(np.finfo, np.iinfo)
def _limits(low: Lowering, args: Arguments) -> Typed:
    """What is known of a type of numbers: its attributes are constants."""
    from weft.frontend.python.lowering.threads.cuda_memory import dtype_of

    kind = args.name[0]
    (given,) = args.bind("dtype")
    dtype = dtype_of(given, args.name)
    if not isinstance(dtype, Scalar) or dtype.kind not in ("f" if kind == "f" else "iu"):
        wanted = "floats" if kind == "f" else "integers"
        raise TypingError(f"{args.name}() takes a type of {wanted}, not {dtype}")
    return static(np.finfo(str(dtype)) if kind == "f" else np.iinfo(str(dtype)))
