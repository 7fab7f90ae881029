"""Accesses with which threads walk through memory, each on its own way.

A thread that goes through a row of neighbours has the cache lines that it touches to itself for some iterations, and
the processor reads ahead of it. Lanes that do so far from each other, as with a part of an array for each, touch a line
each in every step: more lines than the nearest cache has room for, in more places than are read ahead of. What loops
around come back to, as a small matrix that all rounds read, stays near: such accesses are no walks.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.loops.along_rows import changes_in, is_for_the_end
from weft.analysis.loops.parallel_nests import NEAR, depends_on
from weft.analysis.memory.far_steps import far_step, step_of
from weft.analysis.memory.linear_locations import linear_location
from weft.analysis.shapes import Shape
from weft.graph.loops import Loop, LoopForest
from weft.ir import ConstInt, Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout

FAR = 16
"""Elements from lane to lane from which on what is between is not read with them."""


def is_far(shape: Shape, size: int) -> bool:
    """Whether lanes at addresses of this shape are so far apart that wide accesses would not pay."""
    return any(isinstance(s, int) and abs(s) > FAR * size for s in shape.strides)


def walks_apart(access: Instruction, divergence: Divergence, *, in_loop: bool) -> bool:
    """Whether lanes walk on by themselves, far apart, or, as iterations of a loop, nobody knows how far.

    Threads of kernels are numbered so that they access neighbours, and what they compute may turn out to be that.
    """
    if not access.is_plain_access:
        return False
    layout, form = divergence.function.layout, divergence.access_form(access).form
    if form is Form.STRIDED:
        if not is_far(divergence.shape(access.pointer), layout.size(access.accessed_type)):
            return False
    elif form is not Form.GATHER or not in_loop:
        return False
    return walks_on(access, divergence.facts.view, divergence.facts.propagation.loops, layout)


def walks_on(access: Instruction, view: CFGView, loops: LoopForest, layout: DataLayout) -> bool:
    """Whether the address of a load or store goes on in its innermost loop, and all loops around move it, too."""
    assert access.block is not None
    loop = loops.innermost[view.index[access.block]]
    if loop is None or len(loop.latches) != 1:
        return False
    location = linear_location(access.pointer, layout)
    if isinstance(location.base, Instruction) and location.base.op == "alloca":
        return False
    if not _steps_along(access, loop, view, layout) and far_step(access, view, loops, layout) is None:
        return False
    around = loop.parent
    while around is not None:
        counters = set(view.blocks[around.header].phis())
        if not depends_on(
            (location.base, *location.terms), counters, {view.blocks[b] for b in around.blocks}
        ):
            return False
        around = around.parent
    return True


def _steps_along(access: Instruction, loop: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether the next iteration of a loop accesses an element nearby, but not the same."""
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    inside = {view.blocks[b] for b in loop.blocks}
    location = linear_location(access.pointer, layout)
    if changes_in(location.base, inside):
        return False
    along = 0
    for index, scale in location.terms.items():
        if is_for_the_end(index):
            continue
        counter = index
        while isinstance(counter, Instruction) and counter.op in ("sext", "zext"):
            counter = counter.operands[0]
        if isinstance(counter, Instruction) and counter.is_phi and counter.block is header:
            step = step_of(counter, latch)
            if not isinstance(step, ConstInt):
                return False
            along += scale * step.signed
        elif changes_in(index, inside):
            return False
    return 0 < abs(along) <= NEAR * layout.size(access.accessed_type)
