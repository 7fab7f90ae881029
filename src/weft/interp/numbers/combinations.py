"""The operations of ``weft.prefix``: two values combined, by the name of the operation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.interp.lanes import Array
from weft.interp.numbers import floats, integers
from weft.ir.types import FloatType, IntType, Type


def combination_of(operation: str, type: Type) -> Callable[[Array, Array], Array]:
    """What combines two arrays of values of a type."""
    if isinstance(type, FloatType):
        return floats.binary(operation, type)
    assert isinstance(type, IntType)
    w = integers.width(type.bits)
    table: dict[str, Callable[[Array, Array], Array]] = {
        "smin": lambda a, b: np.where(w.signed(a) <= w.signed(b), a, b),
        "smax": lambda a, b: np.where(w.signed(a) >= w.signed(b), a, b),
        "umin": np.minimum,
        "umax": np.maximum,
    }
    return table.get(operation) or integers.binary(operation, type.bits)
