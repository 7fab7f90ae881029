"""Walks of few rounds by a thread itself, from which it goes on to others that do not wait for them.

    for tree in range(trees):                       what is added waits for a walk, the next walk does not
        node = 0
        for _ in range(6):
            node = 2 * node + 1 if row[feature[tree, node]] < threshold[tree, node] else 2 * node + 2
        total += leaf[tree, node]

Where a choice says where to look next, a branch lets the next round begin before that is known, and goes the wrong way
every other time. The rounds of such a walk are few, so that the processor has several walks in flight, each of which
waits while others go on. So a choice costs what a round takes, divided by the walks in flight.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import counted_loop, known_iterations
from weft.costs.constants import constants_of
from weft.costs.long_choices import chosen_from, waiting_for_loads
from weft.graph.loops import Loop
from weft.ir import Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType
from weft.machine.targets import Isa

IN_FLIGHT = 224
"""Instructions that a processor has begun and not ended, on those that have least (Skylake)."""

FEWEST = 2
"""Walks that have to be in flight. Guess: of the binary searches of `weft.transform.loops.bisections`, which have some
ten rounds each, branches are better where what is searched lies in far caches."""


class ShortWalk(Struct, frozen=True):
    """The choices by which an innermost loop of few rounds goes on, which are better no branches.

    Parameters
    ----------
    wait
        Cycles of a round from where it looks to where the next one does.
    in_flight
        Walks that the processor is at.
    """

    choices: set[Instruction]
    wait: float
    in_flight: float

    def cycles(self, latency: float = 0.0) -> float:
        """What a round takes where it waits so long for memory, or less."""
        return max(self.wait, latency) / self.in_flight


def short_walk(loop: Loop, view: CFGView, isa: Isa) -> ShortWalk | None:
    """How a loop walks in few rounds; None where it does not, or its choices are better branches."""
    if loop.children or loop.is_irreducible or len(loop.latches) != 1:
        return None
    counted = counted_loop(view, loop)
    rounds = None if isinstance(counted, str) else known_iterations(counted)
    if not rounds:
        return None
    latch = view.blocks[loop.latches[0]]
    choices: dict[Instruction, float] = {}
    for phi in view.blocks[loop.header].phis():
        if isinstance(phi.type, IntType) and not _waits_for_another_walk(phi, loop, view):
            waiting = waiting_for_loads(phi, loop, view, isa)
            for value in chosen_from(phi.incoming_value(latch), loop, view):
                if (waits := waiting.get(value.operands[0], 0.0)) > 0.0:
                    choices[value] = waits
    if not choices:
        return None
    instructions = rounds * sum(len(view.blocks[b].instructions) for b in loop.blocks)
    walk = ShortWalk(set(choices), max(choices.values()), IN_FLIGHT / instructions)
    constants = constants_of(isa)
    better = walk.cycles() < constants.miss_share * constants.branch_miss
    # Of one walk at a time, branches ask memory for what comes next.
    return walk if walk.in_flight >= FEWEST and better else None


def _waits_for_another_walk(phi: Instruction, loop: Loop, view: CFGView) -> bool:
    """Whether a walk begins where one before it has ended, as far as the φs of loops around say."""
    starts = [v for v, source in phi.incoming() if view.index[source] not in loop.blocks]
    around = loop.parent
    inside = {view.blocks[b] for b in around.blocks} if around is not None else set()
    return any(isinstance(v, Instruction) and v.block in inside for v in starts)
