"""A loop over several loops becomes several loops (distribution, loop fission).

    for i: (for j: A; for k: B)        for i: for j: A;  for i: for k: B

Precondition: `parts_of` says that the loop counts and holds nothing but loops, one behind the other, and what they need
to begin. The caller knows that its iterations are independent of each other. Postcondition: of the loop there are two,
the first with the loops up to a place, the second, behind it, with the others. Preserves the program under FR.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, Function
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.cfg_view import CFGView
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import may_read, may_trap, may_write


@dataclass(frozen=True, slots=True)
class Part:
    """A loop inside: the block before it, its header, and the block behind it."""

    before: BasicBlock
    header: BasicBlock
    behind: BasicBlock


@dataclass(frozen=True, slots=True)
class Parts:
    """A loop that can be distributed.

    Parameters
    ----------
    loop
        How it counts.
    inside
        The loops in it, in order.
    """

    loop: CountedLoop
    inside: tuple[Part, ...]


def parts_of(view: CFGView, loop: Loop) -> Parts | None:
    """The loops in a loop that holds nothing else, None where it does."""
    counted = counted_loop(view, loop)
    if (
        isinstance(counted, str)
        or not counted.top_tested
        or list(counted.header.phis()) != [counted.counter.phi]
    ):
        return None
    own = set(counted.blocks)
    if any(u.block not in own for b in counted.blocks for i in b.instructions for u in i.instruction_users()):
        return None
    headed = {view.blocks[c.header]: c for c in loop.children}
    inside: list[Part] = []
    block = next(b for b in counted.header.successors if b in own)
    source = counted.header
    while block is not counted.header:
        inner = headed.get(block)
        if inner is None:
            if any(True for _ in block.phis()) or len(block.successors) != 1:
                return None
            if any(may_write(i) or may_read(i) or may_trap(i) for i in block.instructions[:-1]):
                return None
            source, block = block, block.successors[0]
            continue
        exits = {view.blocks[x] for x in inner.exits}
        if len(exits) != 1 or source is counted.header or source.successors != [block]:
            return None
        inside.append(Part(source, block, exits.pop()))
        source, block = block, inside[-1].behind
    return Parts(counted, tuple(inside)) if len(inside) == len(loop.children) else None


def distribute(function: Function, parts: Parts, count: int) -> BasicBlock:
    """Leave the first `count` loops in the loop, and put the others in a copy behind it; the copy's header."""
    loop = parts.loop
    copies: ValueMap = {}
    for block in clone_blocks(loop.blocks, function, copies):
        # Loops are known by the names of their headers.
        block.name = f"{block.name}.part{count}"

    def copy(block: BasicBlock) -> BasicBlock:
        found = copies[block]
        assert isinstance(found, BasicBlock)
        return found

    between = function.add_block(f"{loop.header.name}.next", loop.latch)
    builder = Builder(between)
    builder.loc = loop.header.terminator.loc
    builder.br(copy(loop.header))
    _turn(loop.header, loop.exit, between)
    copy(loop.header).replace_phi_source(loop.preheader, between)
    for part in parts.inside[count:]:
        _turn(part.before, part.header, part.behind)
    for part in parts.inside[:count]:
        _turn(copy(part.before), copy(part.header), copy(part.behind))
    remove_unreachable_blocks(function)
    return copy(loop.header)


def _turn(block: BasicBlock, target: BasicBlock, other: BasicBlock) -> None:
    """Let a block branch to another one."""
    for index, successor in enumerate(block.terminator.blocks):
        if successor is target:
            block.terminator.set_block(index, other)
