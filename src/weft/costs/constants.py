"""The numbers of the cost model that no manual gives, each in one place with what it is.

They are cycles of recent x86 cores, rounded, and shares. Most are guesses, kept because the choices that they lead to
were measured to pay; none comes from a fit by a program yet. What a number rests on is said where it is known.
"""

from __future__ import annotations

LOOP_WEIGHT = 10.0
"""How often a loop is thought to run its body, where nobody knows: a guess."""

MISS_LATENCY = 80.0
"""Cycles of a gather that the thread's way depends on: a miss of the nearer caches."""

SPILL = 2.0
"""Cycles to store and load a register that there is no room for."""

SCALAR = 0.25
"""Cycles of an instruction on what all threads share: four a cycle."""

MASKING = 2.0
"""Cycles by register in a loop that threads leave at different times: masks, and values kept for those that left."""

ATOMIC = 18.0
"""Cycles of an atomic operation at a thread's own address: threads do it one after the other."""

SPARE_REGISTERS = 4
"""Registers that are left to addresses, masks and constants."""

WIDER_WORTHWHILE = (1.0, 0.85)
"""Of the cycles at one, and at two registers, more must not be left for twice as many to be chosen. Two registers keep
the machine busier than the model knows (measured: none of the kernels of ``bench/speed`` loses, most gain)."""

ROUNDS_WORTHWHILE = 0.85
"""The same for kernels with barriers: wider frames wait in the cache, and what follows a barrier is short."""

BOXES_WORTHWHILE = 0.65
"""Of the cycles of rows, more must not be left for other boxes to be worth code for each size of work-groups."""

ROUND = 20.0
"""Cycles of a lane group to begin and end what is between two barriers. A barrier costs 5 to 13 ns a lane group
(docs/execution.md)."""

TEST = 2.0
"""Cycles of a vote on a mask and the branch on it."""

MISS_SHARE = 0.5
"""How many of the rarer outcomes of a vote the machine does not foresee."""

BRANCH_MISS = 16.0
"""Cycles lost when a branch goes where it was not expected to go."""

LEAVES = 0.12
"""How likely a thread is to leave a loop where it may (the loop branch heuristic of Ball and Larus)."""

SPREAD_MASK = 1.5
"""Cycles to spread a mask over the stride of interleaved accesses."""

SLOW_MASKED_STORE = 4.0
"""Cycles of a masked store on machines without mask registers."""
