"""Loop-closed form: what a loop computes is used behind it only by φs of its exit blocks.

Precondition: loops have exit blocks of their own, which only the loop branches to. Postcondition: the function is
loop-closed, with φs of one value at the exits where there were none. Nothing else changes: the φ tells that threads
which left the loop in different iterations have different values. Preserves the program under FR and OBL.
`open_needless` removes φs that tell nothing: what stood in a loop when it was closed may have left it since.
"""

from __future__ import annotations

from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses


def close_loops(function: Function) -> int:
    """Give each value of a loop that is used behind it φs at the exits; for how many values."""
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    closed, forest = 0, loop_forest(view.cfg)
    # Inner loops first: the φs behind them are values of the loops around, and all else of theirs stays inside.
    for loop in reversed(forest.loops):
        inside = {view.blocks[b] for b in loop.blocks}
        for number in sorted(b for b in loop.blocks if forest.innermost[b] is loop):
            for value in list(view.blocks[number]):
                users = [u for u in dict.fromkeys(value.instruction_users()) if _is_outside(value, u, inside)]
                if users:
                    _close(value, users, loop, view, dominators)
                    closed += 1
    return closed


def open_needless(function: Function) -> int:
    """Remove φs of one value that no loop computes which is left on the way to them; how many."""
    view = cfg_of(function)
    innermost = loop_forest(view.cfg).innermost
    removed = 0
    for number, block in enumerate(view.blocks):
        for phi in list(block.phis()):
            value = phi.operands[0]
            if any(v is not value for v in phi.operands) or value is phi:
                continue
            made_in = value.block if isinstance(value, Instruction) else None
            around = innermost[view.index[made_in]] if made_in is not None else None
            if around is None or number in around.blocks:
                phi.replace_all_uses(value)
                phi.erase()
                removed += 1
    return removed


def is_loop_closed(function: Function) -> bool:
    """Whether what loops compute is used behind them by φs of their exit blocks alone."""
    view = cfg_of(function)
    for loop in loop_forest(view.cfg).loops:
        inside = {view.blocks[b] for b in loop.blocks}
        values = (value for block in inside for value in block)
        if any(_is_outside(value, user, inside) for value in values for user in value.instruction_users()):
            return False
    return True


def _is_outside(value: Instruction, user: Instruction, inside: set[BasicBlock]) -> bool:
    if user.is_phi:
        return any(v is value and source not in inside for v, source in user.incoming())
    return user.block not in inside


def _close(
    value: Instruction, users: list[Instruction], loop: Loop, view: CFGView, dominators: DominatorTree
) -> None:
    assert value.block is not None
    here = view.index[value.block]
    reaching = ReachingDefinition(value.type, {value.block: value}, value.name)
    for number in loop.exits:
        if dominators.dominates(here, number):
            block = view.blocks[number]
            phi = block.insert(0, Instruction("phi", value.type, name=value.name, loc=value.loc))
            for source in block.edge_sources:
                phi.add_incoming(value, source)
            reaching.at_start[block] = phi
    rewrite_uses(value, users, reaching)
