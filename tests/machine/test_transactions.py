"""Sectors, banks, local memory and caches, counted by hand."""

import numpy as np
import pytest

from weft.machine.transactions import bank_turns, local_addresses, units
from weft.simt.cache import Cache

LANES = np.arange(32)


def places(stride, start=0):
    return (LANES * stride + start).astype(np.uint64)


@pytest.mark.parametrize(
    ("stride", "size", "start", "sectors", "lines"),
    [
        (4, 4, 0, 4, 1),
        (4, 4, 4, 5, 2),
        (8, 8, 0, 8, 2),
        (8, 4, 0, 8, 2),
        (32, 4, 0, 32, 8),
        (128, 4, 0, 32, 32),
        (0, 4, 0, 1, 1),
        (16, 16, 0, 16, 4),
        (4, 8, 28, 5, 2),
    ],
)
def test_sectors_and_lines_of_strides(stride, size, start, sectors, lines):
    assert len(units(places(stride, start), size, 32)) == sectors
    assert len(units(places(stride, start), size, 128)) == lines


@pytest.mark.parametrize(
    ("addresses", "size", "turns"),
    [
        (places(4), 4, 1),
        (places(8), 4, 2),
        (places(128), 4, 32),
        (places(132), 4, 1),
        (places(0), 4, 1),
        (places(1), 1, 1),
        (places(8), 8, 2),
        (places(16), 16, 4),
        (places(4)[::-1], 4, 1),
        (places(64)[:3], 4, 2),
    ],
)
def test_turns_of_banks(addresses, size, turns):
    assert bank_turns(addresses, size) == turns


def test_local_memory_is_interleaved_by_words():
    alike = local_addresses(np.full(32, 8), LANES, 3, 16, 4)
    assert (np.diff(alike) == 4).all() and len(units(alike, 4, 32)) == 4
    # Two words each are two lines; places of their own are up to a sector each.
    assert len(units(local_addresses(np.full(32, 8), LANES, 0, 16, 8), 4, 128)) == 2
    assert len(units(local_addresses(LANES % 16 * 4, LANES, 0, 16, 4), 4, 32)) == 32


def test_a_cache_forgets_the_least_recently_used():
    cache = Cache(2 * 128)
    assert cache.read(0) == (False, 0) and cache.read(0) == (True, 0) and cache.read(1) == (False, 0)
    cache.read(4)
    cache.read(0)
    cache.read(8)  # line 2 takes the place of line 1
    assert cache.has(0) and not cache.has(4) and cache.has(8)


def test_what_was_written_is_counted_when_it_goes():
    cache = Cache(128)
    assert cache.write(0) == 0 and cache.write(1) == 0
    assert cache.read(4) == (False, 2)
    assert cache.write(8) == 0
    assert Cache(0).write(0) == 1 and Cache(0).read(0) == (False, 0)
