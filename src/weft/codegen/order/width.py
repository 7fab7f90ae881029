"""How many threads a lane group of a kernel has.

A lane group of more threads than a register holds takes several registers a value. That costs registers, and pays
where one register leaves the machine waiting: where a loop's next iteration needs the results of this one (latency),
where each thread waits for memory that it then chases, and wherever what is the same for all threads is computed once
for more of them. The model compares the cycles that a thread takes at one register for the values that most of the
work is done on, at two and so on: per loop, the longer of what its instructions
cost and how long the values that it carries take, what it computes for all threads at once, and spills beyond the
register file, ten times for each loop around; outside of loops, where threads of other lane groups run at the same time
anyway, spills of what is held where most is. What votes on branches are expected to skip counts, but for loops that
threads leave one by one (`weft.costs.votes`). More than four registers of long values have to be clearly better, unless
threads look up where to go on and wait for it.

Where that is clearly more than a thread takes by itself, as where each lane loads from addresses of its own and there
is no instruction for it, there are no lane groups: the width is 1. That is so only where what is loaded decides about
addresses, or they are known to be far apart: others may turn out to be neighbours when the code runs, which it asks.
Iterations of a loop that each walk on from a place of their own, as through a part of an array for each, are taken to
be far apart, too (`weft.analysis.loops.own_walks`).

Where neither is clearly better, or that depends on how near what threads look up is, the choice is open: there may be
code for both (`weft.codegen.trials`). How long lanes wait for the last one of their lane group is open then, too: code
in lanes has as many as take least where they do, if that is clearly less, as threads one by one are there besides.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.loops.own_walks import (
    goes_along_rows,
    scatters_by_loaded,
    scatters_in_own_rows,
    stores_own_rows,
)
from weft.costs.constants import constants_of
from weft.costs.lane_groups import WidthModel
from weft.costs.lane_turns import MOST_WRITTEN_OUT, makes_updates_in_turn
from weft.costs.one_thread import cycles_alone, may_be_alone, may_turn_out_far, searches
from weft.costs.own_rows import lanes_of_strips
from weft.machine.targets import Isa
from weft.transform.numbers.meetings import divides_into_stretches

MAX_WIDTH = 64
BETTER = 0.99
"""Of the cycles of a thread, what is clearly less. Measured with AVX2 on an Intel server core, doubles in 16 and in 32
lanes: Born radii take 1.10 to 1.14 times as long in 32, quotients 1.05, where the model says 1.00; chains of lookups
0.8, where it says so as well."""


WAYS = 8
"""Rows that the nearest cache has room for where all of them begin in the same of its sets, as rows of 1024 elements
do. Measured on Zen 3: sums, maxima, filters and hashes of such rows take a quarter of the time in 8 lanes of that in
16, those of rows of 64 to 1000 elements as long as in 16, or a little less. On Emerald Rapids, 180 rows of counts to
which each thread adds at 3000 places (Hough's transform) take with AVX-512 in 8, 16 and 64 lanes 0.36, 0.73 and 0.95 ms
where they have 1024 counts, 0.36, 0.34 and 0.45 where they have 1100, and one by one 0.73."""


STRETCHES = 0.9
"""Of the cycles of a thread, what has to be left in lane groups of twice as many where they had better lie in one
stretch of what threads divide by: fewer wider ones do. Measured on Zen 3: of cells of 12, 16, 20, 24, 32 and 40 pixels,
around which pixels look for the nearest centre, 16 lanes take 0.46 of the time of 32 in the geometric mean, and 8 take
0.74 of that, where the model says 1.07 and 1.22; rows of 1000 floats less their means take 0.73 in 16."""


AT_EDGES, EDGES = 16, 0.65
"""Lanes, and two registers at most, beyond which lane groups of twice as many must leave so much of the cycles of a
thread, where those at no edge have a version of their own: the wider they are, the more of a row is in groups at its
ends. Measured on Emerald Rapids: six filters with clamped or turned-around indices on rows of 200, 640 and 2000
elements take 1.31 times as long (at most 3.4) in the lanes that the model chose without as in 16 with AVX-512, and 1.26
times as long as in 8 with AVX2, where it says 0.69 to 0.93 for twice as many. A bilateral filter takes 1.07 to 1.11
times as long in 8 lanes as in 16 with AVX2, on rows of 640 and 2000 floats."""


CROWDED = 2
"""Registers of a lane group whose values, outside of loops, take more than twice as many registers as there are in the
narrowest one: small matrices whose elements are values. Elimination with pivots in 6 x 6 doubles takes 120, 92 and 147
us in 4, 8 and 16 lanes with AVX2, where the model, which counts what is spilled once, says 1.01 for twice as many."""


WAITED = 0.8
"""Of the cycles of a thread that waits for the others of its lane group, what fewer lanes have to take where threads
one by one are there, too. Measured on Emerald Rapids with AVX-512: breadth-first search takes 0.84 of the time in 16
lanes of that in 64, with 3 million vertices 0.8, where the model says 0.73; `final_states` of `bench/fits` 1.5, where
it says 0.86, and 1.06 to 1.1 with threads one by one."""


class WidthChoice(Struct, frozen=True):
    """A width, and why that one, as words that go on from "runs so many threads at a time, ".

    Where the cost model has chosen it, `bits` are those of the values that most of the work is done on.
    """

    width: int
    reason: str
    bits: int = 0


def one_register(isa: Isa) -> int:
    """Lanes of a register of 32-bit values."""
    return max(2, isa.vector_bits // 32)


def lanes_of_rest(choice: WidthChoice, isa: Isa) -> int:
    """In how many lanes what is left of a row runs: those of a register, 0 for as many as before.

    A group of many registers under a mask costs at least what it costs without one, however few of its lanes run, where
    masks are in registers of their own, too. Measured on Emerald Rapids with AVX-512, kernels of two to eight registers
    in rows of 30 to 515 elements: 0.87 of the time, geometric mean of 36 (0.52 to 1.14).
    """
    if not choice.bits:
        return 0
    register = isa.lanes(choice.bits)
    return register if 1 < register < choice.width else 0


class OpenChoice(Struct, frozen=True):
    """Code in lanes and code for threads one by one, either of which may turn out to be faster.

    Parameters
    ----------
    alone_first
        Whether the model expects threads to be faster by themselves.
    own_stacks
        In how many lanes threads by themselves run, each of which walks by a stack of its own; 1 for one by one.
    """

    alone_first: bool
    own_stacks: int = 1


def choose_width(
    divergence: Divergence,
    isa: Isa,
    *,
    in_lanes: bool = False,
    in_loop: bool = False,
    both_ways: bool = False,
    before: Divergence | None = None,
    at_edges: bool = False,
    most: int = MAX_WIDTH,
) -> WidthChoice:
    """Return the width at which a thread of the kernel that `divergence` is of is expected to take least time.

    It is 1 where threads are better off one after the other, unless there are to be lanes: in any case, or `both_ways`,
    as there is code for threads one by one, too. They are iterations `in_loop`, or threads of a kernel. `before` is the
    divergence of what has no versions yet, where that one has. Lane groups `at_edges` of rows may run other code than
    the others (`weft.transform.numbers.inner_versions`). There are at most so many lanes as `most`, be it fewer than a
    register has.
    """
    if both_ways:
        # Where rows that begin where data say are far apart, threads run one by one; lanes are for those that are near.
        near = _Weights(divergence, isa, in_loop, near=True, at_edges=at_edges)
        return near.width_beside_alone(before or divergence)
    weights = _Weights(divergence, isa, in_loop, at_edges=at_edges, most=most)
    # What beginning and ending a thread takes is not counted, and matters where there is no loop.
    if not in_lanes and weights.model.has_loops and may_be_alone(divergence, in_loop=in_loop):
        together, waiting = weights.together()
        alone = cycles_alone(divergence, isa)
        if alone <= weights.constants.alone_worthwhile * waiting:
            return WidthChoice(
                1, f"which takes about {100 * alone / waiting:.0f} % of the time of {together} lanes"
            )
    return weights.width(before or divergence)


def cycles_of_choice(
    choice: WidthChoice, divergence: Divergence, isa: Isa, *, in_loop: bool = False
) -> float:
    """The cycles of a thread in so many lanes, which wait for each other, or by itself."""
    if choice.width == 1:
        return cycles_alone(divergence, isa)
    model = WidthModel(divergence, isa, in_loop=in_loop)
    return model.cycles_of_thread(choice.width, waiting=constants_of(isa).waiting)


def part_of_time_alone(divergence: Divergence, isa: Isa, width: int) -> float | None:
    """What part of its time in so many lanes a call takes by itself; None where it had better be in lanes."""
    weights = _Weights(divergence, isa, in_loop=False)
    if not weights.model.has_loops or not may_be_alone(divergence):
        return None
    together = weights.model.cycles_of_thread(width, waiting=weights.constants.waiting)
    part = cycles_alone(divergence, isa) / together
    return part if part <= weights.constants.alone_worthwhile else None


def may_be_open(divergence: Divergence, *, in_loop: bool = False) -> bool:
    """Whether the data may decide whether lanes are faster, or threads one by one.

    They do by what is looked up, or found, and in kernels by how far lanes turn out to be apart. Or it depends on what
    LLVM's vectorizers make of rows that each thread stores, which the model does not know.
    """
    if may_be_alone(divergence, in_loop=in_loop) or searches(divergence) or stores_own_rows(divergence):
        return True
    return not in_loop and may_turn_out_far(divergence)


def open_choice(divergence: Divergence, isa: Isa, *, in_loop: bool = False) -> OpenChoice | None:
    """Whether code in lanes, or for threads one by one, may be faster, as the data decide; None where that is known.

    What threads look up, and go on by, may be in the nearest cache or far away; what they search for may be found soon
    by most of them, while lanes wait for the last one; and what lanes access may be rows far apart, or neighbours.
    """
    weights = _Weights(divergence, isa, in_loop)
    constants = weights.constants
    if not weights.model.has_loops or not may_be_open(divergence, in_loop=in_loop):
        return None
    # Rows of lanes' own that begin where data say may be the same ones, as where threads look at the cells around.
    near = _Weights(divergence, isa, in_loop, near=True) if in_loop else weights
    parts = [
        cycles_alone(divergence, isa, latency) / each.together(latency)[1]
        for each, latency in ((weights, constants.miss_latency), (near, constants.near_latency))
    ]
    least, most = constants.alone_open
    if searches(divergence):
        least, most = constants.searches_open
    elif not may_be_alone(divergence, in_loop=in_loop):
        # Nothing is looked up: near and far are lanes.
        apart = _Weights(divergence, isa, in_loop, apart=True).together()[1]
        parts = [cycles_alone(divergence, isa) / cycles for cycles in (weights.together()[1], apart)]
        least, most = constants.far_open
    if stores_own_rows(divergence):
        least, most = min(least, constants.rows_open[0]), max(most, constants.rows_open[1])
    if scatters_by_loaded(divergence):
        least = min(least, constants.scatters_open)
    if max(parts) < least and may_be_alone(divergence, in_loop=in_loop):
        # `choose_width` has them run alone. It has lanes for others, which are not left alone with them.
        return None
    if min(parts) > most:
        return None
    return OpenChoice(parts[0] <= constants.alone_worthwhile)


class _Weights:
    """What a thread takes at the widths that there may be."""

    def __init__(
        self,
        divergence: Divergence,
        isa: Isa,
        in_loop: bool,
        *,
        apart: bool = False,
        near: bool = False,
        at_edges: bool = False,
        most: int = MAX_WIDTH,
    ) -> None:
        self.model = WidthModel(divergence, isa, in_loop=in_loop, apart=apart, near=near)
        self._in_loop = in_loop
        self.constants = constants_of(isa)
        self._bits = self.model.dominant_bits()
        allowed, self._least = most, max(2, min(most, MAX_WIDTH, isa.mask_lanes, isa.lanes(self._bits)))
        self._narrow = min(AT_EDGES, 2 * self._least) if at_edges else MAX_WIDTH
        registers = self.constants.wide_registers if self._bits > 32 else self.constants.registers
        most = min(MAX_WIDTH, self._least * registers)
        if self._bits > 8:
            # Masks of more lanes are packed. Those of bytes are as long as these anyway: measured on Zen 3, of 16
            # programs on bytes three take half to two thirds of the time in 64 lanes, and none more than 1.12 times.
            most = min(most, isa.mask_lanes)
        if most == isa.mask_lanes and isa.vector_bits >= 256 and self.model.descends:
            # Masks of twice as many lanes are packed, which is nothing beside waiting for what lanes look up. Measured
            # on Zen 3: `least_gaps` of bench/fits takes 0.74 of the time in 64 lanes where its tree is far away, 1.07
            # in the nearest cache; hash chains 0.7 and 1.08. With SSE2 twice as many were no faster.
            most = min(MAX_WIDTH, 2 * most)
        in_strips = self.model.in_strips(self._least)
        if goes_along_rows(divergence, self.constants.crowding, in_strips) or scatters_in_own_rows(
            divergence
        ):
            most = max(self._least, min(most, WAYS))
        if in_strips:
            most = max(self._least, min(most, lanes_of_strips(self._bits, isa)))
        if self.model.registers.is_crowded(self._least):
            most = min(most, CROWDED * self._least)
        most = min(most, allowed)
        self._widths = [self._least]
        while self._widths[-1] < most:
            self._widths.append(2 * self._widths[-1])

    def together(self, latency: float | None = None) -> tuple[int, float]:
        """The best width where threads wait for each other, and the cycles that one takes then."""
        waiting = self.constants.waiting
        cycles = {w: self.model.cycles_of_thread(w, waiting=waiting, latency=latency) for w in self._widths}
        best = min(self._widths, key=lambda w: (cycles[w], w))
        return best, cycles[best]

    def width_beside_alone(self, before: Divergence) -> WidthChoice:
        """The best width where threads run one by one unless lanes are faster."""
        chosen = self.width(before)
        fewer, cycles = self.together()
        waiting = self.model.cycles_of_thread(chosen.width, waiting=self.constants.waiting)
        if fewer >= chosen.width or cycles > WAITED * waiting:
            return chosen
        share = 100 * waiting / cycles
        reason = (
            f"of which each waits for the others: with {chosen.width} a thread takes {share:.0f} % as long"
        )
        return WidthChoice(fewer, reason, self._bits)

    def width(self, before: Divergence) -> WidthChoice:
        """The best width of lane groups; before there are versions of it the divergence says what threads divide by."""
        widths, bits = self._widths, self._bits
        meets_stretches = divides_into_stretches(before, self._least)
        division = self.constants.stretch_division if meets_stretches else 0.0
        cost = {w: self.model.cycles_of_thread(w) + division / w for w in widths}
        second, further = self.constants.wider_worthwhile
        best, beyond, asked = self._least, False, ""
        for width in widths[1:]:
            limits = [(second if best == self._least else further, "")]
            if width > self.constants.registers * self._least and not self.model.looks_up:
                # So many registers pay where threads wait for what they look up.
                limits.append((BETTER, "so many registers pay only where threads wait for look-ups"))
            if meets_stretches:
                limits.append((STRETCHES, "lane groups in which threads divide by one number are fewer then"))
            if width > self._narrow:
                limits.append((EDGES, "more lane groups are at edges then, where other code runs"))
            if beyond:
                # One that is wider than what was no gain has to be clearly better, as where bytes fill a register at
                # last, and are looked up in it.
                limits.append((BETTER, ""))
            worthwhile, why = min(limits)
            if width == 2 * best:
                asked = why
            if cost[width] > worthwhile * cost[best]:
                if self._in_loop:
                    # Members of structures may be stored one by one there, with lookups between that see them: three
                    # bytes looked up and stored in 32 lanes take 1.3 times as long as in 8, 0.5 times in kernels.
                    break
                beyond = True
                continue
            best, asked = width, ""
        registers = best // self._least
        many = f"{registers} registers" if registers > 1 else "a register"
        if best == widths[-1]:
            return WidthChoice(best, f"{many} of {bits}-bit values", bits)
        share = cost[2 * best] / cost[best]
        more = f"with twice as many a thread takes {100 * share:.0f} % as long"
        if asked and share < min(second, further):
            more += f", but {asked}"
        return WidthChoice(best, f"{many} of {bits}-bit values: {more}", bits)


def choose_width_of_rounds(divergence: Divergence, isa: Isa, rounds: float) -> WidthChoice:
    """Return the width for a kernel with barriers whose work-groups are long rows: one or two registers.

    A lane group begins and ends what is between two barriers so many times. Where rows far apart are read in turn, it
    may have more, or where lanes update shared memory in turn: these updates are the same for all widths, and what is
    around them is not.
    """
    model, constants = WidthModel(divergence, isa), constants_of(isa)
    base = one_register(isa)

    def cost(width: int) -> float:
        return model.cycles_of_thread(width) + constants.round * rounds / width

    best, most = base, base * (constants.registers if model.reads_far_apart else 2)
    worthwhile = constants.rounds_worthwhile
    if makes_updates_in_turn(divergence):
        most, worthwhile = max(most, MOST_WRITTEN_OUT), constants.turns_worthwhile
    while 2 * best <= min(most, MAX_WIDTH) and cost(2 * best) <= worthwhile * cost(best):
        best *= 2
    registers = best // base
    return WidthChoice(
        best, f"{f'{registers} registers' if registers > 1 else 'a register'} of 32-bit values"
    )
