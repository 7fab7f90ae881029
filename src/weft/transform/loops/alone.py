"""Loops of a thread, or an iteration, that runs by itself.

Those that count up from a number that is loaded, or add it to their counter, have a version for where it is not
negative (`from_zero`); those that look indices up are left for a copy where one of these is negative (`front_loops`).
Searches by halves of several iterations go on together (`searches_together`), others have a version for short ranges
(`bisections`); what is waited for long is a branch, and what short walks go on by is none (`branched_choices`); minima
take what the last iteration computed last (`carried_last`). Divisions by what a loop does not change are
multiplications (`known_divisors`). What looks places up is not for LLVM's vectorizer, which makes gathers of that, or
takes it apart where there are none: but where AVX2 spares divisions and branches on floats that nobody foresees, as of
pairs of particles near enough to act on each other. There signs are asked for before the loop (`asked_ahead`).
Other sums of what is looked up are left to it in lanes with masks, where these have registers and gathers are not slow
(`masked_sums`), or go on in several totals (`sums_in_fours`); those along rows whose lengths data say are left to it in
such lanes, too (`rows_under_masks`), and choose what they add (`chosen_terms`). Walks that turn back ask for both
places that they may look up next (`ask_for_children`).

Precondition: P-LLVM, loop-closed, without predicates, shadows and guards. Postcondition: the same; innermost loops that
look places up are marked, so that LLVM runs them iteration after iteration. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.loops.along_rows import looks_up
from weft.analysis.loops.counted_loops import counted_loop
from weft.diag.source import SourceSpan
from weft.graph.loops import Loop, loop_forest
from weft.ir import Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import is_masked, is_scalar, mark_scalar
from weft.machine.targets import Isa
from weft.transform.loops.ask_for_children import ask_for_children
from weft.transform.loops.asked_ahead import ask_ahead
from weft.transform.loops.bisections import choose_in_short_ranges
from weft.transform.loops.branched_choices import mark_long_choices, mark_short_walks
from weft.transform.loops.carried_last import take_carried_last
from weft.transform.loops.chosen_terms import choose_terms
from weft.transform.loops.flag_choices import flag_choices
from weft.transform.loops.from_zero import count_from_zero
from weft.transform.loops.front_loops import leave_for_the_end
from weft.transform.loops.hoist_invariants import hoist_invariants
from weft.transform.loops.known_divisors import multiply_by_inverses
from weft.transform.loops.masked_sums import add_under_masks
from weft.transform.loops.rows_under_masks import add_rows_under_masks
from weft.transform.loops.searches_together import search_together
from weft.transform.loops.subtracted_totals import add_what_is_subtracted
from weft.transform.loops.sums_in_fours import add_in_fours


class AloneLoops(Struct, frozen=True):
    """What became of the loops of a thread by itself.

    Parameters
    ----------
    made
        How many versions and marks there are.
    masked
        Where loops are that are left to LLVM's vectorizer in lanes with masks.
    totals
        Where loops are that add up in several totals, and in how many.
    """

    made: int
    masked: list[SourceSpan | None]
    totals: list[tuple[SourceSpan | None, int]]


def prepare_alone(function: Function, isa: Isa) -> AloneLoops:
    """Make these versions, and mark the loops that look places up."""

    def for_llvm(loop: Loop, view: CFGView) -> bool:
        return isa.vector_bits > 128 and not isa.mask_registers and _divides_behind_choices(loop, view)

    def in_lanes(loop: Loop, view: CFGView) -> bool:
        return for_llvm(loop, view) or any(is_masked(view.blocks[latch].terminator) for latch in loop.latches)

    hoist_invariants(function)
    flag_choices(function)
    add_what_is_subtracted(function)
    made = mark_short_walks(function, isa) + mark_long_choices(function, isa)
    made += search_together(function) + choose_in_short_ranges(function)
    made += take_carried_last(function)
    made += count_from_zero(function) + ask_ahead(function, for_llvm)
    masked: list[SourceSpan | None] = []
    totals: list[tuple[SourceSpan | None, int]] = []
    if isa.mask_registers and not isa.core.slow_gathers:
        masked = add_under_masks(function, for_llvm)
    if isa.masked_memory:
        made += choose_terms(function, isa, in_lanes)
        masked += add_rows_under_masks(function, isa, in_lanes)
    if not (isa.mask_registers and isa.core.slow_gathers):
        # With AVX-512 LLVM takes four such lookups together again, as a gather.
        totals = add_in_fours(function, in_lanes, isa)
    made += len(masked) + len(totals)
    made += leave_for_the_end(function, in_lanes)
    made += _keep_lookups_scalar(function, in_lanes)
    made += ask_for_children(function)
    return AloneLoops(made + multiply_by_inverses(function), masked, totals)


def is_for_llvm(function: Function) -> bool:
    """Whether LLVM may vectorize: innermost loops count, and are not marked as scalar, or there are none."""
    view = cfg_of(function)
    innermost = [loop for loop in loop_forest(view.cfg).loops if not loop.children]
    return not innermost or any(
        not any(is_scalar(view.blocks[latch].terminator) for latch in loop.latches)
        and not isinstance(counted_loop(view, loop), str)
        for loop in innermost
    )


def _keep_lookups_scalar(function: Function, is_spared: Callable[[Loop, CFGView], bool]) -> int:
    view = cfg_of(function)
    marked = 0
    for loop in loop_forest(view.cfg).loops:
        if not loop.children and looks_up(loop, view) and not is_spared(loop, view):
            for latch in loop.latches:
                mark_scalar(view.blocks[latch].terminator)
            marked += 1
    return marked


def _divides_behind_choices(loop: Loop, view: CFGView) -> bool:
    """Whether an innermost loop divides floats, or takes roots, where a comparison of floats says so."""
    if loop.children:
        return False
    blocks = [view.blocks[b] for b in loop.blocks]
    inside = set(blocks)
    chosen = {
        way
        for block in blocks
        if len(inside.intersection(block.successors)) > 1
        and isinstance(condition := block.terminator.operands[0], Instruction)
        and condition.op == "fcmp"
        for way in block.successors
    }
    return any(
        i.op == "fdiv" or (i.callee_name or "").startswith("llvm.sqrt.")
        for b in chosen
        for i in b.instructions
    )
