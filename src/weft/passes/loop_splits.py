"""Parallel loops over several loops, of which one adds up: each gets a loop of its own (distribution).

``for i: (for j: c[i, j] *= beta; for k: for j: c[i, j] += a[i, k] * b[k, j])`` becomes two nests. The second one is
perfect then, so its loops can change places (`loop_order`). Iterations of the loop do not depend on each other, so all
of them may do the first part before any does the second.

What this rests on is tested before the loop; where a test fails a copy of it runs as it was written.
"""

from __future__ import annotations

from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import Verdict, loop_verdict
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.passes.loop_order import adds_up
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.distribute import Parts, distribute, parts_of
from weft.transform.loops.interchange import interchangeable
from weft.transform.loops.version_loop import version_loop

MOST_SPLITS = 4
"""Loops of one function that are taken apart."""


def split_loops(
    module: Module, function: Function, arrays: tuple[ArrayParameters, ...]
) -> tuple[list[BasicBlock], set[BasicBlock]]:
    """Take loops apart; the headers of these, and of the copies that run where a test fails."""
    taken: list[BasicBlock] = []
    spare: set[BasicBlock] = set()
    while len(taken) < MOST_SPLITS:
        scope = Scope(Program(module, arrays=arrays), function)
        outermost = [c for c in scope.loops.values() if c.parent is None and c.header not in spare]
        if all(len(c.loop.children) < 2 for c in outermost):
            break
        accesses = Accesses(Reconstruction(scope.program))
        found = next((c for c in outermost if _split(function, accesses, c, spare)), None)
        if found is None:
            break
        taken.append(found.header)
    return taken, spare


def _split(function: Function, accesses: Accesses, loop: LoopContext, spare: set[BasicBlock]) -> bool:
    """Take a loop apart before and behind those in it that add up, if that pays and may be."""
    view = loop.scope.view
    parts = parts_of(view, loop.loop)
    if parts is None or len(parts.inside) < 2:
        return False
    alone = [k for k, part in enumerate(parts.inside) if _gains(accesses, loop, part.header)]
    if not alone:
        return False
    verdict = loop_verdict(accesses, loop)
    if verdict.verdict is not Verdict.PARALLEL or verdict.private or verdict.dependences is None:
        return False
    if verdict.dependences.found:
        return False
    parameters = parameters_of(accesses, loop, verdict.private)
    tests = run_time_tests(accesses, loop, verdict.assumptions, parameters)
    if isinstance(tests, str):
        return False
    header = loop.header
    if not tests.is_empty:
        copies = version_loop(
            function, view, loop.loop, lambda b: build_tests(b, accesses.reconstruction, tests, loop)
        )
        spare.add(copies[header])
    # Before and behind each that gains, from the last one on: what is left in front stays the first loop.
    cuts = sorted({c for k in alone for c in (k, k + 1) if 0 < c < len(parts.inside)}, reverse=True)
    for cut in cuts:
        distribute(function, _parts_again(function, header), cut)
    close_loops(function)
    return True


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
