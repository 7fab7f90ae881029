"""Functions of complex numbers: those of `cmath`, and NumPy's and `math`'s given a complex number."""

from __future__ import annotations

import cmath
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python import device_complex
from weft.frontend.python.lowering.calls.calls import call_function
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Scalar, complex64, complex128
from weft.frontend.python.typing_rules import complex_type

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def complex_function(low: Lowering, name: str, value: Typed) -> Typed:
    """A function of `device_complex`, of a number taken as a complex one."""
    if not isinstance(value.type, Scalar):
        raise TypingError(f"{name}() takes a number, not {value.type}")
    result = complex_type(value.type)
    working = complex128 if result is complex64 and name not in device_complex.NATIVE else result
    args = Arguments(name, [cast(low, value, working)], {})
    return cast(low, call_function(low, device_complex.FUNCTIONS[name], args), result)


def _named(name: str) -> CallHandler:
    return lambda low, args: complex_function(low, name, *args.bind("z"))


for _name in device_complex.FUNCTIONS:
    if hasattr(cmath, _name):
        call(getattr(cmath, _name))(_named(_name))


@call(cmath.log)
def _call_log(low: Lowering, args: Arguments) -> Typed:
    """The natural logarithm, or that to a base."""
    logarithms = [complex_function(low, "log", value) for value in args.bind("z", "base", optional=1)]
    return binary(low, "/", *logarithms) if len(logarithms) == 2 else logarithms[0]
