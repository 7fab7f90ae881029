"""Rows in loops over prange that read an element of their own are cut there; results stay the same."""

import numpy as np
import pytest

import weft
from loops.test_auto import agree, runs_in_lanes
from pairs import pairs
from weft import prange

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")


def paths(d, p, n):
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                t = d[i, k] + d[k, j]
                if t < d[i, j]:
                    d[i, j] = t
                    p[i, j] = p[k, j]


def widest(d):
    for k in range(d.shape[0]):
        for i in prange(d.shape[0]):
            for j in range(d.shape[0]):
                t = min(d[i, k], d[k, j])
                if t > d[i, j]:
                    d[i, j] = t


def by_middle(x, y):
    for i in prange(y.shape[0]):
        for j in range(90):
            y[i, j] = y[i, 40] * 0.5 + x[i, j]


def downwards(x, y):
    for i in prange(y.shape[0]):
        for j in range(89, -1, -1):
            y[i, j] = y[i, 40] * 0.5 + x[i, j]


def cuts(compiled) -> int:
    return sum("runs alone" in r.message for r in compiled.remarks)


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch) -> str:
    monkeypatch.setenv("WEFT_CPU", request.param)
    return request.param


@pytest.mark.spread
@pytest.mark.parametrize(
    ("level", "type"), pairs(LEVELS, [np.int32, np.int64, np.uint16]), indirect=["level"]
)
def test_paths_are_those_of_python(level, type) -> None:
    compiled = weft.jit(paths)
    draw = np.random.default_rng(1)
    for n in (0, 1, 2, 9, 21):
        d = draw.integers(1, 50, (n, n)).astype(type)
        p = draw.integers(0, 99, (n, n)).astype(np.int32)
        # Iterations of prange are independent where the diagonal is not positive, so that row k stays as it is.
        np.fill_diagonal(d, 0)
        agree(compiled, d, p, n)
    # Without masks two stores under one condition are as fast one by one.
    assert cuts(compiled) == (level != "x86-64")


def test_rows_may_be_parts_of_arrays(level) -> None:
    compiled = weft.jit(paths)
    draw = np.random.default_rng(2)
    d, p = draw.integers(1, 50, (40, 60)), draw.integers(0, 50, (40, 60))
    np.fill_diagonal(d, 0)
    agree(compiled, d, p, 25)
    agree(compiled, d[:, 3:50], p[:, 5:52], 1)


@pytest.mark.spread
@pytest.mark.parametrize(
    ("level", "type"), pairs(LEVELS, [np.int32, np.float32, np.float64]), indirect=["level"]
)
def test_widest_paths_are_those_of_python(level, type) -> None:
    compiled = weft.jit(widest)
    draw = np.random.default_rng(3)
    for n in (0, 1, 2, 9, 21):
        d = draw.integers(-50, 50, (n, n)).astype(type)
        np.fill_diagonal(d, 99)
        if type is not np.int32 and n > 2:
            d[1, 2] = np.nan
            d[0, 0] = np.inf
        agree(compiled, d)
    assert cuts(compiled) == 1
    assert runs_in_lanes(compiled)


@pytest.mark.spread
@pytest.mark.parametrize(("level", "function"), pairs(LEVELS, [by_middle, downwards]), indirect=["level"])
def test_what_an_iteration_stores_is_read_behind_it(level, function) -> None:
    compiled = weft.jit(function)
    draw = np.random.default_rng(4)
    agree(compiled, draw.random((7, 90)), draw.random((7, 90)))
    # Rows that overlap, each with itself alone, are found by the test in front.
    memory = draw.random((7, 190))
    for shift in (0, 1, 16, 90, 100):
        agree(compiled, memory[:, :90], memory[:, shift : shift + 90])
        agree(compiled, memory[:, shift : shift + 90], memory[:, :90])
    assert cuts(compiled) == 1


def test_it_can_be_left_out() -> None:
    compiled = weft.jit(by_middle, without=("cut-rows",))
    draw = np.random.default_rng(5)
    agree(compiled, draw.random((7, 90)), draw.random((7, 90)))
    assert cuts(compiled) == 0


def ahead(x, y, m):
    for i in prange(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = y[i, m] * 0.5 + x[i, j]


def twice(x, y):
    for i in prange(y.shape[0]):
        for j in range(90):
            y[i, j] = y[i, 40] + y[i, 41] * 0.5 + x[i, j]


def test_others_stay_whole() -> None:
    draw = np.random.default_rng(6)
    x, y = draw.random((7, 90)), draw.random((7, 90))
    for function, more in ((ahead, (50,)), (twice, ())):
        compiled = weft.jit(function)
        agree(compiled, x, y, *more)
        assert cuts(compiled) == 0
