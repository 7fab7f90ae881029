"""Nests that add up go through their sums tile by tile (``parallel="auto"``); results stay the same to the last bit."""

import numpy as np
import pytest

from loops.test_auto import agree, auto
from loops.test_loop_order import ikj, jki, kij
from weft.passes.nests import loop_tiles

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")


def upper(a, b, c):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def tiles(compiled) -> int:
    return sum("are a tile" in r.message for r in compiled.remarks)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(loop_tiles, "TILE", 4)
    # What is in the cache has tiles of another size.
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("function", [ikj, kij, jki, upper], ids=lambda f: f.__name__)
def test_sums_are_formed_tile_by_tile(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(2)
    for rows, inner, columns in ((9, 11, 17), (0, 3, 2), (1, 0, 3), (1, 8, 1), (3, 5, 0)):
        a, b = draw.random((rows, inner)), draw.random((inner, columns))
        agree(compiled, a, b, draw.random((rows, columns)))
    assert tiles(compiled) == 1


def test_arrays_that_overlap_run_as_written() -> None:
    compiled = auto(ikj)
    memory = 0.05 * np.random.default_rng(3).random((14, 12))
    agree(compiled, memory[:12], memory[1:13], memory[2:14])


def by_rows(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[i, k]


def small(a, b, c):
    for i in range(c.shape[0]):
        for j in range(4):
            for k in range(4):
                c[i, j] += a[i, k] * b[k, j]


@pytest.mark.parametrize("function", [by_rows, small], ids=lambda f: f.__name__)
def test_what_stays_in_the_cache_needs_no_tiles(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(4)
    agree(compiled, draw.random((6, 4)), draw.random((6, 4)), draw.random((6, 4)))
    assert not tiles(compiled)
