"""The numbers of the cost model that are no properties of one instruction, by instruction set level, in one place.

`Constants` says what each one is. `COMMON` has the values, `BY_LEVEL` where a level has others. The table of
instructions is in `weft.costs.instructions`.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.machine.targets import Isa


@dataclass(frozen=True, slots=True)
class Constants:
    """What the cost model is made of; times are cycles.

    Parameters
    ----------
    loop_weight
        How often a loop is thought to run its body, where nobody knows.
    miss_latency
        A gather that the thread's way depends on: a miss of the nearer caches.
    spill
        Storing and loading a register that there is no room for.
    scalar
        An instruction on what all threads share.
    masking
        By register in a loop that threads leave at different times: masks, and values kept for those that left.
    atomic
        An atomic operation at a thread's own address: threads do it one after the other.
    spare_registers
        Registers that are left to addresses, masks and constants.
    wider_worthwhile
        Of the cycles at one register, and at more, no more must be left for twice as many to be chosen.
    registers, wide_registers
        How many a lane group may fill with the values that most work is done on, of 32 bits or less, and of more.
    rounds_worthwhile
        The same for kernels with barriers: wider frames wait in the cache, and what follows a barrier is short.
    boxes_worthwhile
        Of the cycles of rows, more must not be left for other boxes to be worth code for each size of work-groups.
    round
        A lane group that begins and ends what is between two barriers.
    test
        A vote on a mask and the branch on it.
    miss_share
        How many of the rarer outcomes of a vote the machine does not foresee.
    branch_miss
        Lost when a branch goes where it was not expected to go.
    leaves
        How likely a thread is to leave a loop where it may.
    together
        How often threads of a lane group go the same way at a branch because of what they have in common; otherwise
        each goes on its own.
    outside, inside
        How likely all threads of a lane group are on the rarer, and on the likelier side of a bound.
    spread_mask
        Spreading a mask over the stride of interleaved accesses.
    slow_masked_store
        A masked store on machines without mask registers.
    gather_lane, split_lane
        What a lane of a gather costs above its load or store: where there is an instruction, and where not.
    """

    loop_weight: float = 10.0
    miss_latency: float = 80.0
    spill: float = 2.0
    scalar: float = 0.25
    masking: float = 2.0
    atomic: float = 18.0
    spare_registers: float = 4.0
    wider_worthwhile: tuple[float, float] = (1.0, 0.999)
    registers: int = 4
    wide_registers: int = 8
    rounds_worthwhile: float = 0.85
    boxes_worthwhile: float = 0.65
    round: float = 20.0
    test: float = 2.0
    miss_share: float = 0.5
    branch_miss: float = 16.0
    leaves: float = 0.12
    together: float = 0.5
    outside: float = 0.05
    inside: float = 0.9
    spread_mask: float = 1.5
    slow_masked_store: float = 4.0
    gather_lane: float = 0.5
    split_lane: float = 2.5


COMMON = Constants()

BY_LEVEL: dict[str, Constants] = {}
"""By the name of the level."""


def constants_of(isa: Isa) -> Constants:
    """Return the constants for a level."""
    return BY_LEVEL.get(isa.name, COMMON)
