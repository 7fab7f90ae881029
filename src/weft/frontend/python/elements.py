"""`elements_at`: the elements of several arrays at one place, what elementwise functions are applied to."""

from __future__ import annotations

from typing import Any


def elements_at(operands: tuple[Any, ...], *index: int) -> tuple[Any, ...]:
    """Return the element at `index` of each array in `operands`; what is no array is its own element."""
    return tuple(x[index] if getattr(x, "ndim", 0) else x for x in operands)
