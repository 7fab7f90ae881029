"""What elementwise functions are applied to: the elements, or the rows, of several arrays at one place."""

from __future__ import annotations

from typing import Any


def elements_at(operands: tuple[Any, ...], *index: int) -> tuple[Any, ...]:
    """Return what is at `index` of each array in `operands`, an element or a view.

    What is no array is itself, and of a tuple of one array that array: it is the same everywhere.
    """
    return tuple(_element(x, index) for x in operands)


def _element(operand: Any, index: tuple[int, ...]) -> Any:
    if isinstance(operand, tuple):
        return operand[0]
    return operand[index] if getattr(operand, "ndim", 0) else operand
