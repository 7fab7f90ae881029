"""Whether the loops inside of a parallel loop, or of a kernel, are better vectorized than iterations, or threads.

Lanes along the rows of an array, each walking through its row, touch memory far apart in every step, where the elements
of one row are neighbours. If all lanes walk in step (the inner loop is uniform) and most of what they access is not
together, iteration after iteration is left to LLVM, whose vectorizer takes such inner loops: those that carry nothing
but counters and totals. What is looked up in a table is together neither way, and says nothing. A few steps are no row
either. Of the innermost loops those in the most others count: a loop beside a nest, such as one that copies what the
nest reads, takes little of the time.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.loops.along_rows import (
    adds_in_any_order,
    carries_only_totals,
    is_along,
    is_along_rows,
    is_short,
)
from weft.analysis.loops.own_copies import copies_own, is_on_stack
from weft.analysis.loops.parallel_nests import NEAR
from weft.analysis.loops.running_values import side_by_side
from weft.graph.loops import Loop, loop_forest
from weft.ir import Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.layout import DataLayout
from weft.machine.vecmath import math_function
from weft.transform.numbers.edge_choices import EdgeChoice, edge_choices

CALL = 8
"""A function of mathematics in a loop that adds up in order, which is called element by element there: so many accesses
of lanes that are far apart cost less. Exponentials of a softmax take 18 cycles one by one, and 2 in lanes."""


_STEPS = 8
"""In how many steps a place may be computed from what is chosen at an edge."""


def prefers_inner_loops(function: Function, divergence: Divergence, *, reordered: bool = False) -> bool:
    """Whether the uniform innermost loops of `function` go along rows that are far apart from lane to lane, mostly.

    With `reordered`, loops along rows count whose totals LLVM may add up in lanes: in kernels, lanes that look far
    apart may turn out to be neighbours. What loops access that add up in order speaks for lanes, as nothing else makes
    vectors of them, and what they call does even more. Where a loop along rows is in no other, one row of each lane is
    enough, be what it meets with the same for all: a matrix times a vector.
    """
    layout = function.layout
    view = cfg_of(function)
    ranges = divergence.engine.ranges
    far = near = 0
    inside_edges: dict[Instruction, EdgeChoice] | None = None
    innermost = [
        loop for loop in loop_forest(view.cfg).loops if not (loop.children or is_short(loop, view, ranges))
    ]
    deepest = max((loop.depth for loop in innermost), default=0)
    for loop in innermost:
        if loop.depth < deepest or any(divergence.is_divergent_branch(view.blocks[b]) for b in loop.exiting):
            continue
        if not (carries_only_totals(loop, view) or _is_in_a_walk(loop, view, divergence)):
            continue
        in_order = not (adds_in_any_order(loop, view) or side_by_side(loop, view))
        if reordered and not in_order and not is_along_rows(loop, view, layout):
            continue
        # What all lanes share costs little either way. In a loop around, rows of lanes are near when they come again.
        in_one_walk = reordered and loop.parent is None
        inside = {view.blocks[b] for b in loop.blocks}
        if copies_own(inside, layout):
            continue
        for access in (i for block in inside for i in block.instructions):
            if in_order and math_function(access.callee_name or "") is not None:
                near += CALL
            if access.op not in ("load", "store") or is_on_stack(access, layout):
                continue
            if in_one_walk and divergence.is_uniform(access.pointer):
                continue
            if _is_near(access, divergence, layout) or in_order:
                near += 1
            elif is_along(access, inside, layout):
                if inside_edges is None:
                    inside_edges = {c.instruction: c for c in edge_choices(function, divergence)}
                if _is_near_inside_edges(access, divergence, layout, inside_edges):
                    near += 1
                else:
                    far += 1
    return far > near


def _is_in_a_walk(loop: Loop, view: CFGView, divergence: Divergence) -> bool:
    """Whether a loop is in one that lanes leave at different times, which they had better do one after the other."""
    around = loop.parent
    while around is not None:
        if any(divergence.is_divergent_branch(view.blocks[b]) for b in around.exiting):
            return True
        around = around.parent
    return False


def _is_near(access: Instruction, divergence: Divergence, layout: DataLayout) -> bool:
    """Whether lanes access one element, or elements next to each other."""
    shape, size = divergence.shape(access.pointer), layout.size(access.accessed_type)
    return all(isinstance(s, int) and abs(s) <= NEAR * size for s in shape.strides or (None,))


def _is_near_inside_edges(
    access: Instruction, divergence: Divergence, layout: DataLayout, choices: dict[Instruction, EdgeChoice]
) -> bool:
    """Whether lanes access neighbours where none is at an edge: those groups have a version of their own."""
    if not choices or len(divergence.shape(access.pointer).strides) != 1:
        return False
    stride = _stride_inside_edges(access.pointer, divergence, layout, choices, _STEPS)
    return stride is not None and abs(stride) <= NEAR * layout.size(access.accessed_type)


def _stride_inside_edges(
    value: Value,
    divergence: Divergence,
    layout: DataLayout,
    choices: dict[Instruction, EdgeChoice],
    steps: int,
) -> int | None:
    """How far lanes are apart where each choice at an edge is what it usually is; None where that is not known."""
    shape = divergence.shape(value)
    if shape.is_strided:
        stride = shape.strides[0]
        return stride if isinstance(stride, int) else None
    if not isinstance(value, Instruction) or not steps:
        return None
    if value in choices:
        return _stride_inside_edges(choices[value].usual, divergence, layout, choices, steps - 1)
    if value.op not in ("add", "sub", "sext", "zext", "getelementptr"):
        return None
    parts = [_stride_inside_edges(v, divergence, layout, choices, steps - 1) for v in value.operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if value.op == "getelementptr":
        # Of places in arrays of one element type; others say nothing here.
        size = layout.size(value.source_type) if len(parts) == 2 else None
        return None if size is None else known[0] + size * known[1]
    return known[0] - known[1] if value.op == "sub" else sum(known)
