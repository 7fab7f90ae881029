"""Whether threads that walk by stacks walk together (`weft.transform.loops.share_stacks`), and how many.

A lane group visits what any of its threads visits. How much of that is the same for threads that are neighbours is a
matter of the data: among queries in the order of a space-filling curve most, among queries in random order little below
the first levels. The model takes the number of visits to grow with a power of the number of threads that is between.
Where that is no gain against threads one after the other, these have the stacks. Lane groups are a register wide: of
more threads, fewer have the same way.
"""

from __future__ import annotations

from weft.analysis.loops.traversals import traversals
from weft.analysis.shapes import Shape
from weft.codegen.lane_passes import NARROWING, SHARED_STACKS
from weft.codegen.lane_unit import LaneUnit
from weft.codegen.width import MAX_WIDTH, WidthChoice
from weft.costs.constants import constants_of
from weft.costs.lane_groups import WidthModel
from weft.costs.one_thread import cycles_alone
from weft.ir import Value
from weft.ir.clone import clone_function
from weft.passes.runner import Runner

LEAST = 4
"""Fewer threads gain too little by what is the same for all of them."""


def choose_walk(unit: LaneUnit, runner: Runner) -> WidthChoice | None:
    """The width at which threads walk together, 1 where they are better off by themselves; None where none could.

    The unit's function, in lanes of any width, stays as it is.
    """
    if not any(unit.divergence.is_divergent_branch(t.header) for t in traversals(unit.function)):
        return None
    module, source = unit.module, unit.function
    before = set(module.functions)
    trial = clone_function(source, f"{source.name}.walk")
    shapes: dict[Value, Shape] = {
        made: unit.shapes[argument]
        for argument, made in zip(source.args, trial.args, strict=True)
        if argument in unit.shapes
    }
    walk = LaneUnit(module, trial, unit.lanes, shapes, unit.isa, switches=unit.switches)
    runner.watched_by().run((NARROWING, SHARED_STACKS), walk)
    choice = _choose(unit, walk) if walk.summary.together else None
    for name in [n for n in module.functions if n not in before]:
        del module.functions[name]
    return choice


def _choose(unit: LaneUnit, walk: LaneUnit) -> WidthChoice:
    isa = unit.isa
    model = WidthModel(walk.divergence, isa)
    bits = model.dominant_bits()
    width = max(LEAST, min(MAX_WIDTH, isa.lanes(bits)))
    alone = cycles_alone(unit.divergence, isa)
    together = model.cycles_of_thread(width) * width ** constants_of(isa).visits_apart
    if together >= alone:
        share = 100 * alone / together
        return WidthChoice(
            1, f"which takes about {share:.0f} % of the time of {width} lanes that walk together"
        )
    registers = -(-width * bits // isa.vector_bits)
    many = f"{registers} registers" if registers > 1 else "a register"
    return WidthChoice(width, f"{many} of {bits}-bit values, which walk together", bits)
