"""A loop over several loops and statements becomes several loops (distribution, loop fission).

    for i: (for j: A; B; for k: C)        for i: for j: A;  for i: B;  for i: for k: C

Precondition: a loop-closed function; `parts_of` says that the loop counts and holds nothing but loops and stores, one
behind the other, what they need to begin, and what the stores compute. The caller knows that its iterations are
independent of each other. Postcondition: of the loop there are two, the first with the parts up to a place, the second,
behind it, with the others. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, Function, Instruction
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.cfg_view import CFGView
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import may_read, may_trap, may_write


class Part(Struct, frozen=True):
    """A loop inside: the block before it, its header, and the block behind it."""

    before: BasicBlock
    header: BasicBlock
    behind: BasicBlock


class Statements(Struct, frozen=True):
    """Stores between two loops."""

    stores: tuple[Instruction, ...]


class Parts(Struct, frozen=True):
    """A loop that can be distributed.

    Parameters
    ----------
    loop
        How it counts.
    inside
        The loops and stores in it, in order.
    """

    loop: CountedLoop
    inside: tuple[Part | Statements, ...]

    def place_of(self, header: BasicBlock) -> int:
        """Which part a loop is."""
        return next(k for k, p in enumerate(self.inside) if isinstance(p, Part) and p.header is header)


def parts_of(view: CFGView, loop: Loop) -> Parts | None:
    """The loops and stores in a loop that holds nothing else, None where it does."""
    counted = counted_loop(view, loop)
    if (
        isinstance(counted, str)
        or not counted.top_tested
        or list(counted.header.phis()) != [counted.counter.phi]
        or any(_has_effects(i) for i in counted.header.instructions)
    ):
        return None
    own = set(counted.blocks)
    if any(u.block not in own for b in counted.blocks for i in b.instructions for u in i.instruction_users()):
        return None
    headed = {view.blocks[c.header]: c for c in loop.children}
    inside: list[Part | Statements] = []
    loads: list[Instruction] = []
    stores: list[Instruction] = []
    # Which blocks stand between the same two loops.
    places: dict[BasicBlock, int] = {}
    loops = 0
    block = next(b for b in counted.header.successors if b in own)
    source = counted.header
    while block is not counted.header:
        inner = headed.get(block)
        if inner is None:
            if any(True for _ in block.phis()) or len(block.successors) != 1:
                return None
            places[block] = loops
            for instruction in block.instructions[:-1]:
                if instruction.is_plain_access:
                    (stores if instruction.op == "store" else loads).append(instruction)
                elif _has_effects(instruction):
                    return None
            source, block = block, block.successors[0]
            continue
        exits = {view.blocks[x] for x in inner.exits}
        if len(exits) != 1 or source is counted.header or source.successors != [block]:
            return None
        if stores:
            inside.append(Statements(tuple(stores)))
        stores, loops = [], loops + 1
        last = Part(source, block, exits.pop())
        inside.append(last)
        source, block = block, last.behind
    if stores:
        inside.append(Statements(tuple(stores)))
    if loops != len(loop.children) or any(_is_read_elsewhere(load, places) for load in loads):
        return None
    return Parts(counted, tuple(inside))


def _has_effects(instruction: Instruction) -> bool:
    return may_write(instruction) or may_read(instruction) or may_trap(instruction)


def _is_read_elsewhere(load: Instruction, places: dict[BasicBlock, int]) -> bool:
    """Whether something between two other loops, or in a loop, is computed from what is loaded."""
    assert load.block is not None
    here = places[load.block]
    work, seen = [load], {load}
    while work:
        for user in work.pop().instruction_users():
            if user.block is None or places.get(user.block) != here:
                return True
            if user not in seen:
                seen.add(user)
                work.append(user)
    return False


def distribute(function: Function, parts: Parts, count: int) -> BasicBlock:
    """Leave the first `count` parts in the loop, and put the others in a copy behind it; the copy's header."""
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
    loop.header.replace_successor(loop.exit, between)
    copy(loop.header).replace_phi_source(loop.preheader, between)
    for part in parts.inside[count:]:
        if isinstance(part, Part):
            part.before.replace_successor(part.header, part.behind)
            continue
        for store in part.stores:
            store.erase()
    for part in parts.inside[:count]:
        if isinstance(part, Part):
            copy(part.before).replace_successor(copy(part.header), copy(part.behind))
            continue
        for store in part.stores:
            made = copies[store]
            assert isinstance(made, Instruction)
            made.erase()
    remove_unreachable_blocks(function)
    remove_dead_instructions(function)
    return copy(loop.header)
