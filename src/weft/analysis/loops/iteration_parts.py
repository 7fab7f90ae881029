"""Parts of an iteration with one way in and one way out: who comes to the first block comes to the last one, and back.

A part is for what surrounds accesses, such as copies of what they access: iterations that come to none of them, as
under a condition, do not come to it. Facts are about a function in canonical form, whose loops end.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import CountedLoop
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock
from weft.ir.cfg_view import CFGView


def part_around(
    view: CFGView, loop: Loop, counted: CountedLoop, blocks: Sequence[BasicBlock]
) -> tuple[BasicBlock, BasicBlock] | None:
    """The blocks in no inner loop between which an iteration comes to all of some others; the smallest part of it."""
    dominators = dominator_tree(view.cfg)
    innermost = loop_forest(view.cfg).innermost
    numbers = [view.index[b] for b in blocks]
    header, latch = view.index[counted.header], view.index[counted.latch]
    own = [b for b in loop.blocks if innermost[b] is loop and b != header]
    begins = [b for b in own if all(dominators.dominates(b, n) for n in numbers)]
    # Of those that dominate all, the last one is dominated by the others.
    begins.sort(key=lambda b: sum(dominators.dominates(other, b) for other in begins), reverse=True)
    for begin in begins:
        for end in _ends(view, loop, dominators, begin, latch, own, numbers):
            return view.blocks[begin], view.blocks[end]
    return None


def _ends(
    view: CFGView,
    loop: Loop,
    dominators: DominatorTree,
    begin: int,
    latch: int,
    own: Sequence[int],
    numbers: Sequence[int],
) -> list[int]:
    """The blocks that each way from one comes to, behind all that are numbered; the first one first."""
    found: dict[int, int] = {}
    for end in own:
        before = _reached(view, loop, begin, end)
        if not dominators.dominates(begin, end) or latch in before:
            continue
        behind = _reached(view, loop, end, latch) | {latch}
        if any(n != end and (n in behind or n not in before) for n in numbers):
            continue
        found[end] = len(before)
    return sorted(found, key=lambda b: found[b])


def _reached(view: CFGView, loop: Loop, begin: int, end: int) -> set[int]:
    """The blocks of an iteration that are reached from one without coming to another, the first one among them."""
    if begin == end:
        return set()
    found, work = {begin}, [begin]
    while work:
        for target in view.cfg.succs[work.pop()]:
            if target in loop.blocks and target not in (end, loop.header) and target not in found:
                found.add(target)
                work.append(target)
    return found
