"""Parallel loops over several loops and stores, of which one adds up: each gets a loop of its own (distribution).

``for i: (for j: c[i, j] *= beta; for k: for j: c[i, j] += a[i, k] * b[k, j])`` becomes two nests. The second one is
perfect then, so its loops can change places (`loop_order`). ``for i: for j: (c[i, j] = 0; for k: c[i, j] += ...)``
becomes two nests where the second one would have tiles (`loop_tiles`), and it is known how much it reads. Iterations of
the loops do not depend on each other, so all of them may do the first part before any does the second.

What this rests on is tested before the loop; where a test fails a copy of it runs as it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct, field

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, is_known_before, run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import Verdict, verdict_if_independent
from weft.analysis.symbolic.expression import Maximum
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.passes.nests.loop_order import adds_up
from weft.passes.nests.loop_tiles import tile_size
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.distribute import Part, Parts, distribute, parts_of
from weft.transform.loops.interchange import interchangeable
from weft.transform.loops.tile_loop import can_be_tiled
from weft.transform.loops.version_loop import version_loop

MOST_SPLITS = 6
"""Loops of one function that are taken apart, or have two versions."""

LEAST_SUM = 64
"""So many numbers are added up where a sum gets a nest of its own, and stores beside it another one."""


class _Copies(Struct):
    """Headers of loops of which there are several versions.

    Parameters
    ----------
    spare
        Run where a test fails.
    whole
        Run where sums are short: they do not go apart.
    large
        Run where sums are known to be long.
    """

    spare: set[BasicBlock] = field(default_factory=set)
    whole: set[BasicBlock] = field(default_factory=set)
    large: set[BasicBlock] = field(default_factory=set)


def split_loops(
    module: Module, function: Function, arrays: tuple[ArrayParameters, ...], left: Collection[BasicBlock] = ()
) -> tuple[list[BasicBlock], set[BasicBlock]]:
    """Take loops apart but those with headers in `left`; their headers, and those of copies for when a test fails."""
    taken: list[BasicBlock] = []
    copies = _Copies()
    while len(taken) + len(copies.whole) < MOST_SPLITS:
        scope = Scope(Program(module, arrays=arrays), function)
        outermost = [
            c
            for c in scope.loops.values()
            if c.parent is None and c.header not in {*left, *copies.spare, *copies.whole}
        ]
        if all(len(c.loop.children) < 2 for c in outermost) and all(
            c.depth < 3 for c in scope.loops.values()
        ):
            break
        accesses = Accesses(Reconstruction(scope.program))
        if any(_by_size(function, accesses, c, copies) for c in outermost if c.header not in copies.large):
            continue
        found = next((c for c in outermost if _split(function, accesses, c, copies)), None)
        if found is None:
            break
        taken.append(found.header)
    return taken, copies.spare


def _by_size(function: Function, accesses: Accesses, loop: LoopContext, copies: _Copies) -> bool:
    """Have a loop in two versions, for long sums beside stores and for short ones, where it may have either."""
    sums = dict(filter(None, (_sum_beside(accesses, loop, c) for c in _loops_in(loop))))
    tests = RunTimeTests()
    for inner in sums.values():
        depth = accesses.reconstruction.trip_count(inner)
        assert depth is not None
        if depth.constant is None:
            # Loops up to n have max(0, n) iterations.
            parts = next((a.values for a in depth.atoms() if isinstance(a, Maximum)), (depth,))
            tests.nonnegative.update({part - LEAST_SUM: None for part in parts if part.constant is None})
    if tests.is_empty or not all(
        is_known_before(accesses, s, loop) for e in tests.expressions() for s in e.symbols()
    ):
        return False
    if _is_independent(accesses, (loop, *sums)) is None:
        return False
    made = version_loop(
        function,
        loop.scope.view,
        loop.loop,
        lambda b: build_tests(b, accesses.reconstruction, tests, loop),
    )
    copies.whole.add(made[loop.header])
    copies.large.add(loop.header)
    close_loops(function)
    return True


def _is_independent(accesses: Accesses, loops: Iterable[LoopContext]) -> dict[Assumption, None] | None:
    """What it rests on that no iterations of loops depend on each other; None where some may."""
    assumptions: dict[Assumption, None] = {}
    for loop in loops:
        verdict = verdict_if_independent(accesses, loop)
        if verdict is None or verdict.verdict is not Verdict.PARALLEL or verdict.private:
            return None
        assumptions.update(dict.fromkeys(verdict.assumptions))
    return assumptions


def _split(function: Function, accesses: Accesses, loop: LoopContext, copies: _Copies) -> bool:
    """Take a loop apart before and behind those in it that add up, if that pays and may be."""
    view = loop.scope.view
    parts = parts_of(view, loop.loop)
    if parts is None:
        return False
    # Loops inside that go apart first.
    sums = dict(filter(None, (_sum_beside(accesses, loop, c) for c in _loops_in(loop))))
    heads = [part.header for part in parts.inside if isinstance(part, Part)]
    alone = [h for h in heads if len(parts.inside) > 1 and _gains(accesses, loop, h)]
    if any(_may_be_short(accesses, c) for c in sums.values()) and loop.header not in copies.large:
        sums = {}
    if not alone and not sums:
        return False
    assumptions = _is_independent(accesses, (loop, *sums))
    if assumptions is None:
        return False
    parameters = parameters_of(accesses, loop, frozenset())
    tests = run_time_tests(accesses, loop, assumptions, parameters)
    if isinstance(tests, str):
        return False
    header = loop.header
    if not tests.is_empty:
        made = version_loop(
            function, view, loop.loop, lambda b: build_tests(b, accesses.reconstruction, tests, loop)
        )
        copies.spare.add(made[header])
    for each, inner in sums.items():
        (own,) = _cut(function, each.header, [inner.header])
        alone.append(own)
    _cut(function, header, alone)
    close_loops(function)
    return True


def _cut(function: Function, header: BasicBlock, alone: list[BasicBlock]) -> list[BasicBlock]:
    """Cut a loop before and behind loops inside; the headers of the loops that these are in now."""
    parts = _parts_again(function, header)
    places = {parts.place_of(h) for h in alone}
    cuts = sorted({c for k in places for c in (k, k + 1) if 0 < c < len(parts.inside)}, reverse=True)
    made = {0: header}
    # From the last one on: what is left in front stays the first loop.
    for cut in cuts:
        made[cut] = distribute(function, _parts_again(function, header), cut)
    return [made[k] for k in sorted(places)]


def _may_be_short(accesses: Accesses, loop: LoopContext) -> bool:
    depth = accesses.reconstruction.trip_count(loop)
    return depth is None or depth.constant is None


def _loops_in(loop: LoopContext) -> list[LoopContext]:
    return [c for c in loop.scope.loops.values() if c.parent is loop]


def _sum_beside(
    accesses: Accesses, outer: LoopContext, loop: LoopContext
) -> tuple[LoopContext, LoopContext] | None:
    """A loop and the one in it that adds up, if stores stand beside it and it would have tiles without."""
    inside = _loops_in(loop)
    parts = parts_of(loop.scope.view, loop.loop)
    if parts is None or len(inside) != 1 or len(parts.inside) < 2 or inside[0].loop.children:
        return None
    inner, made = inside[0], accesses.reconstruction
    if any(made.trip_count(c) is None for c in (outer, loop, inner)) or isinstance(inner.counted, str):
        return None
    if not can_be_tiled(inner.counted):
        return None
    stores = [a for a in accesses.of(inner) if isinstance(a, Access) and a.is_write]
    if not stores or any(inner.iteration in a.offset.symbols() for a in stores):
        return None
    return (loop, inner) if tile_size(accesses, outer, loop, inner) is not None else None


def _gains(accesses: Accesses, loop: LoopContext, header: BasicBlock) -> bool:
    """Whether a loop inside adds up elements that the one in it and the one around it choose."""
    scope = loop.scope
    outer = next(c for c in scope.loops.values() if c.header is header)
    inside = [c for c in scope.loops.values() if c.parent is outer]
    if len(inside) != 1 or interchangeable(scope.view, outer.loop, inside[0].loop) is None:
        return False
    return adds_up(accesses, outer, inside[0])


def _parts_again(function: Function, header: BasicBlock) -> Parts:
    """The parts of a loop in the function as it is now."""
    view = cfg_of(function)
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    assert loop is not None
    parts = parts_of(view, loop)
    assert parts is not None, "a loop that was taken apart is one of fewer parts"
    return parts
