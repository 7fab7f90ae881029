"""Nests in loops over ``prange`` that are found to be parallel through and through.

The promise is one about the outermost loop, and says nothing of those inside. Where they add up, or call functions of
mathematics, lanes along an inner loop, other orders of the loops, tiles and boxes gain more than lanes along the
outermost one, or LLVM's vectorizer. So such a nest is looked at as if nobody said anything of it (`auto_loops`). What
is found rests on tests in front of the nest; where one fails, it runs as it was promised, and so does a nest of which
nothing is found, or some loop that runs in order and is in no other one.

Precondition: P-LLVM with marks on promised loops. Postcondition: the same, loop-closed; loops of nests are marked as
proved. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec.structs import replace

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Program, Scope
from weft.analysis.sequential.verdicts import Verdict, loop_verdict
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.passes.loop_unit import LoopUnit
from weft.passes.mark_chosen import apply_chosen
from weft.passes.nests.chosen_loops import Chosen, Search
from weft.passes.nests.loop_order import order_loops, undo
from weft.passes.nests.loop_splits import split_loops
from weft.passes.nests.wanted_nests import is_mathematics, wanted_nests
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.signed_tests import sign_tests

_IN_LANES = (Verdict.PARALLEL, Verdict.REDUCTION)


def prove_promised_nests(unit: LoopUnit, function: Function) -> int:
    """Mark the loops of promised nests that are found to be parallel, behind tests; how many nests."""
    found_wanted = dict(wanted_nests(function, unit.module.layout, unit.isa))
    if not found_wanted:
        return 0
    wanted, alone = set(found_wanted), {header for header, is_short in found_wanted.items() if is_short}
    sign_tests(function)
    close_loops(function)
    open_needless(function)
    arrays = unit.arrays if function is unit.function else ()
    left = _outermost(function) - wanted
    _, spare = split_loops(unit.module, function, arrays, left | alone)
    left |= spare
    while True:
        changes = order_loops(unit.module, function, arrays, left | alone)
        program = Program(unit.module, arrays=arrays)
        scope = Scope(program, function)
        accesses = Accesses(Reconstruction(program))
        search = Search(unit, accesses, scope, False, frozenset(), promises=True)
        tops = [c for c in scope.loops.values() if c.parent is None and c.header not in left]
        found = [
            (chosen, rows)
            for loop in tops
            if (chosen := search.whole_nest(loop)) is not None
            and (rows := _rows_inside(chosen, accesses, scope)) is not None
        ]
        inside = {b: chosen for chosen, _ in found for b in chosen.loop.blocks}
        lost = {c.top for c in changes if c.outer not in inside}
        if not lost:
            break
        for change in reversed(changes):
            undo(function, change.outer, change.inner)
        left |= lost
    for chosen, rows in found:
        mine = [c for c in changes if inside[c.outer] is chosen]
        if chosen.loop.header in alone:
            chosen = replace(chosen, inside=(), promotions=(), tiles=None)
        apply_chosen(unit, function, scope, accesses, chosen, mine, promises=True, rows=rows)
    return len(found)


def _rows_inside(chosen: Chosen, accesses: Accesses, scope: Scope) -> list[CountedLoop] | None:
    """Loops of a nest that have to be long for lanes along them; None where the nest is left as it was promised.

    Each innermost loop has to be parallel, add up, or be in one inside that is. Others are where the time goes, and
    lanes along the outermost loop may be all that there is for them. So are those that add up in order what functions
    of mathematics make: LLVM has no vectors for these. Loops that do not count, as a fractal's, have to be in a row
    that is parallel and adds nothing up, whose length is known in front of the nest.
    """
    inside = {each.header for each in chosen.inside}
    rows: dict[BasicBlock, CountedLoop] = {}
    for loop in scope.loops.values():
        if loop is chosen.loop or not chosen.loop.contains(loop):
            continue
        around = loop
        while around is not None and around is not chosen.loop and around.header not in inside:
            around = around.parent
        covered = around if around is not chosen.loop else None
        if isinstance(loop.counted, str):
            if covered is None or not _is_row(covered, chosen.loop, accesses, scope):
                return None
            assert isinstance(covered.counted, CountedLoop)
            rows[covered.header] = covered.counted
        if loop.loop.children or covered is not None:
            continue
        found = loop_verdict(accesses, loop)
        in_order = any(a.kind == "reassociation" for a in found.assumptions)
        calls = in_order and any(is_mathematics(i) for block in loop.blocks for i in block.instructions)
        if calls or found.verdict not in _IN_LANES:
            return None
    return list(rows.values())


def _is_row(loop: LoopContext, outer: LoopContext, accesses: Accesses, scope: Scope) -> bool:
    """Whether a parallel loop has as many iterations each time, a number that is there before the outer one.

    Lanes run along loops that are promised to be parallel in any case.
    """
    counted = loop.counted
    if loop_promises(scope.view.blocks[loop.loop.latches[0]], tuple(loop.blocks)).parallel:
        return False
    if isinstance(counted, str) or loop_verdict(accesses, loop).verdict is not Verdict.PARALLEL:
        return False
    bounds = (counted.counter.start, counted.bound)
    return not any(isinstance(v, Instruction) and v.block in set(outer.blocks) for v in bounds)


def _outermost(function: Function) -> set[BasicBlock]:
    view = cfg_of(function)
    return {view.blocks[loop.header] for loop in loop_forest(view.cfg).loops if loop.parent is None}
