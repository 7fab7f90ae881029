"""NumPy's functions of numbers on arrays: ``np.sqrt(a)``, ``np.add(a, b, out)``, ``np.where(a > 0, a, 0)``.

Functions of two numbers have methods: ``np.add.outer(a, b)``, ``np.maximum.reduce(a)``, ``np.add.accumulate(a)``.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.arrays import NewAxis, Slice
from weft.frontend.python.lowering.arrays.elementwise import assign_elements, combine
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.overloads import strong
from weft.frontend.python.types import Array, NoneType, Scalar

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_OTHERS = (abs, operator.abs, np.where, np.clip, np.real, np.imag, np.round, np.around, np.angle)
"""Functions that are no ufuncs and work on each element."""

_REDUCED = {
    np.add: "sum", np.multiply: "prod", np.minimum: "min", np.maximum: "max", np.logical_and: "all",
    np.logical_or: "any",
}  # fmt: skip
_ACCUMULATED = {np.add: np.cumsum, np.multiply: np.cumprod}


class UfuncMethod(Struct, frozen=True):
    """A method of a function of two numbers, waiting for its call.

    Parameters
    ----------
    ufunc, name
        The function, and the method.
    """

    ufunc: np.ufunc
    name: str

    def __str__(self) -> str:
        return f"{self.ufunc.__name__}.{self.name}"


def method_of(target: np.ufunc, name: str) -> UfuncMethod | None:
    """The method of a function; None if it has none of that name here."""
    known = target.nin == 2 and (
        name == "outer"
        or (name == "reduce" and target in _REDUCED)
        or (name == "accumulate" and target in _ACCUMULATED)
    )
    return UfuncMethod(target, name) if known else None


def call_ufunc_method(low: Lowering, method: UfuncMethod, args: Arguments) -> Typed:
    """Call such a method."""
    from weft.frontend.python.lowering.arrays.reductions import reduced
    from weft.frontend.python.lowering.calls.calls import call_value

    if method.name == "outer":
        # It makes arrays of all that it gets: Python's numbers are as wide as NumPy's there.
        a, b = (
            cast(low, value, strong(value.type)) if isinstance(value.type, Scalar) else value
            for value in args.bind("A", "B")
        )
        if isinstance(a.type, Array) and isinstance(b.type, Array):
            a = view(low, a, [*[Slice()] * a.type.ndim, *[NewAxis()] * b.type.ndim])
        return call_on_elements(low, method.ufunc, Arguments(args.name, [a, b], {}))
    array, *rest = args.bind("array", "axis", optional=1)
    if method.name == "reduce":
        return reduced(low, _REDUCED[method.ufunc], array, Arguments(args.name, rest or [literal(0)], {}))
    if rest or not isinstance(array.type, Array) or array.type.ndim != 1:
        raise TypingError(f"{args.name}() takes an array of one dimension here, and no axis")
    return call_value(low, _ACCUMULATED[method.ufunc], Arguments(args.name, [array], {}))


def is_elementwise(target: Any) -> bool:
    """Whether it is a function of NumPy's that works on each element."""
    return (isinstance(target, np.ufunc) and target.nout == 1) or any(target is other for other in _OTHERS)


def call_on_elements(low: Lowering, target: Any, args: Arguments) -> Typed:
    """Call such a function on arrays; with ``out``, an array that the results go to and that is returned."""
    from weft.frontend.python.lowering.calls.calls import call_value

    values, keywords = list(args.values), dict(args.keywords)
    out = keywords.pop("out", None)
    if isinstance(target, np.ufunc) and len(values) == target.nin + 1:
        out = values.pop()
    if isinstance(target, np.ufunc) and len(values) != target.nin:
        raise TypingError(f"{args.name}() takes {target.nin} arguments and out, not {len(args.values)}")

    name, count, names = args.name, len(values), tuple(keywords)

    def apply(low: Lowering, *elements: Typed) -> Typed:
        named = dict(zip(names, elements[count:], strict=True))
        return call_value(low, target, Arguments(name, list(elements[:count]), named))

    made = combine(low, apply, *values, *keywords.values())
    if out is None or isinstance(out.type, NoneType):
        return made
    if not isinstance(out.type, Array):
        raise TypingError(f"out of {args.name}() is an array, not {out.type}")
    assign_elements(low, out, made)
    return out
