"""The loops behind the methods of elementwise functions: reductions, accumulations, changes at given places.

Each is a function for `weft.jit`, made for one function of two numbers (of one, for `changed_at`). Arrays have three
dimensions: what is before the axis, the axis, and what is behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from weft.frontend.python.prange import prange

Elementwise = Callable[..., Any]


LONG_ROW = 64
"""Rows behind the axis that have so many elements are taken one after the other, as they lie in memory."""


def reduced_line(function: Elementwise) -> FunctionType:
    """Of an array of one dimension, with at least one element."""

    def line(a):
        found = a[0]
        for at in range(1, a.size):
            found = function(found, a[at])
        return found

    return line


def accumulated_line(function: Elementwise) -> FunctionType:
    """The same, with all values on the way as a new array."""

    def line(a):
        out = np.empty_like(a)
        found = a[0]
        out[0] = found
        for at in range(1, a.size):
            found = function(found, a[at])
            out[at] = found
        return out

    return line


def reduced(function: Elementwise) -> FunctionType:
    """Along the axis from `begin` on, into `out`; lanes and threads take what is before and behind it."""

    def rows(a, begin, out):
        behind = a.shape[2]
        if behind >= LONG_ROW:
            for j in range(a.shape[0]):
                for at in range(begin, a.shape[1]):
                    for i in prange(behind):
                        out[j, i] = function(out[j, i], a[j, at, i])
        else:
            for k in prange(a.shape[0] * behind):
                j = k // behind
                i = k - j * behind
                found = out[j, i]
                for at in range(begin, a.shape[1]):
                    found = function(found, a[j, at, i])
                out[j, i] = found

    return rows


def accumulated(function: Elementwise) -> FunctionType:
    """All values that a reduction has on its way; the first are in `out`."""

    def rows(a, out):
        behind = a.shape[2]
        if behind >= LONG_ROW:
            for j in range(a.shape[0]):
                for at in range(1, a.shape[1]):
                    for i in prange(behind):
                        out[j, at, i] = function(out[j, at - 1, i], a[j, at, i])
        else:
            for k in prange(a.shape[0] * behind):
                j = k // behind
                i = k - j * behind
                found = out[j, 0, i]
                for at in range(1, a.shape[1]):
                    found = function(found, a[j, at, i])
                    out[j, at, i] = found

    return rows


def reduced_between(function: Elementwise) -> FunctionType:
    """Reductions of parts of the axis: each begins at a place, and ends before the next one if that is greater."""

    def parts(a, begins, ends, out):
        behind = a.shape[2]
        for k in prange(a.shape[0] * behind):
            j = k // behind
            i = k - j * behind
            for part in range(begins.size):
                found = a[j, begins[part], i]
                for at in range(begins[part] + 1, ends[part]):
                    found = function(found, a[j, at, i])
                out[j, part, i] = found

    return parts


def changed_at(function: Elementwise) -> FunctionType:
    """Elements at given places, one after the other: a place may come several times."""

    def one(a, places):
        for k in range(places.size):
            a[places[k]] = function(a[places[k]])

    return one


def combined_at(function: Elementwise) -> FunctionType:
    """The same of functions of two numbers, with an array of second ones."""

    def two(a, places, values):
        for k in range(places.size):
            a[places[k]] = function(a[places[k]], values[k])

    return two
