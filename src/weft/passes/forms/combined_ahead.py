"""Integers that are combined of what earlier iterations have found, in lanes (``parallel="auto"``, ``--loop auto``).

In ``for j: (t[i, j] = max(t[i, j], t[i, j - 1]); for k < j: t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j]))`` each
element waits for those before it in its row, and t[k + 1, j] is in another line of the cache for each k. Groups of
iterations combine ahead what there is before the first of them, in lanes along j
(`weft.transform.loops.combine_ahead`).

Integers are combined in another order, which changes no bit. What it rests on that elements are others is tested before
the outermost loop where it can be asked; where a test fails a copy of that runs as it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from weft.analysis.loops.reductions import Combination, Reduction, reduction_of
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.orders import RoundsAhead
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import Verdict, loop_verdict
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.codegen.parallel.combine import combine, neutral_value
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Module
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import mark_in_step
from weft.ir.types import IntType
from weft.passes.forms.kept_elements import MOST_COPIED
from weft.passes.nests.rows_together import MOST_LOOPS, assumed_in_order, with_promotions
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.combine_ahead import Combining, combine_ahead, combines
from weft.transform.loops.promote_elements import find_promotions

COUNT = 32
"""Iterations of a group: the rounds behind its first one, half of them on average, are still done one by one."""

_EXACT = {
    Combination.ADD, Combination.MUL, Combination.AND, Combination.OR, Combination.XOR,
    Combination.SMIN, Combination.SMAX, Combination.UMIN, Combination.UMAX,
}  # fmt: skip


class CombinedAhead(Struct, frozen=True):
    """A loop whose iterations combine ahead.

    Parameters
    ----------
    header
        The loop.
    count
        How many are a group.
    lanes
        The header of the loop whose lanes do it.
    rest
        The header of the loop that goes on in order; its rounds are few.
    assumptions
        What is tested.
    """

    header: BasicBlock
    count: int
    lanes: BasicBlock
    rest: BasicBlock
    assumptions: tuple[Assumption, ...]


def combine_rounds_ahead(
    module: Module, function: Function, arrays: tuple[ArrayParameters, ...], left: Collection[BasicBlock]
) -> tuple[list[CombinedAhead], set[BasicBlock]]:
    """Let iterations combine ahead where that pays and may be; and the headers of copies that run as they were written.

    Parameters
    ----------
    left
        Headers of outermost loops whose nests stay as they are.
    """
    made: list[CombinedAhead] = []
    tried, others = set[BasicBlock](), set[BasicBlock]()
    while len(made) < MOST_LOOPS:
        view = cfg_of(function)
        found = [
            view.blocks[loop.header]
            for loop in loop_forest(view.cfg).loops
            if view.blocks[loop.header] not in tried and combines(view, loop)
        ]
        if not found:
            break
        scope = Scope(Program(module, arrays=arrays), function)
        loop = next(c for c in scope.loops.values() if c.header is found[0])
        tried.add(loop.header)
        if any(around.header in left or around.header in others for around in _with_those_around(loop)):
            continue
        done = _combined(module, function, Accesses(Reconstruction(scope.program)), loop, others)
        if done is not None:
            made.append(done)
    return made, others


def _with_those_around(loop: LoopContext) -> Iterator[LoopContext]:
    around: LoopContext | None = loop
    while around is not None:
        yield around
        around = around.parent


def _combined(
    module: Module, function: Function, accesses: Accesses, loop: LoopContext, others: set[BasicBlock]
) -> CombinedAhead | None:
    """Let iterations of a loop combine ahead; its copies go to `others`."""
    (inside,) = (c for c in loop.scope.loops.values() if c.parent is loop)
    kept = [p for p in find_promotions(accesses, loop, assuming=True) if p.loop is inside and p.is_touched]
    instructions = {i for p in kept for i in p.accesses}
    if not _gains(accesses, loop, inside, instructions):
        return None
    made, places = accesses.reconstruction, list[Expression]()
    for each in (loop, inside):
        assert not isinstance(each.counted, str)
        start = made.at(each.scope, each.counted.counter.start, each.counted.preheader)
        places.append(start + as_expression(each.iteration))
    order = RoundsAhead(inside, places[0], places[1], COUNT, instructions)
    assumptions = assumed_in_order(accesses, loop, [inside], order)
    if assumptions is None:
        return None
    assumptions.update(dict.fromkeys(a for p in kept for a in p.assumptions))
    around = _tested(accesses, loop, assumptions)
    if around is None:
        return None
    with_promotions(function, accesses, *around, kept, others)
    found = combines(*_loop_at(function, loop.header))
    number = reduction_of(found.inside, found.phi) if isinstance(found, Combining) else ""
    if not isinstance(found, Combining) or isinstance(number, str) or not _is_exact(number):
        # The elements stay in registers all the same.
        return None
    for operation in number.operations:
        # What they say holds of what the program combines, not of what begins with a neutral number.
        operation.flags = ()
    _, lanes = combine_ahead(
        function,
        found,
        COUNT,
        neutral_value(number.combination, number.type),
        lambda build, a, b: combine(module, build, number.combination, a, b),
    )
    close_loops(function)
    view, marked = _loop_at(function, lanes)
    mark_in_step(view.blocks[marked.latches[0]].terminator, COUNT)
    return CombinedAhead(loop.header, COUNT, lanes, found.inside.header, tuple(assumptions))


def _is_exact(number: Reduction) -> bool:
    """Whether order changes no bit of a number that fits a cell, and nothing is known of what it is on the way."""
    fits = isinstance(number.type, IntType) and number.type.bits in (8, 16, 32, 64)
    known = any("range" in i.metadata or "range" in str(i.attrs) for i in number.operations)
    return fits and not known and number.combination in _EXACT


def _loop_at(function: Function, header: BasicBlock) -> tuple[CFGView, Loop]:
    view = cfg_of(function)
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    assert loop is not None
    return view, loop


def _gains(accesses: Accesses, loop: LoopContext, inside: LoopContext, kept: Collection[Instruction]) -> bool:
    """Whether a loop runs in order, and lanes along it have what they load in the loop inside beside each other.

    Where rounds of the loop inside have that, too, lanes may run along these.
    """
    if loop_verdict(accesses, loop).verdict in (Verdict.PARALLEL, Verdict.REDUCTION):
        return False
    apart = beside = False
    for access in accesses.of(inside):
        if not isinstance(access, Access):
            return False
        if access.instruction in kept:
            if access.is_write and not isinstance(access.instruction.accessed_type, IntType):
                return False
            continue
        if access.is_write or not isinstance(access.instruction.accessed_type, IntType):
            return False
        along, of_round = (_step(access, c) for c in (loop, inside))
        if along not in (0, access.element):
            return False
        beside |= along != 0
        apart |= of_round is None or abs(of_round) > access.element
    return apart and beside


def _step(access: Access, loop: LoopContext) -> int | None:
    """How far an access moves from iteration to iteration, None for no number."""
    parts = access.offset.coefficients(loop.iteration)
    if len(parts) == 1:
        return None if loop.iteration in access.offset.symbols() else 0
    return None if len(parts) > 2 else parts[1].constant


def _tested(
    accesses: Accesses, loop: LoopContext, assumptions: dict[Assumption, None]
) -> tuple[LoopContext, RunTimeTests] | None:
    """The outermost loop before which assumptions can be asked, and what is asked."""
    found: tuple[LoopContext, RunTimeTests] | None = None
    for around in _with_those_around(loop):
        tests = run_time_tests(accesses, around, assumptions, parameters_of(accesses, around, frozenset()))
        small = sum(len(b.instructions) for b in around.blocks) <= MOST_COPIED
        if not isinstance(tests, str) and (tests.is_empty or small):
            found = around, tests
    return found
