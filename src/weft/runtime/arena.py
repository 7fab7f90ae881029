"""Scratch memory for launches: one arena for each worker, kept between launches.

A launch takes a set of arenas from a free list and puts it back, so launches at the same time never share
one, and after the first launch of its size none allocates. Arenas begin on pages of their own: no two
workers share a cache line, and each page is first touched, hence placed, by the worker that uses it.
"""

from __future__ import annotations

import ctypes

import numpy as np

from weft.diag.errors import LaunchError

_PAGE = 4096


class ArenaSet:
    """Arenas of one size for workers 0, 1, ...

    Its memory holds whatever earlier launches left.
    """

    __slots__ = ("_memory", "_table", "size", "table", "workers")

    def __init__(self) -> None:
        self.workers = 0
        self.size = 0
        self._allocate(1, _PAGE)

    def reserve(self, workers: int, size: int) -> int:
        """Return the address of a table of so many pointers to arenas of at least so many bytes."""
        if workers > self.workers or size > self.size:
            self._allocate(max(workers, self.workers), max(size, self.size))
        return self.table

    def _allocate(self, workers: int, size: int) -> None:
        # To a power of two of pages, so that growing needs do not allocate each time.
        size = _PAGE << max(0, -(-size // _PAGE) - 1).bit_length()
        try:
            self._memory = np.empty(workers * size + _PAGE, np.uint8)
        except MemoryError:
            raise LaunchError(
                f"{workers} threads need {size} bytes each for shared memory and barriers, which there are not",
                hint="use less shared memory, smaller blocks or fewer threads (weft.set_num_threads)",
            ) from None
        start = self._memory.ctypes.data
        start += -start % _PAGE
        self._table = (ctypes.c_void_p * workers)(*range(start, start + workers * size, size))
        self.table: int = ctypes.addressof(self._table)
        self.workers = workers
        self.size = size


_free: list[ArenaSet] = []


def take_arenas() -> ArenaSet:
    """Return a set that no other launch uses until it is given back."""
    # One step instead of a look and a pop: another thread may take the last one in between.
    try:
        return _free.pop()
    except IndexError:
        return ArenaSet()


def give_arenas(arenas: ArenaSet) -> None:
    """Put a set back for the next launch."""
    _free.append(arenas)
