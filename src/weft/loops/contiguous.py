"""Elementwise calls of the common kind: contiguous arrays of one shape, and numbers; one loop over the elements.

Such a call's time is what it costs to look at its arguments. They are looked at once, in a way that tells at the same
time whether they are of this kind, which loop is meant, and the slots that its code takes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from weft.loops.compiled import CompiledFunction
from weft.runtime.array_memory import data_pointer

Kinds = tuple[Any, ...]
"""Of each argument: an array's dtype, and a number's type."""

_NUMBERS = frozenset({int, float, bool, *(np.dtype(code).type for code in "?bhiqBHIQefd")})


Contiguous = tuple[Kinds, list[Any], tuple[int, ...]]
"""Arguments of this kind: what they are, their slots, and the shape of the arrays, ``()`` without any."""


def contiguous(args: Sequence[Any]) -> Contiguous | None:
    """Return the arguments as what they are here; None when they are of another kind."""
    kinds: list[Any] = []
    slots: list[Any] = []
    shape, size = None, 1
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            if shape is None:
                shape, size = value.shape, value.size
            elif value.shape != shape:
                return None
            flags = value.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            kinds.append(value.dtype)
            slots += (data_pointer(value), size)
        elif kind in _NUMBERS:
            kinds.append(kind)
            slots.append(value)
        else:
            return None
    return tuple(kinds), slots, shape or ()


class ContiguousLoop(Struct):
    """The loop for arguments of certain kinds.

    Parameters
    ----------
    compiled
        Takes the slots of the arguments, and of the result.
    dtype
        Of the result.
    count
        How often it has run.
    """

    compiled: CompiledFunction
    dtype: np.dtype[Any]
    count: int = 0

    def run(self, given: Contiguous, out: Any) -> Any:
        """Compute into `out` or, if it is None, a new array; None when a number does not fit its type."""
        _, slots, shape = given
        result = np.empty(shape, self.dtype) if out is None else out
        slots += (data_pointer(result), result.size)
        try:
            packed = self.compiled.pack(slots)
        except (struct.error, OverflowError):
            return None
        self.compiled.run(packed)
        return result if shape or out is not None else result[()]

    def takes(self, out: Any, given: Contiguous, args: Sequence[Any]) -> bool:
        """Whether results can be written to `out` one after the other: it is an operand, or apart from all."""
        if type(out) is not np.ndarray or out.dtype != self.dtype or out.shape != given[2]:
            return False
        flags = out.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable):
            return False
        return all(a is out or type(a) is not np.ndarray or not np.may_share_memory(a, out) for a in args)
