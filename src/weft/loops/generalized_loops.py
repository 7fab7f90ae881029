"""The loop that applies a function to every row of its operands, for `weft.guvectorize`."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from weft.frontend.python.elements import elements_at
from weft.frontend.python.prange import prange


def over_rows(function: Callable[..., Any]) -> FunctionType:
    """For operands whose first dimension is the loop's; numbers, and arrays in tuples, are the same everywhere."""

    def rows(count, operands):
        for k in prange(count):
            function(*elements_at(operands, k))

    return rows
