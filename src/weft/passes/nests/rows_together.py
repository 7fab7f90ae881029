"""Rows that are added up in order, several at a time (``parallel="auto"``, ``--loop auto``).

In ``for i: for j: q[i] += a[i, j] * p[j]`` each addition waits for the one before it, and lanes along i would read
elements that are far apart. Several rows together have as many additions under way, read neighbours, and read `p` once.
Loops in which something else is updated in the same order, such as ``s[j] += r[i] * a[i, j]`` beside, are done so, too.

Each number is added up in the order of the program, so results are the same to the last bit. What the order rests on is
tested before the loop; where a test fails a copy of it runs as it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.dependences import DependenceTest
from weft.analysis.sequential.orders import Order, Together
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests, test_that_body_runs
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import Verdict, loop_verdict, private_objects
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Module
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import FloatType
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.jam import Jammable, jam, jammable
from weft.transform.loops.promote_elements import Promotion, find_promotions, promote
from weft.transform.loops.version_loop import version_loop

SUMS = 8
"""Additions under way that keep the units busy: two a cycle, each of three or four."""

MOST_INSTRUCTIONS = 60
"""Of a loop; what many more compute would not stay in registers."""

MOST_LOOPS = 6
"""Loops of one function."""


class RowsTogether(Struct, frozen=True):
    """A loop of which several iterations are done together.

    Parameters
    ----------
    header
        The loop.
    count
        How many.
    assumptions
        What is tested.
    """

    header: BasicBlock
    count: int
    assumptions: tuple[Assumption, ...]


def add_rows_together(
    module: Module,
    function: Function,
    arrays: tuple[ArrayParameters, ...],
    left: Collection[BasicBlock],
    *,
    all_cores: bool,
) -> tuple[list[RowsTogether], set[BasicBlock]]:
    """Do rows together that are added up in order; and the headers of copies that run as they were written.

    Parameters
    ----------
    left
        Headers of outermost loops whose nests stay as they are.
    all_cores
        Whether all cores share rows that are independent of each other: these stay as they are.
    """
    made: list[RowsTogether] = []
    tried, others = set(left), set[BasicBlock]()
    while len(made) < MOST_LOOPS:
        view = cfg_of(function)
        forest = loop_forest(view.cfg)
        found = [
            rows
            for loop in forest.loops
            if loop.parent is None
            and view.blocks[loop.header] not in tried | others
            and all(not c.children for c in loop.children)
            and (rows := jammable(view, loop)) is not None
        ]
        if not found:
            break
        scope = Scope(Program(module, arrays=arrays), function)
        accesses = Accesses(Reconstruction(scope.program))
        rows = found[0]
        header = rows.loop.header
        tried.add(header)
        loop = next(c for c in scope.loops.values() if c.header is header)
        if all_cores and loop_verdict(accesses, loop).verdict is Verdict.PARALLEL:
            continue
        done = _together(function, accesses, loop, rows, others)
        if done is not None:
            made.append(done)
    return made, others


def _together(
    function: Function, accesses: Accesses, loop: LoopContext, rows: Jammable, others: set[BasicBlock]
) -> RowsTogether | None:
    """Do rows of a loop together, if that pays and may be; its copies go to `others`."""
    if sum(len(b.instructions) for b in loop.blocks) > MOST_INSTRUCTIONS:
        return None
    sums = _sums(accesses, loop, rows)
    count = max(2, SUMS // max(1, sums))
    headed = {c.header: c for c in loop.scope.loops.values()}
    bodies = {counted.latch: headed[counted.header] for counted in rows.inside}
    places = {block: (number, bodies.get(block)) for number, block in enumerate(rows.blocks)}
    order = Together(places, count)
    assumptions = assumed_in_order(accesses, loop, bodies.values(), order) if sums else None
    if assumptions is None:
        return None
    tests = run_time_tests(accesses, loop, assumptions, parameters_of(accesses, loop, frozenset()))
    if isinstance(tests, str):
        return None
    promotions = [
        p
        for p in find_promotions(accesses, loop)
        if p.is_touched or test_that_body_runs(tests, accesses, p.loop, loop)
    ]
    header = loop.header
    shape = jammable(*with_promotions(function, accesses, loop, tests, promotions, others))
    assert shape is not None, "elements that stay in registers add φs, and stores behind loops"
    others.add(jam(function, shape, count))
    remove_dead_instructions(function)
    close_loops(function)
    return RowsTogether(header, count, tuple(assumptions))


def with_promotions(
    function: Function,
    accesses: Accesses,
    loop: LoopContext,
    tests: RunTimeTests,
    promotions: Iterable[Promotion],
    others: set[BasicBlock],
) -> tuple[CFGView, Loop]:
    """Let elements stay in registers in a loop, behind tests where there are any; the loop, found again.

    A copy runs where a test fails; its header goes to `others`.
    """
    header = loop.header
    if not tests.is_empty:
        copies = version_loop(
            function,
            loop.scope.view,
            loop.loop,
            lambda b: build_tests(b, accesses.reconstruction, tests, loop),
        )
        others.add(copies[header])
    for promotion in promotions:
        promote(promotion)
    close_loops(function)
    view = cfg_of(function)
    again = loop_forest(view.cfg).headed_by[view.index[header]]
    assert again is not None
    return view, again


def _sums(accesses: Accesses, loop: LoopContext, rows: Jammable) -> int:
    """How many sums a row has that are formed in order, of elements that neighbours in lanes would have far apart."""
    known = accesses.of(loop)
    plain = [a for a in known if isinstance(a, Access)]
    if len(plain) < len(known):
        return 0
    headed = {c.header: c for c in loop.scope.loops.values()}
    sums = 0
    for counted in rows.inside:
        inner = headed[counted.header]
        mine = accesses.of(inner)
        along = [_steps(a, loop, inner) for a in mine if isinstance(a, Access)]
        if any(rows_of == element and of_round != 0 for rows_of, of_round, element in along):
            # Lanes along rows have neighbours.
            return 0
        if not any(of_round == element and rows_of != 0 for rows_of, of_round, element in along):
            continue
        for phi in counted.header.phis():
            sums += phi is not counted.counter.phi and is_sum(phi, phi.incoming_value(counted.latch))
        for access in mine:
            if isinstance(access, Access) and access.is_write:
                rows_of, of_round, _ = _steps(access, loop, inner)
                if rows_of != 0 and of_round != 0:
                    return 0
                value = access.instruction.operands[0]
                if of_round == 0 and rows_of != 0:
                    sums += is_sum(None, value)
    return sums


def _steps(access: Access, *loops: LoopContext) -> tuple[int | None, int | None, int]:
    """How far an access moves from iteration to iteration of two loops, None for no number; and its element's size."""
    found: list[int | None] = []
    for loop in loops:
        parts = access.offset.coefficients(loop.iteration)
        if len(parts) == 1:
            found.append(None if loop.iteration in access.offset.symbols() else 0)
        else:
            found.append(None if len(parts) > 2 or parts[1].constant is None else abs(parts[1].offset))
    return found[0], found[1], access.element


def is_sum(phi: Instruction | None, value: object) -> bool:
    """Whether a number is what something is added to, in order."""
    if not isinstance(value, Instruction) or not isinstance(value.type, FloatType):
        return False
    added = value.op in ("fadd", "fsub") or (value.callee_name or "").startswith(("llvm.fmuladd", "llvm.fma"))
    return added and not {"reassoc", "fast"} & set(value.flags) and (phi is None or phi in value.operands)


def assumed_in_order(
    accesses: Accesses, loop: LoopContext, inside: Iterable[LoopContext], order: Order
) -> dict[Assumption, None] | None:
    """What it rests on that a loop may be done in another order, with loops inside; None where it may not."""
    if private_objects(accesses, loop) or accesses.reconstruction.trip_count(loop) is None:
        return None
    found = DependenceTest(accesses, loop, order=order).run(frozenset(), 0)
    if found.found or found.opaque or not found.is_complete:
        return None
    assumed = dict.fromkeys(found.assumptions)
    for each in (loop, *inside):
        assumed.update(dict.fromkeys(accesses.assumed_by(each.scope, [], each.header)))
    for access in accesses.of(loop):
        assumed.update(dict.fromkeys(accesses.assumptions(access)))
    return assumed
