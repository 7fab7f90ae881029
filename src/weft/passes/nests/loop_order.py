"""The order of loops in nests, before one looks which of them run in parallel (``parallel="auto"``, ``--loop auto``).

A loop that adds up elements which two other loops of its nest choose is moved inside of these, as far as dependences
allow: ``for i: for k: for j: c[i, j] += a[i, k] * b[k, j]`` becomes ``for i: for j: for k``. The elements then stay in
registers, and a box of them shares what it loads. Of the other two that becomes the inner one whose iterations touch
neighbouring elements. Elements are added up in the order of the program, so results are the same to the last bit.

What this rests on is tested together with what the parallel loop rests on; where a test fails the loop runs in the
order in which it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.dependences import DependenceTest
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import private_objects
from weft.analysis.symbolic.expression import Symbol
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.transform.loops.hoist_invariants import hoist_invariants
from weft.transform.loops.interchange import Pair, interchange, interchangeable

MOST_CHANGES = 6
"""Loops of one function that change places, one after the other."""

MIN_DEPTH = 3
"""Nests of fewer loops have none that adds up what two others choose."""


class Change(Struct, frozen=True):
    """Two loops that have changed places.

    Parameters
    ----------
    top
        The header of the outermost loop of the nest.
    outer, inner
        The headers of the two.
    tests, accesses, loop
        What this rests on, and the analysis that says it, of the outermost loop.
    assumptions
        The same in words.
    """

    top: BasicBlock
    outer: BasicBlock
    inner: BasicBlock
    tests: RunTimeTests
    accesses: Accesses
    loop: LoopContext
    assumptions: tuple[Assumption, ...]


def order_loops(
    module: Module,
    function: Function,
    arrays: tuple[ArrayParameters, ...],
    left: Collection[BasicBlock],
    *,
    hoist: bool = True,
) -> list[Change]:
    """Let loops of a function change places where that pays; the changes in their order.

    Parameters
    ----------
    arrays
        What is known of the function's arrays.
    left
        Headers of outermost loops whose nests stay as they are.
    hoist
        Whether addresses that the innermost loop does not change any more leave it.
    """
    made: list[Change] = []
    while len(made) < MOST_CHANGES:
        scope = Scope(Program(module, arrays=arrays), function)
        if all(loop.depth < MIN_DEPTH for loop in scope.loops.values()):
            break
        accesses = Accesses(Reconstruction(scope.program))
        found = next(_changes(accesses, scope, left), None)
        if found is None:
            break
        change, pair = found
        interchange(pair)
        if hoist:
            hoist_invariants(function)
        made.append(change)
    return made


def undo(function: Function, outer: BasicBlock, inner: BasicBlock) -> None:
    """Restore the order of two loops, by their headers."""
    # What stood between two loops may be in the way of two others now.
    pair = _pair(function, outer, inner) or (hoist_invariants(function) and _pair(function, outer, inner))
    assert pair, "loops that have changed places can do so again"
    interchange(pair)


def _pair(function: Function, outer: BasicBlock, inner: BasicBlock) -> Pair | None:
    view = cfg_of(function)
    headed = loop_forest(view.cfg).headed_by
    first, second = headed[view.index[outer]], headed[view.index[inner]]
    assert first is not None and second is not None
    return interchangeable(view, first, second)


def _changes(accesses: Accesses, scope: Scope, left: Collection[BasicBlock]) -> Iterator[tuple[Change, Pair]]:
    for inner in scope.loops.values():
        outer = inner.parent
        if outer is None or outer.scope is not scope:
            continue
        top = _top(outer)
        if top.header in left:
            continue
        pair = interchangeable(scope.view, outer.loop, inner.loop)
        if pair is None or _is_over_tiles(accesses, outer, inner):
            continue
        if not (adds_up(accesses, outer, inner) or _is_across(accesses, outer, inner)):
            continue
        assumptions = _legal(accesses, outer, inner)
        if assumptions is None:
            continue
        parameters = parameters_of(accesses, top, private_objects(accesses, top))
        tests = run_time_tests(accesses, top, assumptions, parameters)
        if isinstance(tests, str):
            continue
        yield Change(top.header, outer.header, inner.header, tests, accesses, top, tuple(assumptions)), pair


def _top(loop: LoopContext) -> LoopContext:
    while loop.parent is not None:
        loop = loop.parent
    return loop


def _is_over_tiles(accesses: Accesses, outer: LoopContext, inner: LoopContext) -> bool:
    """Whether a loop further inside begins and ends elsewhere in each iteration of the outer one."""
    made = accesses.reconstruction
    for loop in inner.scope.loops.values():
        if loop is inner or not inner.contains(loop) or isinstance(loop.counted, str):
            continue
        ends = (
            made.at(loop.scope, v, loop.counted.preheader)
            for v in (loop.counted.counter.start, loop.counted.bound)
        )
        if all(outer.iteration in end.symbols() for end in ends):
            return True
    return False


def adds_up(accesses: Accesses, outer: LoopContext, inner: LoopContext) -> bool:
    """Whether the outer loop updates elements that the inner one and another loop of the nest choose."""
    for access in accesses.of(inner):
        if not isinstance(access, Access) or not access.is_write:
            continue
        counters = _counters(access)
        if outer.iteration not in counters and inner.iteration in counters and len(counters) >= 2:
            return True
    return False


def _is_across(accesses: Accesses, outer: LoopContext, inner: LoopContext) -> bool:
    """Whether neighbouring elements are touched by the outer of two loops around one that adds up."""
    loops = [o for o in inner.scope.loops.values() if o.parent is inner]
    if len(loops) != 1:
        return False
    votes = 0
    for access in accesses.of(inner):
        if not isinstance(access, Access):
            return False
        if access.is_write and loops[0].iteration in _counters(access):
            return False
        steps = [_step(access, loop) for loop in (outer, inner)]
        if 0 in steps:
            continue
        votes += int(steps[0] == access.element) - int(steps[1] == access.element)
    return votes > 0 and any(
        _step(a, outer) == a.element for a in accesses.of(inner) if isinstance(a, Access)
    )


def _step(access: Access, loop: LoopContext) -> int | None:
    """How far an access moves from iteration to iteration; None for no number."""
    parts = access.offset.coefficients(loop.iteration)
    if len(parts) == 1:
        return None if loop.iteration in access.offset.symbols() else 0
    return None if len(parts) > 2 or parts[1].constant is None else abs(parts[1].offset)


def _counters(access: Access) -> set[Symbol]:
    return {s for s in access.offset.symbols() if isinstance(s.origin, LoopContext)}


def _legal(accesses: Accesses, outer: LoopContext, inner: LoopContext) -> list[Assumption] | None:
    """What it rests on that two loops may change places; None where they may not.

    No iteration may depend on one of an earlier iteration of the outer loop and a later one of the inner loop.
    """
    private = private_objects(accesses, outer)
    if private:
        return None
    found = DependenceTest(accesses, outer, (inner, -1)).run(private, 0)
    if found.found or found.opaque or not found.is_complete:
        return None
    if any(accesses.reconstruction.trip_count(loop) is None for loop in (outer, inner)):
        return None
    assumed = dict.fromkeys(found.assumptions)
    for loop in (outer, inner):
        assumed.update(dict.fromkeys(accesses.assumed_by(loop.scope, [], loop.header)))
    for access in accesses.of(outer):
        assumed.update(dict.fromkeys(accesses.assumptions(access)))
    return list(assumed)
