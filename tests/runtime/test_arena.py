import ctypes
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from weft.runtime.arena import ArenaSet, give_arenas, take_arenas


def pointers(table: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(table))


@given(needs=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 70_000)), min_size=1, max_size=6))
def test_arenas_are_page_aligned_apart_and_hold_what_was_asked(needs):
    arenas = ArenaSet()
    for workers, size in needs:
        addresses = pointers(arenas.reserve(workers, size), workers)
        assert all(address % 4096 == 0 for address in addresses)
        assert all(b - a >= max(size, 1) for a, b in pairwise(addresses))
        for worker, address in enumerate(addresses):
            ctypes.memset(address, worker, size)
        for worker, address in enumerate(addresses):
            assert ctypes.string_at(address, size) == bytes([worker]) * size


def test_reserving_no_more_than_before_moves_nothing():
    arenas = ArenaSet()
    table = arenas.reserve(4, 10_000)
    before = pointers(table, 4)
    assert arenas.reserve(3, 9_000) == table
    assert arenas.reserve(4, 16_384) == table
    assert pointers(table, 4) == before


def test_a_set_that_is_taken_is_taken_by_nobody_else():
    first, second = take_arenas(), take_arenas()
    assert first is not second
    give_arenas(first)
    assert take_arenas() is first
