"""Rounding: to integers, by an intrinsic of LLVM, and to decimal digits."""

from __future__ import annotations

import math
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed, literal, scalar_type
from weft.frontend.python.lowering.numbers.casts import cast, cast_value, number
from weft.frontend.python.lowering.numbers.complexes import floats_of
from weft.frontend.python.types import Scalar, boolean, float64, int64, pyfloat, pyint, uint64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _rounding(name: str, to_int: bool) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        return rounded(low, name, args.bind("x")[0], to_int)

    return lower


def rounded(low: Lowering, name: str, value: Typed, to_int: bool) -> Typed:
    """Round by an LLVM intrinsic; the result is an int for Python's functions, floating for NumPy's."""
    type = _real_type(value)
    if type.kind != "f":
        return value if type is not boolean else cast(low, value, pyint)
    x = number(low, value)
    result: Value = floats_of(low, x).llvm(name, x)
    if not to_int:
        return Typed(type, (result,))
    return Typed(pyint, (cast_value(low, result, type, pyint),))


def _real_type(value: Typed) -> Scalar:
    type = scalar_type(value)
    if type is None or type.kind == "c":
        raise TypingError(f"a real number is needed here, not {value.type}")
    return type


for _name in ("floor", "ceil", "trunc"):
    call(getattr(math, _name))(_rounding(_name, to_int=True))
    call(getattr(np, _name))(_rounding(_name, to_int=False))


def python_round(low: Lowering, value: Typed, digits: Typed | None = None) -> Typed:
    """Lower ``round(value)``, an int, and ``round(value, digits)``, of the value's type."""
    if digits is None:
        return rounded(low, "rint", value, to_int=True)
    # Few programs round to digits, and its tables take a while.
    from weft.frontend.python import device_rounding

    type, count = _real_type(value), _digits(digits)
    if type.kind != "f":
        return _round_integer(low, value, type, digits)
    working = float64 if type is not pyfloat else pyfloat
    x = cast(low, value, working)
    exact = device_rounding.EXACT_DIGITS
    if count is None or abs(count) > exact:
        result = _call(low, device_rounding.round_to_digits, x, digits)
    else:
        function = device_rounding.to_digits if count >= 0 else device_rounding.to_tens
        result = _call(low, function, x, literal(10.0 ** abs(count)))
    return cast(low, result, type)


def _digits(digits: Typed) -> int | None:
    """The number of digits, where it is known."""
    type = scalar_type(digits)
    if type is None or type.kind not in "biu":
        raise TypingError(f"the number of digits is an integer, not {digits.type}")
    return int(digits.literal) if digits.is_literal else None  # type: ignore[arg-type]


def _round_integer(low: Lowering, value: Typed, type: Scalar, digits: Typed) -> Typed:
    if type is boolean:
        value, type = cast(low, value, pyint), pyint
    count = _digits(digits)
    if count is not None and count >= 0:
        return value
    from weft.frontend.python import device_rounding

    unsigned = type is uint64
    function = device_rounding.round_unsigned if unsigned else device_rounding.round_signed
    return cast(low, _call(low, function, cast(low, value, uint64 if unsigned else int64), digits), type)


def _call(low: Lowering, function: FunctionType, *values: Typed) -> Typed:
    from weft.frontend.python.lowering.calls.calls import call_function

    return call_function(low, function, Arguments(function.__name__, list(values), {}))


@call(np.round, np.around)
def _call_numpy_round(low: Lowering, args: Arguments) -> Typed:
    """Of a float floating, by a product that is rounded, so 2.675 to two digits is 2.68; of an integer as ``round``."""
    values = args.bind("a", "decimals", optional=1)
    type = _real_type(values[0])
    if type.kind != "f":
        return python_round(low, values[0], values[1] if len(values) == 2 else literal(0))
    whole = rounded(low, "rint", values[0], to_int=False)
    if len(values) == 1:
        return whole
    count = _digits(values[1])
    if count == 0:
        return whole
    from weft.frontend.python import device_rounding

    result = _call(low, device_rounding.numpy_round, values[0], values[1])
    return cast(low, result, type)
