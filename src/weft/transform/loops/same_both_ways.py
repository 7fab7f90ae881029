"""What both ways of a branch compute alike is computed before it.

    c ? (j1 = j + 1; ...) : (j2 = j + 1; ...)        j1 = j + 1
    j = φ(j1, j2)                                    c ? ... : ...

So a counter that is raised on both ways counts (TSVC's s124).

Precondition: any. Postcondition: no φ merges equal speculatable computations of values that are there before its ways
part. Preserves the program under FR and OBL: each computation is speculatable, and has the flags of both.
"""

from __future__ import annotations

from weft.graph.dominators import DominatorTree, dominator_tree
from weft.ir import Builder, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable


def compute_once(function: Function) -> int:
    """Compute such values before the ways part; how many."""
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    found = 0
    for number, block in enumerate(view.blocks):
        if not dominators.reaches(number) or dominators.idom[number] < 0:
            continue
        for phi in list(block.phis()):
            found += _compute_once(phi, dominators.idom[number], view, dominators)
    return found


def _compute_once(phi: Instruction, above: int, view: CFGView, dominators: DominatorTree) -> bool:
    computed = list(dict.fromkeys(phi.operands))
    if len(computed) < 2:
        return False
    instructions = [v for v in computed if isinstance(v, Instruction)]
    first = instructions[0] if instructions else None
    if (
        first is None
        or len(instructions) < len(computed)
        or not all(_is_same(first, i) for i in instructions)
    ):
        return False
    if not all(
        i.block is not None
        and view.index[i.block] != above
        and dominators.dominates(above, view.index[i.block])
        for i in instructions
    ):
        return False
    if not all(_is_there(v, above, view, dominators) for v in first.operands):
        return False
    made = first.clone()
    made.flags = tuple(f for f in first.flags if all(f in i.flags for i in instructions))
    made.metadata = {}
    Builder(before=view.blocks[above].terminator).insert(made)
    for instruction in instructions:
        instruction.replace_all_uses(made)
        instruction.erase()
    phi.replace_all_uses(made)
    phi.erase()
    return True


def _is_same(a: Instruction, b: Instruction) -> bool:
    """Whether two instructions compute the same whenever both may be run."""
    return (
        a.op == b.op
        and a.type == b.type
        and a.attrs == b.attrs
        and len(a.operands) == len(b.operands)
        and all(
            x is y or (not isinstance(x, Instruction) and x == y)
            for x, y in zip(a.operands, b.operands, strict=True)
        )
        and a.op != "call"
        and is_speculatable(a)
    )


def _is_there(value: Value, above: int, view: CFGView, dominators: DominatorTree) -> bool:
    if not isinstance(value, Instruction):
        return True
    return value.block is not None and dominators.dominates(view.index[value.block], above)
