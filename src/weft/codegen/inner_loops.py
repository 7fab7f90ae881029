"""Whether the loops inside of a parallel loop are better vectorized than the loop itself.

Lanes along the rows of an array, each walking through its row, touch memory far apart in every step, where the elements
of one row are neighbours. If all lanes walk in step (the inner loop is uniform) and most of what they access is not
together, iteration after iteration is left to LLVM, whose vectorizer takes such inner loops.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.loops.parallel_nests import NEAR
from weft.analysis.memory.alias import locate
from weft.graph.loops import loop_forest
from weft.ir import Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.layout import DataLayout


def prefers_inner_loops(function: Function, divergence: Divergence) -> bool:
    """Whether most accesses of the uniform innermost loops of `function` are far apart from lane to lane."""
    layout = function.layout
    view = cfg_of(function)
    far = near = 0
    for loop in loop_forest(view.cfg).loops:
        if loop.children or any(divergence.is_divergent_branch(view.blocks[b]) for b in loop.exiting):
            continue
        for block in (view.blocks[b] for b in loop.blocks):
            for access in block.instructions:
                if access.op in ("load", "store") and not _is_on_stack(access, layout):
                    together = _is_near(access, divergence, layout)
                    near, far = near + together, far + (not together)
    return far > near


def _is_on_stack(access: Instruction, layout: DataLayout) -> bool:
    """Whether an access is one to an object of the iteration itself: of these lanes have theirs side by side."""
    base = locate(access.pointer, layout).base
    return isinstance(base, Instruction) and base.op == "alloca"


def _is_near(access: Instruction, divergence: Divergence, layout: DataLayout) -> bool:
    """Whether lanes access one element, or elements next to each other."""
    shape, size = divergence.shape(access.pointer), layout.size(access.accessed_type)
    return all(isinstance(s, int) and abs(s) <= NEAR * size for s in shape.strides or (None,))
