"""Choices that a thread by itself waits long for, and looks somewhere else by, are branches.

Which these are, and why, `weft.costs.long_choices` says. They stay choices here, and are marked for LLVM as foreseen,
of which it makes branches when it generates code.

Precondition: P-LLVM of one thread, without predicates, shadows and guards. Postcondition: the same; such choices have
branch weights. Preserves the program under FR.
"""

from __future__ import annotations

from weft.costs.long_choices import long_choices
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Function, MDTuple, MDValue
from weft.ir.cfg_view import cfg_of
from weft.ir.metadata import MDString
from weft.ir.types import I32
from weft.machine.targets import Isa

FORESEEN = 2000
"""How many times as often one way is said to be taken, so that LLVM makes a branch of the choice."""


def mark_long_choices(function: Function, isa: Isa) -> int:
    """Mark such choices; how many."""
    view = cfg_of(function)
    marked = {choice for loop in loop_forest(view.cfg).loops for choice in long_choices(loop, view, isa)}
    for choice in marked:
        weights = [MDValue(ConstInt(I32, weight)) for weight in (1, FORESEEN)]
        choice.metadata["prof"] = MDTuple([MDString("branch_weights"), *weights])
    return len(marked)
