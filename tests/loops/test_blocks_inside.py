"""Blocks of constant size in loops over prange: lanes run along their columns, where these are found parallel."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import prange
from weft.codegen.order.width import one_register
from weft.target.machine import TargetSpec

TABLES = {n: np.random.default_rng(n).integers(-3, 4, (n, n)).astype(np.float32) for n in (4, 8, 16)}
T4, T8, T16 = TABLES.values()


def transform4(image, result):
    for block in prange(image.shape[0] // 4):
        half = np.empty((4, 4), np.float32)
        for x in range(0, image.shape[1], 4):
            for i in range(4):
                for j in range(4):
                    total = np.float32(0)
                    for k in range(4):
                        total += image[4 * block + i, x + k] * T4[j, k]
                    half[i, j] = total
            for i in range(4):
                for j in range(4):
                    total = np.float32(0)
                    for k in range(4):
                        total += T4[i, k] * half[k, j]
                    result[4 * block + i, x + j] = total


def transform8(image, result):
    for block in prange(image.shape[0] // 8):
        half = np.empty((8, 8), np.float32)
        for x in range(0, image.shape[1], 8):
            for i in range(8):
                for j in range(8):
                    total = np.float32(0)
                    for k in range(8):
                        total += image[8 * block + i, x + k] * T8[j, k]
                    half[i, j] = total
            for i in range(8):
                for j in range(8):
                    total = np.float32(0)
                    for k in range(8):
                        total += T8[i, k] * half[k, j]
                    result[8 * block + i, x + j] = total


def transform16(image, result):
    for block in prange(image.shape[0] // 16):
        half = np.empty((16, 16), np.float32)
        for x in range(0, image.shape[1], 16):
            for i in range(16):
                for j in range(16):
                    total = np.float32(0)
                    for k in range(16):
                        total += image[16 * block + i, x + k] * T16[j, k]
                    half[i, j] = total
            for i in range(16):
                for j in range(16):
                    total = np.float32(0)
                    for k in range(16):
                        total += T16[i, k] * half[k, j]
                    result[16 * block + i, x + j] = total


def lanes_of(function) -> list[str]:
    return [r.message for r in function.remarks if "iterations at a time" in r.message]


@pytest.mark.parametrize(("function", "size"), [(transform4, 4), (transform8, 8), (transform16, 16)])
def test_lanes_run_along_the_columns_of_blocks(function, size: int) -> None:
    image = np.random.default_rng(1).integers(-9, 9, (2 * size, 3 * size)).astype(np.float32)
    result, wanted = np.zeros_like(image), np.zeros_like(image)
    compiled = weft.jit(function)
    compiled(image, result)
    function(image, wanted)
    np.testing.assert_array_equal(result, wanted)
    if size > 2 * one_register(TargetSpec.chosen().isa):
        pytest.skip("two registers hold fewer")
    assert lanes_of(compiled)
    assert all(f"runs {size} iterations at a time" in message for message in lanes_of(compiled))
    assert all("as many as it has" in message for message in lanes_of(compiled))


def test_arrays_may_be_the_same() -> None:
    """Each block is read before it is written, but for rows of one that are written and read."""
    image = np.random.default_rng(2).integers(-9, 9, (16, 32)).astype(np.float32)
    for function in (transform4, transform8, transform16):
        mine, wanted = image.copy(), image.copy()
        weft.jit(function)(mine, mine)
        function(wanted, wanted)
        np.testing.assert_array_equal(mine, wanted)


def shifted(x, y):
    for row in prange(x.shape[0]):
        for j in range(8):
            x[row, j] = 2 * y[row, j + 1]


def sums(x, y):
    for row in prange(x.shape[0]):
        for k in range(8):
            x[row, 0] += y[row, k]


def beside(x, y):
    for row in prange(x.shape[0]):
        for j in range(8):
            x[row, j] = y[row, j]
        n = x[row, 0]
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            x[row, 1] += 1


@pytest.mark.parametrize("function", [shifted, sums, beside])
def test_others_run_as_before(function) -> None:
    memory = np.random.default_rng(3).integers(1, 9, (40, 24))
    mine, wanted = memory.copy(), memory.copy()
    compiled = weft.jit(function)
    compiled(mine[:, :10], mine[:, 4:])
    function(wanted[:, :10], wanted[:, 4:])
    np.testing.assert_array_equal(mine, wanted)
    assert not any("as many as it has" in message for message in lanes_of(compiled))


def several(x, y):
    for row in prange(x.shape[0]):
        for j in prange(32):
            x[row, j] = y[row, j] + 1
        for j in prange(32):
            y[row, j] = x[row, 31 - j]


def test_promised_loops_beside_each_other_have_lanes() -> None:
    x, y = np.zeros((9, 32), np.float32), np.random.default_rng(4).random((9, 32), np.float32)
    mine, wanted = (x.copy(), y.copy()), (x.copy(), y.copy())
    compiled = weft.jit(several)
    compiled(*mine)
    several(*wanted)
    for a, b in zip(mine, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(lanes_of(compiled)) == 2
