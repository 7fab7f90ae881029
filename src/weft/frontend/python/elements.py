"""What elementwise functions are applied to: the elements, or the rows, of several arrays at one place."""

from __future__ import annotations

from typing import Any


def elements_at(operands: tuple[Any, ...], *index: int) -> tuple[Any, ...]:
    """Return the element at `index` of each array in `operands`; what is no array is its own element."""
    return tuple(x[index] if getattr(x, "ndim", 0) else x for x in operands)


def rows_at(operands: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    """Return the row at `index` of each array in `operands`: a view, or a number where there is one dimension."""
    return tuple(x[index] if getattr(x, "ndim", 0) else x for x in operands)
