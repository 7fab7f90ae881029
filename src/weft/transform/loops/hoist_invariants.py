"""Loop-invariant computation leaves its loop, as far as it has no effect and cannot trap.

LLVM offers this only within its pipelines, which come after vectorization; before, it shows bounds of loops and strides
of addresses for what they are.

Precondition: loops have preheaders; those that have none are left alone. Postcondition: what is computed from values
outside of a loop, cannot trap and has no effect, stands outside of it. Preserves the program under FR.
"""

from __future__ import annotations

from weft.graph.cfg import reverse_postorder
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
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


def hoist_bounds(function: Function) -> int:
    """Move what the tests of loops compare their counters with into preheaders; how many instructions were moved.

    A loop's header runs whenever the loop is entered, so what its test needs is computed once in any case.
    """
    view = cfg_of(function)
    moved = 0
    for loop in reversed(loop_forest(view.cfg).loops):
        outside = [p for p in view.cfg.preds[loop.header] if p not in loop.blocks]
        header = view.blocks[loop.header]
        if len(outside) != 1 or len(view.cfg.succs[outside[0]]) != 1 or len(header.terminator.operands) != 1:
            continue
        test, preheader = header.terminator.operands[0], view.blocks[outside[0]]
        inside = {view.blocks[b] for b in loop.blocks}
        if not isinstance(test, Instruction) or test.op != "icmp" or test.block is not header:
            continue
        for operand in test.operands:
            needed = _computed_in(operand, header, inside)
            for instruction in header.instructions.copy() if needed else ():
                if instruction in needed:
                    header.instructions.remove(instruction)
                    preheader.insert_before(preheader.terminator, instruction)
                    moved += 1
    return moved


def _computed_in(value: Value, block: BasicBlock, inside: set[BasicBlock]) -> set[Instruction]:
    """What a value is computed by in a block, if from outside of a loop; nothing if it is not."""
    found: set[Instruction] = set()
    work = [value]
    while work:
        one = work.pop()
        if not isinstance(one, Instruction) or one.block not in inside or one in found:
            continue
        if one.block is not block or one.is_phi or not is_speculatable(one) or one.op == "load":
            return set()
        found.add(one)
        work += one.used_values()
    return found
