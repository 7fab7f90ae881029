"""NumPy's functions of numbers on arrays: ``np.sqrt(a)``, ``np.add(a, b, out)``, ``np.where(a > 0, a, 0)``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.elementwise import assign_elements, combine
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import Array, NoneType

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_OTHERS = (abs, operator.abs, np.where, np.clip, np.real, np.imag, np.round, np.around, np.angle)
"""Functions that are no ufuncs and work on each element."""


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
