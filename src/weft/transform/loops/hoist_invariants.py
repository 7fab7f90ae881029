"""Loop-invariant computation leaves its loop, as far as it has no effect and cannot trap.

LLVM offers this only within its pipelines, which come after vectorization; before, it shows bounds of loops and strides
of addresses for what they are.

Precondition: loops have preheaders; those that have none are left alone. Postcondition: what is computed from values
outside of a loop, cannot trap and has no effect, stands outside of it. Preserves the program under FR.
"""

from __future__ import annotations

from weft.graph.cfg import reverse_postorder
from weft.graph.loops import loop_forest
from weft.ir import Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import is_speculatable


def hoist_invariants(function: Function) -> int:
    """Move invariant instructions of each loop of `function` into its preheader; how many were moved."""
    view = cfg_of(function)
    order = reverse_postorder(view.cfg.succs)
    moved = 0
    for loop in reversed(loop_forest(view.cfg).loops):
        outside = [p for p in view.cfg.preds[loop.header] if p not in loop.blocks]
        if len(outside) != 1 or len(view.cfg.succs[outside[0]]) != 1:
            continue
        preheader = view.blocks[outside[0]]
        inside = {view.blocks[b] for b in loop.blocks}
        for block in (view.blocks[b] for b in order if b in loop.blocks):
            for instruction in list(block.non_phis()):
                if is_speculatable(instruction) and not any(
                    isinstance(v, Instruction) and v.block in inside for v in instruction.used_values()
                ):
                    block.instructions.remove(instruction)
                    preheader.insert_before(preheader.terminator, instruction)
                    moved += 1
    return moved
