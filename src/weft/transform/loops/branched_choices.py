"""Choices that a thread by itself waits long for, and looks somewhere else by, are branches.

Which these are, and why, `weft.costs.long_choices` says. They stay choices here, and are marked for LLVM as foreseen,
of which it makes branches when it generates code. It makes branches of others, too, where what they are chosen by was
loaded; those of short walks (`weft.costs.short_walks`) are marked as not foreseen, and stay choices.

Precondition: P-LLVM of one thread, without predicates, shadows and guards. Postcondition: the same; such choices have
branch weights, or are ``unpredictable``. Preserves the program under FR.
"""

from __future__ import annotations

from weft.costs.long_choices import long_choices, sum_of
from weft.costs.short_walks import short_walk
from weft.graph.loops import loop_forest
from weft.ir import Builder, Function, Instruction, MDTuple, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.machine.targets import Isa


def mark_short_walks(function: Function, isa: Isa) -> int:
    """Mark the choices by which short walks go on; how many."""
    view = cfg_of(function)
    walks = [short_walk(loop, view, isa) for loop in loop_forest(view.cfg).loops]
    marked = {choice for walk in walks if walk is not None for choice in walk.choices}
    for choice in marked:
        choice.set_metadata("unpredictable", MDTuple([]))
    return len(marked)


def mark_long_choices(function: Function, isa: Isa) -> int:
    """Mark such choices, but for those of short walks; how many."""
    view = cfg_of(function)
    marked = {choice for loop in loop_forest(view.cfg).loops for choice in long_choices(loop, view, isa)}
    marked = {choice for choice in marked if "unpredictable" not in choice.metadata}
    for choice in marked:
        # So LLVM makes a branch of the choice.
        weigh(_between_sums(choice), 1, OFTEN)
    return len(marked)


def _between_sums(choice: Instruction) -> Instruction:
    """The choice, between two sums where it was one between constants that is added to a number."""
    total = sum_of(choice)
    if total is None:
        return choice
    builder = Builder(before=total)
    builder.loc = total.loc
    first, second = (v is choice for v in total.operands)

    def way(constant: Value) -> Value:
        one, other = total.operands
        return builder.binary(total.op, constant if first else one, constant if second else other)

    condition, yes, no = choice.operands
    made = builder.select(condition, way(yes), way(no))
    assert isinstance(made, Instruction)
    replace_and_erase(total, made)
    choice.erase()
    return made
