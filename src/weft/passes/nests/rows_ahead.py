"""Sums in order of triangular nests, of several rows at a time (``parallel="auto"``, ``--loop auto``).

In ``for i: for j < i: (for k < j: a[i, j] -= a[i, k] * a[j, k]; a[i, j] /= a[j, j])`` each addition waits for the one
before it, and each element for those before it in its row; but rows wait for one another's ends only. So 8 rows do
together what is left of the first of them (`weft.transform.loops.run_ahead`). In ``for i: (for j < i: x[i] -= a[i, j] *
x[j]; x[i] /= a[i, i])`` they do so, too.

Each number is added up in the order of the program, so results are the same to the last bit. What the order rests on is
tested before the loop; where a test fails a copy of it runs as it was written.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.orders import Ahead
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import Verdict, loop_verdict
from weft.analysis.symbolic.expression import as_expression
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Module
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.passes.nests.rows_together import (
    MOST_INSTRUCTIONS,
    MOST_LOOPS,
    SUMS,
    RowsTogether,
    assumed_in_order,
    is_sum,
    with_promotions,
)
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.promote_elements import Promotion, find_promotions
from weft.transform.loops.run_ahead import Triangle, run_ahead, triangle


def run_rows_ahead(
    module: Module, function: Function, arrays: tuple[ArrayParameters, ...], left: Collection[BasicBlock]
) -> tuple[list[RowsTogether], set[BasicBlock]]:
    """Let rows of triangular nests begin together; and the headers of copies that run as they were written.

    Parameters
    ----------
    left
        Headers of outermost loops whose nests stay as they are.
    """
    made: list[RowsTogether] = []
    tried, others = set(left), set[BasicBlock]()
    while len(made) < MOST_LOOPS:
        view = cfg_of(function)
        found = [
            shape
            for loop in loop_forest(view.cfg).loops
            if loop.parent is None
            and view.blocks[loop.header] not in tried | others
            and (shape := triangle(view, loop)) is not None
        ]
        if not found:
            break
        scope = Scope(Program(module, arrays=arrays), function)
        header = found[0].loop.header
        tried.add(header)
        done = _ahead(function, Accesses(Reconstruction(scope.program)), scope, found[0], others)
        if done is not None:
            made.append(done)
            tried.add(done.header)
    return made, others


def _ahead(
    function: Function, accesses: Accesses, scope: Scope, shape: Triangle, others: set[BasicBlock]
) -> RowsTogether | None:
    """Let rows of a nest begin together, if that pays and may be; its copies go to `others`."""
    headed = {c.header: c for c in scope.loops.values()}
    loop, inside = headed[shape.loop.header], headed[shape.inside.loop.header]
    if sum(len(b.instructions) for b in inside.blocks) > MOST_INSTRUCTIONS:
        return None
    if any(loop_verdict(accesses, c).verdict is Verdict.PARALLEL for c in (loop, inside)):
        return None
    adding = [headed[c.header] for c in shape.inside.inside] or [inside]
    around = inside if shape.inside.inside else loop
    promotions = [
        p for p in find_promotions(accesses, around, assuming=True) if p.is_touched and p.loop in adding
    ]
    sums = sum(_sums(accesses, each, promotions) for each in adding)
    if not sums:
        return None
    count = max(2, SUMS // sums)
    row = as_expression(loop.iteration) + accesses.reconstruction.at(
        scope, shape.loop.counter.start, shape.loop.preheader
    )
    order = Ahead(shape.before, inside, row, as_expression(inside.iteration), count)
    loops = [c for c in scope.loops.values() if c is not loop and loop.contains(c)]
    assumptions = assumed_in_order(accesses, loop, loops, order)
    if assumptions is None:
        return None
    assumptions.update(dict.fromkeys(a for p in promotions for a in p.assumptions))
    tests = run_time_tests(accesses, loop, assumptions, parameters_of(accesses, loop, frozenset()))
    if isinstance(tests, str):
        return None
    promoted = triangle(*with_promotions(function, accesses, loop, tests, promotions, others))
    assert promoted is not None, "elements that stay in registers add φs, and stores behind loops"
    groups, rest = run_ahead(function, promoted, count)
    others.add(rest)
    remove_dead_instructions(function)
    close_loops(function)
    return RowsTogether(groups, count, tuple(assumptions))


def _sums(accesses: Accesses, loop: LoopContext, promotions: list[Promotion]) -> int:
    """How many sums a loop forms in order; 0 if it stores anything else."""
    counted = loop.counted
    if isinstance(counted, str):
        return 0
    pointers = {p.pointer for p in promotions if p.loop is loop}
    phis = [phi for phi in counted.header.phis() if phi is not counted.counter.phi]
    sums = sum(is_sum(phi, phi.incoming_value(counted.latch)) for phi in phis)
    for access in accesses.of(loop):
        if not isinstance(access, Access):
            return 0
        if access.is_write:
            if access.instruction.op != "store" or access.instruction.pointer not in pointers:
                return 0
            sums += is_sum(None, access.instruction.operands[0])
    return sums
