"""Loops that have been chosen are marked as parallel, behind tests of what that rests on.

Precondition: what `weft.passes.nests.chosen_loops` has found of the function as it is. Postcondition: the function is
loop-closed, and runs as it was where a test fails. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import CountedLoop, build_iterations, counted_loop
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.scope import Scope, line_of
from weft.diag.remarks import RemarkKind
from weft.ir import TRUE, Builder, Function, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.locations import span_of
from weft.ir.loop_metadata import (
    KEPT,
    mark_apart,
    mark_in_place,
    mark_in_step,
    mark_parallel,
    mark_version,
    unmark,
)
from weft.passes.forms.private_form import mark_updates
from weft.passes.front_indices import front_indices
from weft.passes.loop_unit import LoopUnit
from weft.passes.nests.chosen_loops import PASS, Chosen
from weft.passes.nests.loop_order import Change, undo
from weft.passes.nests.loop_tiles import run_in_tiles
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.promote_elements import promote
from weft.transform.loops.version_loop import version_loop

LONG = 128
"""Iterations that fill the lanes of a loop: twice as many as a lane group has. With 90 of them Newton's iteration took
1.2 times as long along the row as across with AVX-512, where the rest is in groups of 8, and with 11 five times."""


def apply_chosen(
    unit: LoopUnit,
    function: Function,
    scope: Scope,
    accesses: Accesses,
    chosen: Chosen,
    changes: Sequence[Change],
    *,
    promises: bool = False,
    in_place: bool = False,
    fewest: int = 0,
    rows: Sequence[CountedLoop] = (),
) -> None:
    """Mark a loop and those in it, behind tests of what that rests on.

    With `promises` nothing else is said of the loops of its nest from then on: they may have changed places with
    promised ones. The version for when a test fails keeps its promises, and is marked as such. With `in_place` the loop
    runs on the thread that comes there, where it has no fewer than the `fewest` iterations. It runs as it was where one
    of the `rows`, loops inside that lanes are to run along, does not fill them.
    """
    view, loop = scope.view, chosen.loop
    asked = [(accesses, chosen.tests, loop), *((c.accesses, c.tests, c.loop) for c in changes)]
    asked = [each for each in asked if not each[1].is_empty]
    from_the_front = front_indices(accesses, chosen)
    counted = counted_loop(view, loop.loop) if fewest else "may have few iterations"
    if asked or rows or isinstance(counted, CountedLoop):

        def build(builder: Builder) -> Value:
            whole: Value = TRUE
            parts = [
                build_tests(builder, known.reconstruction, tests, before) for known, tests, before in asked
            ]
            if isinstance(counted, CountedLoop):
                parts.append(builder.icmp("uge", build_iterations(counted, builder), const_int(fewest)))
            for row in rows:
                # Bounds that are poison are met in no other branch where the loop around does not run.
                length = builder.unary("freeze", build_iterations(row, builder))
                parts.append(builder.icmp("uge", length, const_int(LONG)))
            for one in parts:
                whole = one if whole is TRUE else builder.binary("and", whole, one)
            return whole

        copies = version_loop(function, view, loop.loop, build)
        for change in reversed(changes):
            undo(function, copies[change.outer], copies[change.inner])
        if promises:
            for latch in loop.loop.latches:
                mark_version(copies[view.blocks[latch]].terminator, KEPT)
    for index in from_the_front:
        replace_and_erase(index, index.operands[2])
    if promises:
        for each in scope.loops.values():
            if each is loop or loop.contains(each):
                for latch in each.loop.latches:
                    unmark(view.blocks[latch].terminator)
    for change in changes:
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            f"this loop and that of line {line_of(change.outer.terminator)} have changed places",
            span_of(change.inner.terminator),
            pass_name=PASS,
        )
    places = {each: span_of(each.header.terminator) for each in (loop, *chosen.inside)}
    ends = {each: view.blocks[each.loop.latches[0]] for each in (loop, *chosen.inside)}
    if chosen.tiles is not None:
        tiles, place = chosen.tiles, span_of(chosen.tiles.inner.header.terminator)
        ends[tiles.outer], ends[tiles.middle] = run_in_tiles(function, tiles)
        what = f"{tiles.size} iterations of this loop at a time are a tile, which all iterations around it go over"
        if tiles.packing is not None:
            what += f"; what lanes would gather is copied for {tiles.packing.columns} columns at a time"
        unit.remarks.add(RemarkKind.TRANSFORM, what, place, pass_name=PASS)
    for promotion in chosen.promotions:
        promote(promotion)
    if chosen.updates:
        mark_updates(accesses, loop, loop.header, chosen.updates)
    close_loops(function)
    assumed = [*chosen.assumptions, *(a for c in changes for a in c.assumptions)]
    texts = dict.fromkeys(a.text for a in assumed if a.kind != "reassociation")
    under = f" if {', and '.join(texts)}" if texts and asked else ""
    if chosen.form is not None:
        span = span_of(loop.header.terminator)
        what = chosen.form(function, loop.header)
        close_loops(function)
        unit.remarks.add(RemarkKind.TRANSFORM, f"{what}{under}", span, pass_name=PASS)
        return
    for each in (loop, *chosen.inside):
        back_edge = ends[each].terminator
        if chosen.in_step:
            mark_in_step(back_edge, chosen.in_step)
        else:
            if in_place and each is loop:
                mark_in_place(back_edge)
            else:
                mark_parallel(back_edge, proved=True)
            if not chosen.updates:
                mark_apart(back_edge)
    what = "the iterations of this loop are independent"
    if chosen.updates:
        what += ", but for elements that they update, of which each thread has a copy"
    if chosen.in_step:
        what = f"{chosen.in_step} iterations of this loop may run at a time, in lock step and in order"
    unit.remarks.add(
        RemarkKind.TRANSFORM,
        f"{what}{under}",
        places[loop],
        pass_name=PASS,
    )
