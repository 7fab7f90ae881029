"""Nests whose accesses are shared by the iterations of two loops, as those of a product of matrices.

In ``for i: for j: for k: c[i, j] += a[i, k] * b[k, j]`` a row of b is the same for all i, and an element of a for all
j: a lane group of several i and j loads each for all of them. A group along j alone loads a row of b for each i.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.loops.parallel_nests import depends_on
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout


def shared_row(
    function: Function, view: CFGView, outer: ParallelLoop, inner: ParallelLoop, layout: DataLayout
) -> int:
    """The size of elements that a loop inside of `inner` loads along it, the same for all of `outer`; 0 for none."""
    inside = set(inner.loop.blocks)
    deeper: set[BasicBlock] = set()
    for loop in loop_forest(view.cfg).loops:
        if view.blocks[loop.header] in inside and view.blocks[loop.header] is not inner.loop.header:
            deeper |= {view.blocks[b] for b in loop.blocks}
    around = set(outer.loop.blocks)
    rows: set[int] = set()
    shared = False
    for block in deeper:
        for access in block.instructions:
            if access.op not in ("load", "store"):
                continue
            place = linear_location(access.pointer, layout)
            size = layout.store_size(access.accessed_type)
            values = (place.base, *place.terms)
            by_outer, by_inner = (
                depends_on(values, counters, around) for counters in (_phis(outer), _phis(inner))
            )
            if by_inner and not by_outer:
                if _step(place.terms, inner) != size:
                    return 0
                rows.add(size)
            shared |= by_outer and not by_inner
    return max(rows) if rows and shared else 0


def _phis(loop: ParallelLoop) -> set[Value]:
    return {counter.phi for counter in loop.counters}


def _step(terms: Mapping[Value, int], loop: ParallelLoop) -> int:
    """How many bytes an address moves from iteration to iteration, forwards or backwards."""
    steps = {counter.phi: counter.step for counter in loop.counters}
    total = 0
    for value, scale in terms.items():
        extended = isinstance(value, Instruction) and value.op in ("zext", "sext")
        source = value.operands[0] if extended and isinstance(value, Instruction) else value
        if isinstance(source, Instruction) and source in steps:
            total += scale * steps[source]
    return abs(total)
