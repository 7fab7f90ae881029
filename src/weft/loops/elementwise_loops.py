"""The loops that apply a function to every element: along a line, row by row, or point by point.

Each is a function for `weft.jit`, made for one elementwise function. `operands` is a tuple of arrays, and of numbers
that are the same everywhere; ``where`` is an array of truth values, one for each element that may be written.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from weft.frontend.python.elements import elements_at
from weft.frontend.python.prange import prange

Elementwise = Callable[..., Any]


def along_line(function: Elementwise) -> FunctionType:
    """For arrays of one dimension."""

    def line(operands, out):
        for i in prange(out.shape[0]):
            out[i] = function(*elements_at(operands, i))

    return line


SEVERAL_SHAPES = "the operands have several shapes"


def along_new_line(function: Elementwise, first: int, dtype: Any) -> FunctionType:
    """For arrays of one shape and one dimension, as is `operands[first]`; the result is a new array."""

    def line(operands):
        like = operands[first]
        for operand in operands:
            if isinstance(operand, np.ndarray) and operand.shape[0] != like.shape[0]:
                raise ValueError("the operands have several shapes")
        out = np.empty(like.shape[0], dtype)
        for i in prange(out.shape[0]):
            out[i] = function(*elements_at(operands, i))
        return out

    return line


def along_line_where(function: Elementwise) -> FunctionType:
    """For arrays of one dimension, where a mask allows."""

    def line(operands, where, out):
        for i in prange(out.shape[0]):
            if where[i]:
                out[i] = function(*elements_at(operands, i))

    return line


def by_rows(function: Elementwise) -> FunctionType:
    """For arrays of two dimensions with long rows: lanes and threads along each row."""

    def rows(operands, out):
        for j in range(out.shape[0]):
            for i in prange(out.shape[1]):
                out[j, i] = function(*elements_at(operands, j, i))

    return rows


def by_rows_where(function: Elementwise) -> FunctionType:
    """For arrays of two dimensions with long rows, where a mask allows."""

    def rows(operands, where, out):
        for j in range(out.shape[0]):
            for i in prange(out.shape[1]):
                if where[j, i]:
                    out[j, i] = function(*elements_at(operands, j, i))

    return rows


def by_points(function: Elementwise) -> FunctionType:
    """For arrays of two dimensions with short rows: lanes and threads over all elements."""

    def points(operands, out):
        width = out.shape[1]
        for k in prange(out.shape[0] * width):
            j = k // width
            i = k - j * width
            out[j, i] = function(*elements_at(operands, j, i))

    return points


def by_points_where(function: Elementwise) -> FunctionType:
    """For arrays of two dimensions with short rows, where a mask allows."""

    def points(operands, where, out):
        width = out.shape[1]
        for k in prange(out.shape[0] * width):
            j = k // width
            i = k - j * width
            if where[j, i]:
                out[j, i] = function(*elements_at(operands, j, i))

    return points
