"""Turns of the banks of shared memory that an access would take, were its array there as it is (Juravle, §5.1).

The definition is that of the cost model, `weft.machine.transactions.bank_turns`: 32 banks of words of 4 bytes, a word
that several lanes want is one. Only a stride in bytes that is a number has a number of turns.
"""

from __future__ import annotations

import numpy as np

from weft.machine.gpus import WARP
from weft.machine.transactions import bank_turns


def turns_of_banks(stride: int, size: int) -> int:
    """Turns of one full warp, whose first lane accesses the first bank; 1 for words side by side."""
    least = -stride * (WARP - 1) if stride < 0 else 0
    addresses = (least + stride * np.arange(WARP)).astype(np.uint64)
    return bank_turns(addresses, size)
