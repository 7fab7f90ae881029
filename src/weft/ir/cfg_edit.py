"""Edits of the control flow, and the small clean-ups that follow them.

Contract of each function: the program is well-formed before and after (`weft.ir.verifier`) and means the same,
except where the docstring says what the caller still has to do. Block predicates are kept: both halves of a
split block have the block's predicate, a block on a split edge has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from weft.graph.cfg import reachable
from weft.ir.block import BasicBlock
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import is_removable
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.types import VOID
from weft.ir.values import Value


def split_block(at: Instruction, name: str = "") -> BasicBlock:
    """Cut the block of `at` before it; return the new block, which begins with `at` and follows the old one.

    A predicate that is defined in the second half holds there only: what precedes its definition is total.
    """
    block = at.block
    assert block is not None
    assert not at.is_phi, "a block is not split among its φs"
    function = at.function
    position = block.instructions.index(at)
    rest = function.add_block(name or f"{block.name}.rest", after=block)
    moved = block.instructions[position:]
    del block.instructions[position:]
    for instruction in moved:
        rest.append(instruction)
    for successor in rest.successors:
        successor.replace_phi_source(block, rest)
    _append_branch(block, rest, at)
    predicate = block.predicate
    if predicate is not None:
        rest.set_predicate(predicate)
        if isinstance(predicate, Instruction) and predicate.block is rest:
            block.set_predicate(None)
    return rest


def split_edge(source: BasicBlock, target: BasicBlock, name: str = "") -> BasicBlock:
    """Put a new block on the edge from `source` to `target`; return it. Parallel edges all go through it."""
    assert source.function is not None
    middle = source.function.add_block(name or f"{source.name}.{target.name}", after=source)
    source.replace_successor(target, middle)
    for phi in target.phis():
        first = phi.blocks.index(source)
        for i in reversed(range(first + 1, len(phi.blocks))):
            if phi.blocks[i] is source:
                phi.remove_incoming(i)
        phi.set_block(first, middle)
    _append_branch(middle, target, source.terminator)
    return middle


def arriving(phi: Instruction, make: Callable[[Value, BasicBlock], Value]) -> list[tuple[Value, BasicBlock]]:
    """What `make` builds of each value that arrives at a φ; once for each block, however many edges lead from it."""
    made: dict[BasicBlock, Value] = {}
    for value, source in list(phi.incoming()):
        if source not in made:
            made[source] = make(value, source)
    return [(made[source], source) for source in phi.blocks]


def _append_branch(block: BasicBlock, target: BasicBlock, like: Instruction) -> None:
    block.append(Instruction("br", VOID, blocks=(target,), loc=like.loc))


def remove_unreachable_blocks(function: Function) -> int:
    """Remove the blocks that the entry does not reach; how many."""
    view = cfg_of(function)
    reached = reachable(view.cfg.succs)
    dead = {b for b, seen in zip(view.blocks, reached, strict=True) if not seen}
    if dead:
        function.remove_blocks(dead)
    return len(dead)


def remove_dead_instructions(function: Function) -> int:
    """Remove instructions without effect whose results nothing uses, cycles of φs included; how many."""
    live: set[Instruction] = set()
    pending: list[Value] = []
    for block in function.blocks:
        if block.predicate is not None:
            pending.append(block.predicate)
        pending += [i for i in block.instructions if not is_removable(i)]
    while pending:
        value = pending.pop()
        if isinstance(value, Instruction) and value not in live:
            live.add(value)
            pending += value.used_values()
    dead = [i for i in function.instructions() if i not in live]
    for instruction in dead:
        instruction.drop_operands()
    for instruction in dead:
        instruction.erase()
    return len(dead)


def replace_and_erase(instruction: Instruction, value: Value) -> None:
    """Let all users of `instruction` use `value`, and remove it."""
    instruction.replace_all_uses(value)
    instruction.erase()


def lead_through(sources: Collection[BasicBlock], target: BasicBlock, name: str) -> BasicBlock:
    """Put a new block before `target`, through which its edges from `sources` go; return it.

    It has no predicate.
    """
    assert target.function is not None
    made = target.function.add_block(name)
    for phi in list(target.phis()):
        arriving = [(value, block) for value, block in phi.incoming() if block in sources]
        joined = made.append(Instruction("phi", phi.type, name=phi.name, flags=phi.flags, loc=phi.loc))
        for value, block in arriving:
            joined.add_incoming(value, block)
        for i in reversed(range(len(phi.blocks))):
            if phi.blocks[i] in sources:
                phi.remove_incoming(i)
        phi.add_incoming(joined, made)
    loc = None
    for source in sources:
        loc = loc or source.terminator.loc
        source.replace_successor(target, made)
    made.append(Instruction("br", VOID, blocks=(target,), loc=loc))
    return made
