"""An array among several indices, and masks of rows: read and assigned to, against NumPy."""

import numpy as np
import pytest

import weft
from weft.errors import UnsupportedError

CUBE = np.arange(60.0).reshape(3, 4, 5)
ROWS = np.arange(12).reshape(3, 4)
PLACES = np.array([2, 0, -1, 1])
ROW_MASK, COLUMN_MASK = np.array([True, False, True]), np.array([True, False, False, True])


@pytest.mark.parametrize(
    ("function", "array", "index"),
    [
        (lambda a, i: a[i, :], ROWS, PLACES),
        (lambda a, i: a[:, i], ROWS, PLACES),
        (lambda a, i: a[1, i], ROWS, PLACES),
        (lambda a, i: a[i, 1], ROWS, PLACES),
        (lambda a, i: a[i, 1:3], ROWS, ROW_MASK),
        (lambda a, i: a[i, :], ROWS, ROW_MASK),
        (lambda a, i: a[:, i], ROWS, COLUMN_MASK),
        (lambda a, i: a[i], ROWS, ROW_MASK),
        (lambda a, i: a[i], CUBE, ROW_MASK),
        (lambda a, i: a[:, i, :], CUBE, PLACES),
        (lambda a, i: a[:, i], CUBE, COLUMN_MASK),
        (lambda a, i: a[..., i], CUBE, PLACES),
        (lambda a, i: a[1, i], CUBE, PLACES),
        (lambda a, i: a[:, 1, i], CUBE, PLACES),
        (lambda a, i: a[i, 1, :], CUBE, PLACES),
        (lambda a, i: a[None, :, i], CUBE, PLACES),
        (lambda a, i: (a[i, :] * 2)[:, i[:2]], ROWS, PLACES),
    ],
)
def test_what_is_selected(function, array, index):
    wanted = function(array, index)
    found = weft.jit(function)(array, index)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def columns(a, i, v):
    a[:, i] = 7


def elements(a, i, v):
    a[i, 1] = v[: i.size]


def of_a_row(a, i, v):
    a[1, i] = 3


def number_to_rows(a, i, v):
    a[i] = 5


def row_to_rows(a, i, v):
    a[i, :] = v


def rows_to_rows(a, i, v):
    a[i] = a[: i.size] + 1


@pytest.mark.parametrize(
    ("function", "index"),
    [
        (columns, PLACES),
        (columns, COLUMN_MASK),
        (elements, PLACES),
        (of_a_row, PLACES),
        (of_a_row, COLUMN_MASK),
        (number_to_rows, PLACES),
        (number_to_rows, ROW_MASK),
        (row_to_rows, PLACES),
        (row_to_rows, ROW_MASK),
        (rows_to_rows, PLACES[1:3]),
        (rows_to_rows, np.array([2, 1, 0])),
    ],
)
def test_what_is_assigned_to(function, index):
    values = np.array([5, 6, 7, 8])
    found, wanted = ROWS.copy(), ROWS.copy()
    function(wanted, index, values)
    weft.jit(function)(found, index, values)
    np.testing.assert_array_equal(found, wanted)


def test_what_has_another_meaning_is_refused():
    with pytest.raises(UnsupportedError, match="a slice between an integer and an array"):
        weft.jit(lambda a, i: a[1, :, i])(CUBE, PLACES)
    with pytest.raises(UnsupportedError, match="several arrays"):
        weft.jit(lambda a, i: a[i, i])(ROWS, PLACES)
    with pytest.raises(ValueError, match=r"shape|extent|size"):
        weft.jit(lambda a, i: a[i, :])(ROWS, COLUMN_MASK)
