"""What an access of the threads of a warp is to memory: sectors, lines, and turns of the banks of shared memory."""

from __future__ import annotations

import numpy as np

from weft.machine.gpus import WARP

Array = np.ndarray

SECTOR = 32
"""Bytes that memory and caches move."""

LINE = 128
"""Bytes of a cache line."""

BANKS = 32
_WORD = 4


def units(addresses: Array, size: int, unit: int) -> Array:
    """The numbers of the units of `unit` bytes that accesses of `size` bytes touch, each once, in order."""
    first = addresses // np.uint64(unit)
    last = (addresses + np.uint64(max(size, 1) - 1)) // np.uint64(unit)
    most = int((last - first).max(initial=0))
    if most == 0:
        return np.unique(first)
    steps = np.arange(most + 1, dtype=np.uint64)
    touched = first[:, None] + steps[None, :]
    return np.unique(touched[touched <= last[:, None]])


def bank_turns(addresses: Array, size: int) -> int:
    """How often the banks of shared memory have to be asked for an access of one warp.

    Threads that want the same word get it together; different words of one bank come one after the other. Accesses of
    8 and 16 bytes are made for halves and quarters of a warp.

    Parameters
    ----------
    addresses
        Those of the active threads, in order.
    size
        Bytes that each accesses.
    """
    words = max(1, -(-size // _WORD))
    if words == 1:
        return _turns(addresses // np.uint64(_WORD))
    share = max(1, WARP // words)
    turns = 0
    for first in range(0, len(addresses), share):
        start = addresses[first : first + share] // np.uint64(_WORD)
        turns += _turns((start[:, None] + np.arange(words, dtype=np.uint64)[None, :]).reshape(-1))
    return turns


def _turns(words: Array) -> int:
    banks = np.unique(words) % np.uint64(BANKS)
    return int(np.bincount(banks.astype(np.int64), minlength=1).max(initial=0)) if banks.size else 0


def local_addresses(offsets: Array, lanes: Array, warp: int, words: int, size: int) -> Array:
    """Where hardware keeps the words of local memory that threads of a warp access.

    The same word of all threads of a warp is one line: what all access at one place is in one transaction.

    Parameters
    ----------
    offsets
        The byte in each active thread's local memory at which its access begins.
    lanes
        The place of each of them in the warp.
    warp
        The number of the warp, of all those that have local memory.
    words
        32-bit words of local memory that a thread has.
    size
        Bytes that each accesses.

    Returns
    -------
    Array
        The address of each word accessed.
    """
    first = offsets.astype(np.int64) // _WORD
    count = max(1, -(-size // _WORD))
    rows = first[:, None] + np.arange(count)[None, :]
    places = ((warp * words + rows) * WARP + lanes[:, None]) * _WORD
    return places.reshape(-1).astype(np.uint64)
