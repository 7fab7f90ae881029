"""Python's builtin functions, and casts by calling a type."""

from __future__ import annotations

import builtins
import enum
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.arrays.array_parts import extents_of
from weft.frontend.python.lowering.arrays.tiled import tiled_extents
from weft.frontend.python.lowering.calls.registry import METHODS, Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of, literal, static
from weft.frontend.python.lowering.numbers.arithmetic import absolute, binary
from weft.frontend.python.lowering.numbers.casts import cast, convert
from weft.frontend.python.lowering.numbers.comparisons import truth
from weft.frontend.python.lowering.numbers.complexes import conjugate
from weft.frontend.python.lowering.numbers.rounding import python_round
from weft.frontend.python.lowering.ranges import Range
from weft.frontend.python.types import (
    STRONG,
    Array,
    Enumeration,
    NoneType,
    Scalar,
    Tiled,
    Tuple,
    bfloat16,
    boolean,
    pycomplex,
    pyfloat,
    pyint,
)
from weft.frontend.python.typing_rules import complex_type, real_type
from weft.ir.constants import ConstInt

if TYPE_CHECKING:
    from weft.frontend.python.lowering.attributes import Method
    from weft.frontend.python.lowering.context import Lowering


def cast_call(low: Lowering, args: Arguments, target: Scalar) -> Typed:
    """Lower ``np.float32(x)``, ``int(x)`` and the like."""
    values = args.bind("value", optional=1)
    value = values[0] if values else literal(0)
    if not isinstance(value.type, Scalar):
        raise TypingError(f"{value.type} cannot become {target}")
    return truth(low, value) if target is boolean else cast(low, value, target)


@call(builtins.int)
def _call_int(low: Lowering, args: Arguments) -> Typed:
    return cast_call(low, args, pyint)


@call(builtins.float)
def _call_float(low: Lowering, args: Arguments) -> Typed:
    text = args.values[0].static if len(args.values) == 1 else None
    if isinstance(text, str):
        try:
            return literal(float(text))
        except ValueError as error:
            raise TypingError(str(error)) from None
    return cast_call(low, args, pyfloat)


@call(builtins.bool)
def _call_bool(low: Lowering, args: Arguments) -> Typed:
    return cast_call(low, args, boolean)


@call(builtins.complex)
def _call_complex(low: Lowering, args: Arguments) -> Typed:
    values = args.bind("real", "imag", optional=1)
    if len(values) == 1 or all(v.is_literal for v in values):
        if len(values) == 1:
            type = values[0].type
            return cast(low, values[0], complex_type(type) if isinstance(type, Scalar) else pycomplex)
        return literal(complex(*(v.literal for v in values)))  # type: ignore[arg-type]
    joined = binary(low, "+", values[0], values[1]).type
    if not isinstance(joined, Scalar) or joined.kind == "c":
        raise TypingError("complex() takes two real numbers")
    type = complex_type(joined)
    part = real_type(type)
    return Typed(type, tuple(convert(low, v, part)[0] for v in values))


def _cast_of(type: Scalar):
    def lower(low: Lowering, args: Arguments) -> Typed:
        if type.kind == "c" and len(args.values) == 2:
            return cast(low, _call_complex(low, args), type)
        return cast_call(low, args, type)

    return lower


for _type in STRONG:
    call(_type.dtype.type, _type)(_cast_of(_type))
call(bfloat16)(_cast_of(bfloat16))


@call(builtins.type)
def _call_type(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("object")
    for type, known in ((pyint, int), (pyfloat, float), (pycomplex, complex), (boolean, bool)):
        if value.type is type:
            return static(known)
    if not isinstance(value.type, Scalar) or value.type is bfloat16:
        raise TypingError(f"type() of {value.type} is not supported", hint="give a number")
    return static(value.type.dtype.type)


@call(builtins.len)
def _call_len(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("object")
    if isinstance(value.type, Tuple):
        return literal(len(value.type.items))
    if isinstance(value.type, Array) and value.type.ndim:
        extent = extents_of(low, value)[0]
        return literal(extent.signed) if isinstance(extent, ConstInt) else Typed(pyint, (extent,), low=0)
    if isinstance(value.type, Tiled):
        return Typed(pyint, (tiled_extents(value)[0],), low=0)
    if isinstance(value.static, Range):
        return value.static.length(low)
    raise TypingError(f"{value.type} has no len()", hint="give an array, a tuple, or a range")


@call(builtins.abs, np.abs, np.absolute, operator.abs)
def _call_abs(low: Lowering, args: Arguments) -> Typed:
    return absolute(low, *args.bind("x"))


@call(operator.pos, np.positive)
def _call_pos(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("x")
    return binary(low, "+", value, literal(0)) if value.type is boolean else value


@call(operator.truth)
def _call_truth(low: Lowering, args: Arguments) -> Typed:
    return truth(low, *args.bind("x"))


@call(builtins.pow)
def _call_pow(low: Lowering, args: Arguments) -> Typed:
    return binary(low, "**", *args.bind("base", "exp"))


@call(builtins.divmod)
def _call_divmod(low: Lowering, args: Arguments) -> Typed:
    a, b = args.bind("x", "y")
    return TupleValue((binary(low, "//", a, b), binary(low, "%", a, b)))


@call(builtins.round)
def _call_round(low: Lowering, args: Arguments) -> Typed:
    return python_round(low, *args.bind("number", "ndigits", optional=1))


@call(builtins.sum)
def _call_sum(low: Lowering, args: Arguments) -> Typed:
    values = args.bind("iterable", "start", optional=1)
    if not isinstance(values[0].type, Tuple):
        raise TypingError(f"sum() takes a tuple, not {values[0].type}", hint="write a loop")
    result = values[1] if len(values) == 2 else literal(0)
    for item in items_of(values[0]):
        result = binary(low, "+", result, item)
    return result


@call(builtins.any)
def _call_any(low: Lowering, args: Arguments) -> Typed:
    return _fold_truth(low, args, "|")


@call(builtins.all)
def _call_all(low: Lowering, args: Arguments) -> Typed:
    return _fold_truth(low, args, "&")


def _fold_truth(low: Lowering, args: Arguments, symbol: str) -> Typed:
    (value,) = args.bind("iterable")
    if not isinstance(value.type, Tuple):
        raise TypingError(f"{args.name}() takes a tuple, not {value.type}", hint="write a loop")
    result = literal(symbol == "&")
    for item in items_of(value):
        result = binary(low, symbol, result, truth(low, item))
    return result


_KINDS: dict[Any, str] = {
    builtins.int: "iu", builtins.bool: "b", builtins.float: "f", builtins.complex: "c",
    np.integer: "iu", np.signedinteger: "i", np.unsignedinteger: "u", np.bool_: "b", np.floating: "f",
    np.complexfloating: "c", np.inexact: "fc", np.number: "iufc", np.generic: "biufc",
}  # fmt: skip


@call(builtins.isinstance)
def _call_isinstance(low: Lowering, args: Arguments) -> Typed:
    """By the type that the value has in compiled code: a float of any width is a `float`, as for numba."""
    value, wanted = args.bind("object", "classinfo")
    classes = items_of(wanted) if isinstance(wanted.type, Tuple) else (wanted,)
    return literal(any(_is_instance(value, each.static) for each in classes))


def _is_instance(value: Typed, wanted: object) -> bool:
    type_ = value.type
    if wanted is np.ndarray:
        return isinstance(type_, Array)
    if wanted is type(None):
        return isinstance(type_, NoneType)
    if isinstance(wanted, type) and issubclass(wanted, tuple):
        return isinstance(type_, Tuple) and (wanted is tuple or type_.cls is wanted)
    if isinstance(wanted, enum.EnumMeta):
        member = getattr(value, "member", None)
        return isinstance(member, wanted) or (isinstance(type_, Enumeration) and type_.cls is wanted)
    if wanted is str or wanted is bytes:
        return isinstance(value.static, wanted)
    if wanted in (list, dict, set, frozenset):
        return False
    if wanted in _KINDS:
        return isinstance(type_, Scalar) and type_.kind in _KINDS[wanted]
    scalar = wanted.dtype if isinstance(wanted, Scalar) else wanted
    if isinstance(scalar, (np.dtype, type)) and issubclass(np.dtype(scalar).type, np.generic):
        return isinstance(type_, Scalar) and not type_.weak and type_.dtype == np.dtype(scalar)
    raise TypingError(
        f"isinstance() does not know {wanted!r:.60}", hint="numbers, np.ndarray, tuple, None, enums"
    )


@call(builtins.tuple)
def _call_tuple(low: Lowering, args: Arguments) -> Typed:
    values = args.bind("iterable", optional=1)
    if not values:
        return TupleValue(())
    if not isinstance(values[0].type, Tuple):
        raise UnsupportedError(f"tuple() of {values[0].type} is not supported in kernels")
    return TupleValue(items_of(values[0]))


def call_method(low: Lowering, bound: Method, args: Arguments) -> Typed:
    """A method of a number or an array."""
    if isinstance(bound.receiver.type, Array):
        return METHODS[bound.name](low, bound.receiver, args)
    args.bind()
    if bound.name == "conjugate":
        return conjugate(low, bound.receiver)
    if bound.name == "bit_count":
        from weft.frontend.python.lowering.numbers.bits import popcount

        return popcount(low, absolute(low, bound.receiver))
    return bound.receiver
