"""The numbers of the cost model that are no properties of one instruction, in one place, each with where it comes from.

`Constants` says what each is. `COMMON` has the values; `BY_LEVEL` has those of instruction set levels for which others
choose better. The table of instructions is in `weft.costs.instructions`.

Where they come from:

*fit*
    Measured by `bench/fits`: 39 kernels that are in no published table, compiled in all ways that the model chooses
    between, on an Intel server core with AVX-512 (LLVM's ``sapphirerapids``), as AVX2 and as AVX-512 code. Of the 35
    whose width the model chooses, the geometric mean of the times over the fastest codes is 1.106 on AVX2 and 1.068 on
    AVX-512 (by the guesses that were there before: 1.138 and 1.127). Times are the least of 7 to 13 rounds on a loaded
    machine: losses of some five percent are noise.
*table*
    As instruction tables have it for recent x86 cores (Agner Fog, "Instruction tables"; uops.info), rounded and from
    memory.
*guess*
    What is plausible. The data of `bench/fits` does not tell other values from it, or has not been asked yet.
"""

from __future__ import annotations

from msgspec import Struct

from weft.machine.targets import Isa


class Constants(Struct, frozen=True):
    """What the cost model is made of; times are cycles.

    Parameters
    ----------
    loop_weight
        How often a loop is thought to run its body, where nobody knows. Static estimates take ten or so (Wu and Larus,
        1994: a loop goes on in 88 of 100 cases); fit: 3 to 30 choose alike.
    miss_latency
        A gather that the thread's way depends on: a miss of the nearer caches. Table; fit: 0 to 160 choose alike with
        AVX-512, AVX2 prefers 160.
    near_latency
        The same where what it looks up is in the nearest cache. Table: five cycles, and some for the address.
    spill
        Storing and loading a register that there is no room for. Table: a store and a load each cycle or two; fit: 0
        to 4 choose alike with AVX-512, AVX2 prefers 0.
    scalar
        An instruction on what all threads share. Table: four a cycle; fit: 0.25 to 1 choose alike with AVX-512,
        AVX2 prefers 1.
    masking
        By register in a loop that threads leave at different times: masks, and values kept for those that left. Guess;
        fit: 0 to 4 choose alike.
    atomic
        An atomic operation at a thread's own address: threads do it one after the other. Table: a locked addition;
        fit: 5 to 36 choose alike, as all widths take the same.
    spare_registers
        Registers that are left to addresses, masks and constants. Guess; fit: 0 to 8 choose alike with AVX-512,
        AVX2 prefers 0.
    wider_worthwhile
        Of the cycles at one register, and at more, no more must be left for twice as many to be chosen. Fit: what is
        as good by the model fills two registers, what is better fills more. At 0.85 for the second the loss is 1.130
        (AVX2) and 1.109 (AVX-512).
    registers, wide_registers
        How many a lane group may fill with the values that most work is done on, of 32 bits or less, and of more. Fit:
        4, and 8 of 64-bit values; with 4 of these the loss is 1.132 (AVX2) and 1.113 (AVX-512).
    waiting
        How many times as long threads are in loops that they leave in different iterations: the last one counts.
        Guess: lengths drawn as from a geometric distribution have 2.7 times the mean as the longest of 8.
    longest
        How many times as long the last of twice as many threads is in a loop that threads leave at different times by
        what they compute, beyond two registers. Measured on Zen 3: digit sums take 1.12 times as long in 32 lanes as
        in 16, where the model says 1.00 without, steps of Collatz 1.10, and are that much longer for the last of them.
    alone_worthwhile
        Of the cycles in lanes, a thread must take no more by itself to run so. Measured on AMD's Zen 4: with AVX2 codes
        at 0.64 take 1.5 times as long by themselves, and those up to 0.6 half as long to as long; with AVX-512 those up
        to 0.72 a quarter to as long, but for segments of lengths from 0 to twice their mean at 0.52, which take 1.2.
    visits_apart
        To which power of their number threads that walk together by one stack visit more than one of them does. Fit on
        Intel's Ice Lake: of neighbours in space 8 and 16 visit 1.7 to 2.4 times as much (powers 0.26 to 0.42), in
        random order 4.3 to 13 times (0.6 to 0.93).
    visits_near
        The power by which threads that walk together are as many as is best for neighbours that want nearly the same,
        where there is code for one thread as well. On Intel's Ice Lake, walks down an octree and down a tree of
        intervals take 1.00 to 1.05 and 1.13 to 1.42 times as long in the width that follows from 0.35 as in the best
        one, for queries in order.
    rounds_worthwhile
        The same for kernels with barriers: wider frames wait in the cache, and what follows a barrier is short. Guess.
    turns_worthwhile
        The same for those whose lanes update shared memory in turn. Measured on Emerald Rapids: counts of a digit of
        200,000 `uint64`, at 0.89 and 0.92, take 0.7 of the time in 16 lanes on AVX2, and 0.55 in 32.
    alone_open
        Of the cycles in lanes, a thread must take less by itself for lanes to be no choice, or more for them to be the
        only one, be what it looks up near or far; between, there is code for both. Measured on Intel's Ice Lake with
        AVX-512, of programs that look up where to go on (`bench/fits/lookups.py`) and others that gather: sparse rows,
        at 0.3 to 0.4, take 2.0 to 2.3 in the best lanes of what they take alone; those at 0.4 to 0.8 take 0.6 to 2.4
        times as long alone, those at 1.9 to 3.7 take 0.5 to 1.2 times as long where all is near, and 1.0 to 7 times
        where it is far. On AMD's Zen 3 the place of the greatest of 100 numbers of 16 bits, a row an iteration, at
        0.55, takes 2.4 times as long alone.
    searches_open
        The same of threads that search, one of which may take as long as all others of its lane group together.
        Guess.
    far_open
        The same of kernels whose lanes may turn out to be rows apart, or neighbours, of the cycles in lanes that are
        one or the other. Measured on Intel's Ice Lake: where rows are apart, threads at 0.5 to 0.8 (Haar wavelets, box
        blur by running sums, a step of an FFT) take 0.4 to 0.5 of what they take in lanes; kernels at 1.9 and more
        (a matrix for each thread, roots of polynomials) were no faster with both ways.
    rows_open
        The same of threads that each store a row of neighbours: what LLVM's vectorizers make of it is not in the model.
        Measured on Intel's Ice Lake, AVX2 and AVX-512: Walsh transforms of 16 doubles, at 6.1, take 0.3 to 0.5 times as
        long alone as in the best lanes, LU of 4 x 4 doubles, at 1.8, half as long. On AMD's Zen 3, Cholesky of 6 x 6
        floats in a loop, at 0.40, takes twice as long alone: rows so short stay in the nearest cache.
    scatters_open
        Of the cycles in lanes, a thread must take less by itself for lanes to be no choice, where it stores at places
        that it loads. Measured on Intel's Emerald Rapids: the keys of a radix sort, at 0.38 with AVX-512 and 0.27 on
        AVX2, take 1.5 to 1.9, and 1.1 to 1.4 times as long alone as in the best lanes; on AMD's Zen 3 they are fastest
        alone. Breadth-first search, at 0.29 to 0.46 with AVX-512 and 0.24 to 0.29 on AVX2, takes 1.2 to 1.3, and 0.7
        times as long alone.
    boxes_worthwhile
        Of the cycles of rows, more must not be left for other boxes to be worth code for each size of work-groups.
        Guess.
    round
        A lane group that begins and ends what is between two barriers. Measured: 5 to 13 ns (docs/execution.md).
    test
        A vote on a mask and the branch on it. Table: a move or test of a mask, three cycles of latency, and a branch.
    miss_share
        How many of the rarer outcomes of a vote the machine does not foresee. Guess.
    branch_miss
        Lost when a branch goes where it was not expected to go. Table.
    late_lookup
        Lost besides for each gather that a vote waits for, where what it skips only computes: what comes behind could
        have begun. Measured on Emerald Rapids with AVX-512: forces by lists of neighbours, of which some are near, take
        1.5 to 1.65 times as long with a vote; no program of `bench/fits` has such a vote.
    leaves
        How likely a thread is to leave a loop where it may: the loop branch heuristic of Ball and Larus (1993).
    together
        How often threads of a lane group go the same way at a branch because of what they have in common; otherwise
        each goes on its own. Guess.
    scalar_test
        A vote that two scalars decide, and the branch on it: what lane groups in order answer changes once or twice in
        a row of them, so that the machine foresees it. Table: a comparison and a branch that is not taken.
    outside, inside
        How likely all threads of a lane group are on the rarer, and on the likelier side of a bound. Guess.
    behind_moving, before_moving
        The same of a bound that moves in a loop around, as where half as many threads add up what the others have left
        in each round, or iterations of a triangle begin further on. Guess; of 256 threads in lane groups of 16 that
        halve until one is left, 0.85 and 0.12.
    jump
        A row of neighbours far from the last one, which the machine has not read ahead. Measured: the sum of 2^24
        floats by a walk of the grid of 2^12 to 2^18 threads, in rows of 64, 128 and 256 bytes, takes 18 to 23, 10 to 12
        and 8 to 9 ms with AVX-512, alike with AVX2; from the nearest cache it takes no longer than others.
    iterations_ahead
        How many iterations before it is loaded such a row is asked for. Measured with AVX-512: counting 2^24 bytes in a
        walk of the grid takes 25 ms without, 17 ms two iterations ahead and 13 ms eight ahead; roots and quotients
        along 4000 columns of 4096 rows 20.4 ms without and 10.8 ms with eight, exponentials 26.6 and 17.4 ms. Sums
        alone, which the processor sees ahead by itself, are as fast without, and faster where columns are short.
    own_line
        A lane that loads, or stores, walking through memory by itself, far from the others: each step touches a line of
        its own. Measured with AVX-512 on an Intel server core, 2^13 to 2^21 floats: in 16 and 64 lanes far apart sums,
        maxima and their places take 0.9 to 1.4 ns an element, all of it the gather; sums that are stored, too, 3 ns
        more, but where 2^15 floats or less fit into the nearest cache.
    conflict
        A lane whose place in the nearest cache others want, too: the next cache has it. Table: 14 cycles of latency, of
        which several overlap.
    crowding
        Bytes of the elements of rows that lanes go along, from which on they crowd each other out of the cache.
        Measured on Intel's Emerald Rapids with AVX-512: hashes of rows of 33 to 1024 bytes take 1.2 to 1.4 times as
        long in 8 lanes as in 64, extrema and averages of rows of 1024 floats and doubles 0.3 of that.
    spread_mask
        Spreading a mask over the stride of interleaved accesses, a register. Measured with structures of three floats,
        as the mean of half and of nearly all stored: 58 us interleaved, 98 us as gathers and scatters with AVX-512,
        112 us and 289 us with AVX2.
    slow_masked_store
        A masked store on machines without mask registers. Measured on the same: where it is taken for 10, AVX2
        scatters, and 125 us become 186 us.
    gather_lane, numbered_lane, split_lane, strided_lane
        What a lane of a gather or scatter costs above its load or store: where there is an instruction, and where not;
        of a scatter under a mask, where there is no instruction; and where lanes are a step apart, and how much more
        beyond eight lanes, whose addresses want registers. Table; fit: 0 to 2 choose alike for the first. Measured on
        Zen 3 for the second, with numbers of 32 bits: 12 cycles for 8 floats of the nearest cache; for the last: sums
        of rows of 333 floats, a row a lane, take 0.18, 0.19, 0.21 and 0.27 ns an element in 8, 16, 32 and 64 lanes.
    slow_gather
        A gather of a register, on cores where these are slow. Measured on Ice Lake: 25 cycles from the nearest cache.
    neighbour_test, neighbour_doublings
        To ask at run time whether lanes are neighbours, and how many doublings of a lane group lose all that are: of a
        butterfly's distances each is as likely. Measured: bitonic sort of 2^15 numbers takes 7.6 ms in 16 lanes of AVX2
        and 9.8 ms in 32, with AVX-512 5.0, 4.1 and 4.4 ms in 16, 32 and 64.
    stretch_division
        The division by which a lane group finds out whether it lies in one stretch. Table; measured on Zen 3: sums of
        three planes in rows of 1024 take 2.2 times as long in 8 lanes as in 32, with SSE2 1.9 times in 4 as in 8.
    row_copies
        Bytes that copies of the rows that all lanes of a group read again and again may have together: a third to a
        half of the nearest cache. Guess.
    """

    loop_weight: float = 10.0
    miss_latency: float = 80.0
    near_latency: float = 8.0
    spill: float = 2.0
    scalar: float = 0.25
    masking: float = 2.0
    atomic: float = 18.0
    spare_registers: float = 4.0
    wider_worthwhile: tuple[float, float] = (1.0, 0.999)
    registers: int = 4
    wide_registers: int = 8
    waiting: float = 1.5
    longest: float = 1.0
    alone_worthwhile: float = 0.75
    visits_apart: float = 0.7
    visits_near: float = 0.35
    rounds_worthwhile: float = 0.85
    turns_worthwhile: float = 0.9
    alone_open: tuple[float, float] = (0.5, 4.0)
    searches_open: tuple[float, float] = (0.6, 32.0)
    far_open: tuple[float, float] = (0.6, 1.5)
    rows_open: tuple[float, float] = (0.35, 10.0)
    scatters_open: float = 0.2
    boxes_worthwhile: float = 0.65
    round: float = 20.0
    test: float = 2.0
    miss_share: float = 0.5
    branch_miss: float = 16.0
    late_lookup: float = 20.0
    leaves: float = 0.12
    together: float = 0.5
    outside: float = 0.05
    inside: float = 0.9
    scalar_test: float = 0.5
    behind_moving: float = 0.45
    before_moving: float = 0.45
    jump: float = 8.0
    iterations_ahead: int = 8
    own_line: tuple[float, float] = (2.5, 6.0)
    conflict: float = 3.0
    crowding: int = 1
    spread_mask: float = 1.5
    slow_masked_store: float = 4.0
    gather_lane: float = 0.5
    numbered_lane: float = 1.0
    split_lane: float = 2.5
    strided_lane: tuple[float, float] = (0.25, 0.15)
    slow_gather: float = 25.0
    neighbour_test: float = 4.0
    neighbour_doublings: float = 16.0
    stretch_division: float = 12.0
    row_copies: int = 16 << 10


COMMON = Constants()

BY_LEVEL: dict[str, Constants] = {
    # Fit on Intel's Emerald Rapids: the loss of 39 widths is 1.070, with those for all levels 1.081. No other constant
    # chooses better there by more than 0.005, neither here nor on AVX2.
    "avx512": Constants(wider_worthwhile=(1.0, 1.0), crowding=2),
    # Fit on AMD's Zen 4, AVX2 code: the loss of 34 kernels is 1.07; with those for all levels 1.11. Sixteen registers
    # are few, but what is spilled comes back beside the arithmetic, and waiting for memory and chains goes on longer.
    # Visits are fit on Zen 3: ten walks of neighbours down trees, which count points, intervals and boxes, or add up
    # potentials and distances, take 0.68 to 1.00 of the time of one register in two.
    "avx2": Constants(
        longest=1.055, spill=0.5, wider_worthwhile=(1.02, 1.02), alone_worthwhile=0.62, visits_near=0.05
    ),
}
"""By the name of the level."""


def constants_of(isa: Isa) -> Constants:
    """Return the constants for a level."""
    return BY_LEVEL.get(isa.name, COMMON)
