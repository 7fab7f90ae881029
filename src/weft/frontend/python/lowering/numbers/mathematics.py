"""Functions of `math` and the NumPy functions of the same meaning, as tables.

A function that LLVM has an intrinsic for becomes one, all others a call of the C math library. They are computed
in the type of their arguments, integers as float64, float16 as float32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python import device_complex
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal, scalar_type
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.lowering.numbers.casts import cast, cast_value, to_real
from weft.frontend.python.lowering.numbers.complexes import Floats, floats_of
from weft.frontend.python.types import Scalar, Tuple, float32, pyfloat
from weft.frontend.python.typing_rules import arithmetic, function_type
from weft.ir.builder import const_int
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

# name: (LLVM intrinsic or None, library function or None, names of the parameters)
FUNCTIONS: dict[str, tuple[str | None, str | None, tuple[str, ...]]] = {
    **{
        name: (name, None, ("x",))
        for name in [
            "sqrt",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "exp",
            "exp2",
            "log",
            "log2",
            "log10",
        ]
    },
    "fabs": ("fabs", None, ("x",)),
    "atan2": ("atan2", None, ("y", "x")),
    "copysign": ("copysign", None, ("x", "y")),
    "pow": ("pow", None, ("x", "y")),
    "fma": ("fma", None, ("x", "y", "z")),
    **{
        name: (None, name, ("x",))
        for name in ["expm1", "log1p", "cbrt", "erf", "erfc", "asinh", "acosh", "atanh", "lgamma"]
    },
    "gamma": (None, "tgamma", ("x",)),
    "hypot": (None, "hypot", ("x", "y")),
    "remainder": (None, "remainder", ("x", "y")),
    # NumPy's rounding functions stay floating.
    "rint": ("rint", None, ("x",)),
    "minimum": ("minimum", None, ("x", "y")),
    "maximum": ("maximum", None, ("x", "y")),
    "fmin": ("minimumnum", None, ("x", "y")),
    "fmax": ("maximumnum", None, ("x", "y")),
}

_NUMPY_NAMES = {
    "asin": ("arcsin", "asin"), "acos": ("arccos", "acos"), "atan": ("arctan", "atan"),
    "atan2": ("arctan2", "atan2"), "asinh": ("arcsinh", "asinh"), "acosh": ("arccosh", "acosh"),
    "atanh": ("arctanh", "atanh"),
}  # fmt: skip
_INTEGER_TOO = ("minimum", "maximum", "fmin", "fmax", "pow")


def evaluate(low: Lowering, name: str, values: tuple[Typed, ...]) -> Typed:
    """A function of the table on real numbers; of some, on a complex number."""
    if name in device_complex.FUNCTIONS and isinstance(values[0].type, Scalar) and values[0].type.kind == "c":
        from weft.frontend.python.lowering.numbers.complex_calls import complex_function

        return complex_function(low, name, values[0])
    types = [scalar_type(value) for value in values]
    for value, type in zip(values, types, strict=True):
        if type is None or type.kind == "c":
            raise TypingError(f"{name}() takes real numbers, not {value.type}")
    result = function_type(*(type for type in types if type is not None))
    folded = _fold(name, values)
    if folded is not None:
        return folded
    working = float32 if result.bits == 16 else result
    args = [cast_value(low, to_real(low, value, result), result, working) for value in values]
    value = emit(floats_of(low, args[0]), name, *args)
    return Typed(result, (cast_value(low, value, working, result),))


def emit(f: Floats, name: str, *args: Value) -> Value:
    """Call a function of the table on IR values."""
    intrinsic, library, _ = FUNCTIONS[name]
    if intrinsic is not None:
        return f.llvm(intrinsic, *args)
    assert library is not None
    return f.libm(library, *args)


def _fold(name: str, values: tuple[Typed, ...]) -> Typed | None:
    """The result of a `math` function on literals; None where Python raises, or there is none."""
    if not all(value.is_literal for value in values) or not hasattr(math, name):
        return None
    try:
        return literal(float(getattr(math, name)(*(value.literal for value in values))))
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        return None


def _of_table(name: str) -> CallHandler:
    params = FUNCTIONS[name][2]

    def lower(low: Lowering, args: Arguments) -> Typed:
        return evaluate(low, name, args.bind(*params))

    return lower


for _name in FUNCTIONS:
    if _name in _INTEGER_TOO:
        continue
    _objects = [getattr(math, _name, None)]
    _objects += [getattr(np, n, None) for n in _NUMPY_NAMES.get(_name, (_name,))]
    call(*(o for o in _objects if o is not None))(_of_table(_name))
call(math.pow)(_of_table("pow"))


@call(math.fmod)
def _call_fmod(low: Lowering, args: Arguments) -> Typed:
    """The remainder of the quotient rounded toward 0, in floats."""
    a, b = args.bind("x", "y")
    types = _real_types("fmod", a, b)
    result = function_type(*types)
    working = float32 if result.bits == 16 else result
    x, y = (cast_value(low, to_real(low, v, result), result, working) for v in (a, b))
    value = low.builder.binary("frem", x, y, low.unit.options.fastmath)
    return Typed(result, (cast_value(low, value, working, result),))


@call(np.fmod)
def _call_numpy_fmod(low: Lowering, args: Arguments) -> Typed:
    """As `math.fmod`; of integers an integer, and 0 where the divisor is 0."""
    a, b = args.bind("x1", "x2")
    left, right = _real_types("fmod", a, b)
    result = arithmetic(left, right, a.int_literal, b.int_literal)
    if not result.is_integer:
        return _call_fmod(low, args)
    x, y = to_real(low, a, result), to_real(low, b, result)
    builder, zero = low.builder, const_int(0, x.type)
    without = builder.icmp("eq", y, zero)
    if result.kind == "i":
        # The remainder of the least integer by -1 is 0, but its quotient overflows.
        without = builder.binary("or", without, builder.icmp("eq", y, const_int(-1, x.type)))
    divisor = builder.select(without, const_int(1, x.type), y)
    rest = builder.binary("srem" if result.kind == "i" else "urem", x, divisor)
    return Typed(result, (rest,), low=0 if result.kind == "u" else None)


def _real_types(name: str, a: Typed, b: Typed) -> tuple[Scalar, Scalar]:
    left, right = scalar_type(a), scalar_type(b)
    if left is None or right is None or left.kind == "c" or right.kind == "c":
        raise TypingError(f"{name}() takes real numbers, not {a.type} and {b.type}")
    return left, right


def _scaling(factor: float) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        (value,) = args.bind("x")
        type = scalar_type(value)
        result = function_type(type) if type is not None else pyfloat
        return binary(low, "*", cast(low, value, result), literal(factor))

    return lower


call(math.degrees, np.degrees, np.rad2deg)(_scaling(180.0 / math.pi))
call(math.radians, np.radians, np.deg2rad)(_scaling(math.pi / 180.0))


@call(math.prod)
def _call_prod(low: Lowering, args: Arguments) -> Typed:
    (values,) = args.bind("iterable")
    if not isinstance(values.type, Tuple):
        raise TypingError(f"math.prod() takes a tuple, not {values.type}", hint="write a loop")
    result = literal(1)
    for item in items_of(values):
        result = binary(low, "*", result, item)
    return result


@call(math.log)
def _call_log(low: Lowering, args: Arguments) -> Typed:
    """The natural logarithm, or that to a base."""
    values = args.bind("x", "base", optional=1)
    result = evaluate(low, "log", values[:1])
    return result if len(values) == 1 else binary(low, "/", result, evaluate(low, "log", values[1:]))
