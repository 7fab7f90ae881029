"""Descents, in which threads look up where to look next, have as many lanes as fit masks of bytes twice over."""

import re

import numpy as np
import pytest

import weft
from weft import prange


def find(labels, left, right, wanted, found):
    for i in prange(wanted.size):
        node = 0
        while node >= 0 and labels[node] != wanted[i]:
            node = left[node] if wanted[i] < labels[node] else right[node]
        found[i] = node


def marked(labels, left, right, wanted, found):
    """As `find`, but that each node on the way is marked."""
    for i in prange(wanted.size):
        node = 0
        while node >= 0 and labels[node] != wanted[i]:
            found[node] = 1
            node = left[node] if wanted[i] < labels[node] else right[node]


def counted(labels, left, right, wanted, found):
    """So many levels are gone down, whatever is there."""
    for i in prange(wanted.size):
        node = 0
        for _ in range(5):
            node = left[node] if wanted[i] < labels[node] else right[node]
        found[i] = node


def roots(labels, left, right, wanted, found):
    """One number is looked up in an iteration."""
    for i in prange(wanted.size):
        node = i
        while left[node] >= 0:
            node = left[node]
        found[i] = node


def probed(labels, left, right, wanted, found):
    """Where to look next is known before."""
    for i in prange(wanted.size):
        node = i
        while labels[node] != wanted[i] and left[node] >= 0:
            node = (node + 1) & 7
        found[i] = node


def bisected(labels, left, right, wanted, found):
    """What is looked up only decides which numbers go on."""
    for i in prange(wanted.size):
        low = 0
        high = labels.size
        while high - low > 1:
            middle = (low + high) >> 1
            if labels[middle] > wanted[i]:
                high = middle
            else:
                low = middle
        found[i] = low


def bisected_until_found(labels, left, right, wanted, found):
    """It also decides when the loop ends."""
    for i in prange(wanted.size):
        low = 0
        high = labels.size
        while high - low > 1 and labels[(low + high) >> 1] != wanted[i]:
            middle = (low + high) >> 1
            if labels[middle] > wanted[i]:
                high = middle
            else:
                low = middle
        found[i] = low


def tree(levels: int) -> tuple[np.ndarray, ...]:
    """A tree of all numbers below a power of two, level by level."""
    size = (1 << levels) - 1
    nodes = np.arange(size)
    depth = np.floor(np.log2(nodes + 1)).astype(int)
    labels = ((2 * (nodes + 1 - (1 << depth)) + 1) << (levels - 1 - depth)) - 1
    inner = nodes < size // 2
    left, right = (np.where(inner, 2 * nodes + k, -1).astype(np.int32) for k in (1, 2))
    return labels.astype(np.float32), left, right


def lanes(function, level: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(without=("both-ways",))(function)
    compiled.compile(
        (weft.float32[::1], weft.int32[::1], weft.int32[::1], weft.float32[::1], weft.int32[::1])
    )
    found = [re.search(r"this loop runs (\d+) iterations at a time", r.message) for r in compiled.remarks]
    return max((int(m[1]) for m in found if m), default=1)


def test_descents_have_more_lanes_where_masks_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lanes(find, "x86-64-v3", monkeypatch) == 64
    assert lanes(find, "x86-64-v2", monkeypatch) <= 16


def test_bisections_have_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lanes(bisected, "x86-64-v3", monkeypatch) == 64
    assert lanes(bisected, "x86-64", monkeypatch) <= 16


@pytest.mark.parametrize("function", [marked, counted, roots, probed, bisected_until_found])
def test_other_loops_have_not(function, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lanes(function, "x86-64-v3", monkeypatch) <= 32


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_what_is_found_stays(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    monkeypatch.setenv("WEFT_CHECK", "0")
    labels, left, right = tree(8)
    wanted = np.random.default_rng(1).integers(-9, 400, 1000).astype(np.float32)
    found = np.zeros(1000, np.int32)
    weft.jit(find)(labels, left, right, wanted, found)
    there = np.isin(wanted, labels)
    assert (found[~there] == -1).all()
    np.testing.assert_array_equal(labels[found[there]], wanted[there])


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_what_is_bisected_stays(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    monkeypatch.setenv("WEFT_CHECK", "0")
    rng = np.random.default_rng(1)
    labels, wanted = np.sort(rng.random(777, np.float32)), rng.random(1000, np.float32)
    wanted = np.maximum(wanted, labels[0])
    found, none = np.zeros(1000, np.int32), np.zeros(1, np.int32)
    weft.jit(bisected)(labels, none, none, wanted, found)
    np.testing.assert_array_equal(found, np.searchsorted(labels, wanted, side="right") - 1)
