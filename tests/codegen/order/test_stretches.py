"""Lane groups as wide as stretches of threads with one quotient."""

import re
from itertools import pairwise

import numpy as np
import pytest

import weft
from weft import cuda


def sums_of_rows(begin, index, table, out):
    t = cuda.grid(1)
    row = t // 4
    if row < len(begin) - 1:
        total = np.float32(0)
        for p in range(begin[row], begin[row + 1]):
            total += table[index[p], t % 4]
        out[row, t % 4] = total


def sums_in_loop(begin, index, table, out):
    for t in weft.prange(out.size):
        row = t // 48
        total = np.float32(0)
        for p in range(begin[row], begin[row + 1]):
            total += table[index[p], t % 48]
        out[row, t % 48] = total


def greatest_of_blocks(x, out):
    for t in weft.prange(len(x)):
        most = np.float32(0)
        for k in range(32):
            most = max(most, x[t // 32 * 32 + k])
        out[t] = most


def places(table, wanted, out):
    t = cuda.grid(1)
    row = t // 8
    if row < len(wanted):
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            if table[middle] < wanted[row]:
                low = middle + 1
            else:
                high = middle
        out[t] = low


def width_of(compiled) -> int:
    found = [re.search(r"runs (\d+) (?:threads|iterations) at a time", r.message) for r in compiled.remarks]
    return max(int(m.group(1)) for m in found if m)


def sparse_rows(columns: int):
    lengths = np.array([3, 0, 7, 1, 5, 2, 9, 4, 1])
    begin = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    index = (np.arange(begin[-1], dtype=np.int32) * 7) % 11
    table = np.arange(11 * columns, dtype=np.float32).reshape(11, columns)
    expected = np.stack([table[index[a:b]].sum(axis=0) for a, b in pairwise(begin)])
    return (begin, index, table, np.zeros_like(expected)), expected


def test_threads_of_one_row_are_a_lane_group_be_it_narrower_than_a_register() -> None:
    arguments, expected = sparse_rows(4)
    kernel = cuda.jit(sums_of_rows)
    kernel[3, 13](*arguments)
    np.testing.assert_array_equal(arguments[-1], expected)
    assert width_of(kernel) == 4


def test_so_are_iterations_of_what_is_divided_by_no_power_of_two() -> None:
    arguments, expected = sparse_rows(48)
    loop = weft.jit(sums_in_loop)
    loop(*arguments)
    np.testing.assert_array_equal(arguments[-1], expected)
    assert width_of(loop) == 16


def test_a_mask_of_low_bits_is_a_quotient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    loop = weft.jit(greatest_of_blocks)
    loop.compile("void(float32[::1], float32[::1])")
    assert width_of(loop) == 32


def test_one_search_for_all_lanes_is_no_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    kernel = cuda.jit(places)
    kernel.compile("void(float32[::1], float32[::1], int64[::1])")
    assert width_of(kernel) == 64
