"""Loops over several loops are taken apart where one of these adds up (``parallel="auto"``); results stay the same."""

import numpy as np
import pytest

from loops.test_auto import agree, auto
from weft.passes.nests import loop_splits, loop_tiles

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")


def scaled(alpha, a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] *= 0.5
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]


def between(alpha, a, b, c):
    for i in range(c.shape[0] - 1, -1, -1):
        for j in range(c.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
        for j in range(c.shape[1]):
            c[i, j] *= alpha


def twice(alpha, a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += alpha * b[k, j] * a[i, k]


FUNCTIONS = [scaled, between, twice]


def parts(compiled) -> int:
    return sum("a loop of its own" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_product_has_a_nest_of_its_own(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(2)
    for rows, inner, columns in ((9, 11, 17), (0, 3, 2), (1, 0, 3), (1, 1, 1), (3, 2, 0)):
        a, b = draw.random((rows, inner)), draw.random((inner, columns))
        agree(compiled, 1.5, a, b, draw.random((rows, columns)))
    assert parts(compiled) == 1
    assert any("share what they load" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_arrays_that_overlap_run_as_written(function) -> None:
    compiled = auto(function)
    memory = 0.01 * np.random.default_rng(3).random((14, 12))
    agree(compiled, 0.5, memory[:12], memory[1:13], memory[2:14])
    agree(compiled, 0.5, memory[:12], memory[:12], memory[:12])


def next_row(alpha, a, b, c):
    for i in range(c.shape[0] - 1):
        for j in range(c.shape[1]):
            c[i, j] += c[i + 1, j]
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]


def kept_value(alpha, a, b, c):
    s = 0.0
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = max(s, c[i, j])
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += s * a[i, k] * b[k, j]
    return s * alpha


@pytest.mark.parametrize("function", [next_row, kept_value], ids=lambda f: f.__name__)
def test_iterations_that_depend_on_each_other_stay_together(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(5)
    agree(compiled, 0.5, draw.random((8, 9)), draw.random((9, 7)), draw.random((8, 7)))
    assert not parts(compiled)


def zeroed(alpha, a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0.0
            for k in range(a.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]


def mean_of_upper(alpha, a, b, c):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            c[i, j] = alpha
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
            c[i, j] /= a.shape[1]


SUMS = [zeroed, mean_of_upper]


@pytest.fixture
def short_sums(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(loop_splits, "LEAST_SUM", 8)
    monkeypatch.setattr(loop_tiles, "TILE", 4)
    monkeypatch.setenv("WEFT_CHECK", "0")
    # What is in the cache has tiles of another size.
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("function", SUMS, ids=lambda f: f.__name__)
def test_long_sums_have_a_nest_of_their_own_with_tiles(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(6)
    for rows, inner, columns in ((9, 11, 17), (3, 7, 5), (0, 9, 2), (1, 1, 3), (3, 9, 0)):
        a, b = draw.random((rows, inner)), draw.random((inner, columns))
        agree(compiled, 0.5, a, b, draw.random((rows, columns)))
    assert parts(compiled) == 1
    assert any("are a tile" in r.message for r in compiled.remarks)


@pytest.mark.usefixtures("short_sums")
def test_sums_of_arrays_that_overlap_run_as_written() -> None:
    memory = 0.01 * np.random.default_rng(7).random((14, 12))
    agree(auto(zeroed), 0.5, memory[:12], memory[1:13], memory[2:14])


def with_loaded(alpha, a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            scale = c[i, j]
            c[i, j] = 0.0
            for k in range(a.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]
            c[i, j] *= scale


@pytest.mark.usefixtures("short_sums")
def test_what_is_loaded_before_a_sum_and_used_behind_keeps_them_together() -> None:
    compiled = auto(with_loaded)
    draw = np.random.default_rng(8)
    agree(compiled, 0.5, draw.random((5, 9)), draw.random((9, 6)), draw.random((5, 6)))
    assert not parts(compiled)
