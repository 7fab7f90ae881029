"""How many threads a lane group of a kernel has.

A lane group of more threads than a register holds takes several registers a value. That costs registers, and pays
where one register leaves the machine waiting: where a loop's next iteration needs the results of this one (latency),
where each thread waits for memory that it then chases, and wherever what is the same for all threads is computed once
for more of them. The model compares the cycles that a thread takes at one register for the values that most of the
work is done on, at two and so on: per loop, the longer of what its instructions
cost and how long the values that it carries take, what it computes for all threads at once, and spills beyond the
register file, ten times for each loop around.

Where that is clearly more than a thread takes by itself, as where each lane loads from addresses of its own and there
is no instruction for it, there are no lane groups: the width is 1. That is so only where what is loaded decides about
addresses, or they are known to be far apart: others may turn out to be neighbours when the code runs, which it asks.
Iterations of a loop that each walk on from a place of their own, as through a part of an array for each, are taken to
be far apart, too (`weft.analysis.loops.own_walks`).
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.costs.constants import constants_of
from weft.costs.lane_groups import WidthModel
from weft.costs.one_thread import cycles_alone, may_be_alone
from weft.machine.targets import Isa

MAX_WIDTH = 64


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


def choose_width(divergence: Divergence, isa: Isa, *, in_loop: bool = False) -> WidthChoice:
    """Return the width at which a thread of the kernel that `divergence` is of is expected to take least time.

    It is 1 where threads are better off one after the other. They are iterations `in_loop`, or threads of a kernel.
    """
    model = WidthModel(divergence, isa, in_loop=in_loop)
    bits = model.dominant_bits()
    least = max(2, min(MAX_WIDTH, isa.lanes(bits)))
    constants = constants_of(isa)
    most = min(MAX_WIDTH, least * (constants.wide_registers if bits > 32 else constants.registers))
    widths = [least]
    while widths[-1] < most:
        widths.append(2 * widths[-1])
    cost = {w: model.cycles_of_thread(w) for w in widths}
    second, further = constants.wider_worthwhile
    best = least
    for width in widths[1:]:
        if cost[width] > (second if best == least else further) * cost[best]:
            break
        best = width
    waiting, together = min((model.cycles_of_thread(w, waiting=constants.waiting), w) for w in widths)
    alone = cycles_alone(divergence, isa)
    # What beginning and ending a thread takes is not counted, and matters where there is no loop.
    worthwhile = model.has_loops and alone <= constants.alone_worthwhile * waiting
    if worthwhile and may_be_alone(divergence, in_loop=in_loop):
        return WidthChoice(
            1, f"which takes about {100 * alone / waiting:.0f} % of the time of {together} lanes"
        )
    registers = best // least
    many = f"{registers} registers" if registers > 1 else "a register"
    if best == widths[-1]:
        return WidthChoice(best, f"{many} of {bits}-bit values", bits)
    more = 100 * cost[2 * best] / cost[best]
    return WidthChoice(
        best, f"{many} of {bits}-bit values: with twice as many a thread takes {more:.0f} % as long", bits
    )


def choose_width_of_rounds(divergence: Divergence, isa: Isa, rounds: float) -> WidthChoice:
    """Return the width for a kernel with barriers whose work-groups are long rows: one or two registers.

    A lane group begins and ends what is between two barriers so many times. Where rows far apart are read in turn, it
    may have more.
    """
    model, constants = WidthModel(divergence, isa), constants_of(isa)
    base = one_register(isa)

    def cost(width: int) -> float:
        return model.cycles_of_thread(width) + constants.round * rounds / width

    best, most = base, base * (constants.registers if model.reads_far_apart else 2)
    while 2 * best <= min(most, MAX_WIDTH) and cost(2 * best) <= constants.rounds_worthwhile * cost(best):
        best *= 2
    registers = best // base
    return WidthChoice(
        best, f"{f'{registers} registers' if registers > 1 else 'a register'} of 32-bit values"
    )
