"""What elementwise functions are applied to: the elements, or the rows, of several arrays at one place."""

from __future__ import annotations

from typing import Any


def elements_at(operands: tuple[Any, ...], *index: int) -> tuple[Any, ...]:
    """Return what is at `index` of each array in `operands`, an element or a view; what is no array is itself."""
    return tuple(x[index] if getattr(x, "ndim", 0) else x for x in operands)
