"""Loops change places where elements are added up (``parallel="auto"``); results are those of the order as written."""

import numpy as np
import pytest

import weft
from loops.test_auto import agree, auto

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")


def ikj(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def kij(a, b, c):
    for k in range(a.shape[1]):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def kji(a, b, c):
    for k in range(a.shape[1]):
        for j in range(c.shape[1]):
            for i in range(c.shape[0]):
                c[i, j] += a[i, k] * b[k, j]


def jki(a, b, c):
    for j in range(c.shape[1]):
        for k in range(a.shape[1]):
            for i in range(c.shape[0]):
                c[i, j] += a[i, k] * b[k, j]


def downwards(a, b, c):
    for k in range(a.shape[1] - 1, -1, -1):
        for i in range(c.shape[0]):
            for j in range(c.shape[1] - 1, 0, -1):
                c[i, j] = c[i, j] * 0.5 + a[i, k] * b[k, j]


ORDERS = [ikj, kij, kji, jki, downwards]


def changes(compiled) -> int:
    return sum("have changed places" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("order", ORDERS, ids=lambda f: f.__name__)
def test_the_sum_becomes_the_innermost_loop(order) -> None:
    compiled = auto(order)
    draw = np.random.default_rng(2)
    for rows, inner, columns in ((9, 11, 17), (0, 3, 2), (1, 0, 3), (1, 1, 1), (3, 2, 0)):
        a, b = draw.random((rows, inner)), draw.random((inner, columns))
        agree(compiled, a, b, draw.random((rows, columns)))
    assert changes(compiled)
    assert any("share what they load" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("order", ORDERS, ids=lambda f: f.__name__)
def test_arrays_that_overlap_keep_the_order_as_written(order) -> None:
    compiled = auto(order)
    memory = 0.05 * np.random.default_rng(3).random((14, 12))
    agree(compiled, memory[:12], memory[1:13], memory[2:14])
    agree(compiled, memory[:12], memory[:12], memory[:12])


def test_strides_may_be_negative() -> None:
    draw = np.random.default_rng(4)
    a, b, c = draw.random((8, 9)), draw.random((9, 10)), draw.random((8, 10))
    agree(auto(kij), a[::-1], b[:, ::-1], c[::-1, ::-1])


def anti_diagonal(a, c):
    for k in range(a.shape[0]):
        for i in range(1, c.shape[0]):
            for j in range(c.shape[1] - 1):
                c[i, j] = c[i - 1, j + 1] * 0.5 + a[k, i]


def previous_sum(a, c):
    for k in range(1, a.shape[0]):
        for i in range(c.shape[0] - 1):
            for j in range(c.shape[1]):
                c[i, j] += c[i + 1, j] * a[k, j]


@pytest.mark.parametrize("function", [anti_diagonal, previous_sum], ids=lambda f: f.__name__)
def test_an_order_that_dependences_need_stays(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(5)
    agree(compiled, draw.random((6, 9)), draw.random((9, 9)))
    assert not changes(compiled)


def triangle(a, b, c):
    for i in range(c.shape[0]):
        for k in range(i):
            for j in range(k):
                c[i, j] += a[i, k] * b[k, j]


def test_bounds_that_another_loop_changes_keep_the_order() -> None:
    compiled = auto(triangle)
    draw = np.random.default_rng(6)
    agree(compiled, draw.random((9, 9)), draw.random((9, 9)), draw.random((9, 9)))
    assert not changes(compiled)


def test_the_remark_names_both_lines() -> None:
    compiled = weft.jit(ikj, parallel="auto")
    compiled(np.ones((4, 4)), np.ones((4, 4)), np.ones((4, 4)))
    first = ikj.__code__.co_firstlineno
    (told,) = (r for r in compiled.remarks if "changed places" in r.message)
    assert told.message == f"this loop and that of line {first + 3} have changed places"
    assert told.span is not None
    assert told.span.line == first + 2


def tiled(a, b, c):
    for first in range(0, a.shape[1], 4):
        end = min(first + 4, a.shape[1])
        for i in range(c.shape[0]):
            for k in range(first, end):
                for j in range(c.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]


def test_tiles_that_are_written_so_stay_outside() -> None:
    compiled = auto(tiled)
    draw = np.random.default_rng(6)
    for rows, inner, columns in ((5, 11, 17), (2, 0, 3), (1, 4, 1)):
        agree(compiled, draw.random((rows, inner)), draw.random((inner, columns)), np.zeros((rows, columns)))
    assert changes(compiled) == 1


def below_diagonal(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(i):
                c[k, j] += a[i, k] * b[i, j]


def test_a_loop_up_to_the_outer_counter_is_no_tile() -> None:
    compiled = auto(below_diagonal)
    draw = np.random.default_rng(7)
    for rows, columns in ((9, 17), (1, 3), (0, 2)):
        a, b = draw.random((rows, rows)), draw.random((rows, columns))
        agree(compiled, a, b, np.zeros((rows, columns)))
    assert changes(compiled)
