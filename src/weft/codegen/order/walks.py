"""Whether threads that walk by stacks walk together (`weft.transform.loops.share_stacks`), and how many.

A lane group visits what any of its threads visits. How much of that is the same for threads that are neighbours is a
matter of the data: among queries in the order of a space-filling curve most, among queries in random order little below
the first levels. The model takes the number of visits to grow with a power of the number of threads that is between.
Where that is no gain against threads one after the other, these have the stacks. Code for both may be there
(`weft.codegen.trials`): then they walk together unless that is no gain even where nearly all visits are the same, and
groups are as wide as is best there. They are one register or two: of more threads, fewer have the same way.

What is tried beside walking together are threads one after the other, or as many in lanes, each of which walks by its
own stack: it looks at nodes of its own, and waits for the one that has most to visit, not for all that others visit.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.loops.traversals import traversals
from weft.analysis.shapes import Shape
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.plain_passes import NARROWING, SHARED_STACKS
from weft.codegen.order.width import MAX_WIDTH, OpenChoice, WidthChoice
from weft.costs.constants import constants_of
from weft.costs.lane_groups import WidthModel
from weft.costs.one_thread import cycles_alone
from weft.ir import Value
from weft.ir.clone import clone_function
from weft.passes.runner import Runner

NEARLY_ALL = 0.35
"""The power of the number of threads by which visits grow among neighbours that want nearly the same."""

LOST = 1.25
"""How many times as long walking together may be expected to take, nearly all visits being the same, and be tried."""

OWN_STACKS = 0.7
"""Of the cycles of a thread alone, what it may take in lanes that each have a stack, for these to be tried.

Measured on Emerald Rapids, queries in random order: counts in a kd-tree of doubles, at 0.54 with AVX-512, take 0.45
times as long as alone, point correlation, at 0.65, 0.72 times; multi-radius correlation in two dimensions, at 0.73,
1.16 times, Barnes-Hut, at 0.80 and 0.84, 0.96 and 1.27. On AVX2 all are above, and as fast alone, or faster."""

LEAST = 4
"""Fewer threads gain too little by what is the same for all of them."""


class Walk(Struct, frozen=True):
    """How threads walk by stacks.

    Parameters
    ----------
    choice
        The width at which they walk together, 1 where they are better off by themselves.
    both_ways
        Which of both code is expected to be faster, if there is to be code for both.
    """

    choice: WidthChoice
    both_ways: OpenChoice | None = None


def choose_walk(unit: LaneUnit, runner: Runner, *, both_ways: bool) -> Walk | None:
    """Choose how threads walk by stacks; None where none could walk together.

    With `both_ways`, there may be code for both. The unit's function, in lanes of any width, stays as it is.
    """
    if not any(unit.divergence.is_divergent_branch(t.header) for t in traversals(unit.function)):
        return None
    module, source = unit.module, unit.function
    before = set(module.functions)
    trial = clone_function(source, f"{source.name}.walking")
    shapes: dict[Value, Shape] = {
        made: unit.shapes[argument]
        for argument, made in zip(source.args, trial.args, strict=True)
        if argument in unit.shapes
    }
    walk = LaneUnit(module, trial, unit.lanes, shapes, unit.isa, switches=unit.switches)
    runner.watched_by().run((NARROWING, SHARED_STACKS), walk)
    choice = _choose(unit, walk, both_ways) if walk.summary.together else None
    for name in [n for n in module.functions if n not in before]:
        del module.functions[name]
    return choice


def _choose(unit: LaneUnit, walk: LaneUnit, both_ways: bool) -> Walk:
    isa = unit.isa
    model = WidthModel(walk.divergence, isa)
    bits = model.dominant_bits()
    constants = constants_of(isa)
    alone, apart = cycles_alone(unit.divergence, isa), constants.visits_apart
    power = constants.visits_near if both_ways else apart
    register = max(LEAST, min(MAX_WIDTH, isa.lanes(bits)))
    widths = [w for w in (register, 2 * register) if w <= MAX_WIDTH]
    visits = {w: model.cycles_of_thread(w) for w in widths}
    width = min(widths, key=lambda w: visits[w] * w**power)
    together = visits[width] * width**apart
    alone_first = together >= alone
    if alone_first and not (both_ways and visits[width] * width**NEARLY_ALL < LOST * alone):
        share = 100 * alone / together
        return Walk(
            WidthChoice(1, f"which takes about {share:.0f} % of the time of {width} lanes that walk together")
        )
    many = f"{width // register} registers" if width > register else "a register"
    choice = WidthChoice(width, f"{many} of {bits}-bit values, which walk together", bits)
    if not both_ways:
        return Walk(choice)
    # Lane groups of both begin at the same threads.
    own = WidthModel(unit.divergence, isa).cycles_of_thread(width, waiting=constants.waiting)
    if own < OWN_STACKS * alone:
        return Walk(choice, OpenChoice(together >= own, width))
    return Walk(choice, OpenChoice(alone_first))


def by_own_stacks(runner: Runner) -> Runner:
    """The same runner, for lanes each of which keeps its stack."""
    return replace(runner, left_out=runner.left_out | {SHARED_STACKS.name})
