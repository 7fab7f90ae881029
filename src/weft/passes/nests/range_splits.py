"""Loops of which one iteration stands in the way of the others, cut there (``parallel="auto"``, ``--loop auto``).

``for j: p[i, j] = min(p[i, j], p[i, k] + p[k, j])`` becomes a loop up to k, iteration k, and a loop from k + 1 on.
Nothing is tested for it: iterations stay in their order.
"""

from __future__ import annotations

from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.splitting_points import SplittingPoint, splitting_point
from weft.analysis.symbolic.integer_sets import has_isl
from weft.ir import BasicBlock, Function, Module
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.split_range import can_be_split, split_range

MOST_SPLITS = 6
"""Loops of one function that are cut."""


def split_ranges(
    module: Module, function: Function, arrays: tuple[ArrayParameters, ...], *, outer: bool
) -> list[BasicBlock]:
    """Cut loops of a function; the headers of these.

    Parameters
    ----------
    outer
        Whether loops around others are cut, too: all cores could share them.
    """
    cut: list[BasicBlock] = []
    seen: set[BasicBlock] = set()
    while has_isl() and len(cut) < MOST_SPLITS:
        scope = Scope(Program(module, arrays=arrays), function)
        accesses = Accesses(Reconstruction(scope.program))
        found: tuple[LoopContext, SplittingPoint] | None = None
        for loop in reversed(scope.loops.values()):
            if loop.header in seen or _is_promised(loop) or (loop.loop.children and not outer):
                continue
            seen.add(loop.header)
            point = splitting_point(accesses, loop)
            if point is not None and can_be_split(point.loop):
                found = loop, point
                break
        if found is None:
            break
        loop, point = found
        headers = split_range(function, point.loop, point.value, point.offset)
        seen.update(headers)
        close_loops(function)
        cut.append(loop.header)
    return cut


def _is_promised(loop: LoopContext) -> bool:
    view = loop.scope.view
    blocks = tuple(view.blocks[b] for b in loop.loop.blocks)
    return loop_promises(view.blocks[loop.loop.latches[0]], blocks).parallel
