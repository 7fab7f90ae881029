"""Loops of a thread, or an iteration, that runs by itself.

Those that count up from a number that is loaded have a version for where it is not negative (`from_zero`); those that
look indices up are left for a copy where one of these is negative (`front_loops`). Searches by halves have a version
for short ranges (`bisections`), and what is waited for long is a branch (`branched_choices`). What looks places up is
not for LLVM's vectorizer, which makes gathers of that, or takes it apart where there are none.

Precondition: P-LLVM, loop-closed, without predicates, shadows and guards. Postcondition: the same; innermost loops that
look places up are marked, so that LLVM runs them iteration after iteration. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.along_rows import looks_up
from weft.graph.loops import loop_forest
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import mark_scalar
from weft.machine.targets import Isa
from weft.transform.loops.bisections import choose_in_short_ranges
from weft.transform.loops.branched_choices import mark_long_choices
from weft.transform.loops.from_zero import count_from_zero
from weft.transform.loops.front_loops import leave_for_the_end
from weft.transform.loops.hoist_invariants import hoist_invariants


def prepare_alone(function: Function, isa: Isa) -> int:
    """Make these versions, and mark those that look places up; return how many there were."""
    hoist_invariants(function)
    made = mark_long_choices(function, isa) + choose_in_short_ranges(function)
    made += count_from_zero(function) + leave_for_the_end(function)
    return made + _keep_lookups_scalar(function)


def _keep_lookups_scalar(function: Function) -> int:
    view = cfg_of(function)
    marked = 0
    for loop in loop_forest(view.cfg).loops:
        if not loop.children and looks_up(loop, view):
            for latch in loop.latches:
                mark_scalar(view.blocks[latch].terminator)
            marked += 1
    return marked
