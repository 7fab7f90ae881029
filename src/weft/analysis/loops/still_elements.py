"""Loops along rows that read, again and again, an element of the array that they store to.

    for j in range(n): if d[i, k] + d[k, j] < d[i, j]: d[i, j] = ...

Iteration k may store d[i, k], so LLVM's vectorizer leaves the loop in order: its test whether that element is outside
of the row fails each time. Facts about one function, by what addresses look like: whether both are of one row is found
out later (`weft.analysis.sequential.splitting_points`).
"""

from __future__ import annotations

from weft.analysis.loops.along_rows import changes_in, is_along
from weft.analysis.loops.counted_loops import counted_loop
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop
from weft.ir import Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_read, may_write
from weft.ir.layout import DataLayout
from weft.machine.targets import Isa


def reads_still_element(loop: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether an innermost loop that counts stores along a row, and reads one element of that array each time."""
    if loop.children or isinstance(counted_loop(view, loop), str):
        return False
    inside = {view.blocks[n] for n in loop.blocks}
    accesses = [i for block in inside for i in block.instructions if may_read(i) or may_write(i)]
    if not all(i.is_plain_access and is_along(i, inside, layout) for i in accesses):
        return False

    def is_still(access: Instruction) -> bool:
        terms = linear_location(access.pointer, layout).terms
        return not any(isinstance(index, Instruction) and changes_in(index, inside) for index in terms)

    stored = {
        linear_location(i.pointer, layout).base for i in accesses if i.op == "store" and not is_still(i)
    }
    return any(
        i.op == "load" and linear_location(i.pointer, layout).base in stored and is_still(i) for i in accesses
    )


def stores_one_by_one(loop: Loop, view: CFGView, layout: DataLayout, isa: Isa) -> bool:
    """Whether lanes would store one by one: under a condition, without masks for that, where nothing is loaded.

    What has been loaded can be stored back instead.
    """
    above = dominator_tree(view.cfg)
    accesses = [
        (i, linear_location(i.pointer, layout), all(above.dominates(number, latch) for latch in loop.latches))
        for number in loop.blocks
        for i in view.blocks[number].instructions
        if i.op in ("load", "store")
    ]
    loaded = [place for i, place, _ in accesses if i.op == "load"]
    return any(
        i.op == "store"
        and not always
        and place not in loaded
        and not isa.masks_memory(8 * layout.size(i.accessed_type))
        for i, place, always in accesses
    )
