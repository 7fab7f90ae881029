"""Parts of a function of which there may be another version for some lane groups.

A function without barriers is one part: what follows the beginning of its first block. Lane groups go through a version
as a whole, so that votes and shuffles are the same in it. In a kernel with barriers each stretch behind one is a part,
up to where control has met again before the next, in the same loop:

    barrier; low = 2*t - (t & (d - 1)); …; if a > b: swap  |  d = d / 2; …       the part ends at the bar

Its *head* is the block that begins it; all of the part is reached through that. What the part computes and others use
is handed on by φs where its versions *join*.

Precondition: P-LLVM without predicates, shadows and guards, blocks cut behind barriers. Facts are about the function as
it is until a part is closed, which cuts a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.graph.dominators import post_dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Constant, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import split_block
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap
from weft.ir.effects import is_convergent, is_speculatable, may_read, may_write
from weft.ir.intrinsics import IntrinsicKind, kind_of

_FEW = 6
"""How many steps a value may be computed in, to be computed earlier."""


class Part(Struct, frozen=True):
    """A part.

    Parameters
    ----------
    head
        The block that begins it.
    blocks
        Its other blocks.
    end
        The first instruction behind it, in its last block; None where it goes on to the function's end.
    """

    head: BasicBlock
    blocks: tuple[BasicBlock, ...]
    end: Instruction | None = None

    def instructions(self) -> Iterator[Instruction]:
        """All of its instructions."""
        for block in (self.head, *self.blocks):
            for instruction in block.instructions:
                if instruction is self.end:
                    return
                yield instruction

    def is_early(self, value: Value, steps: int = _FEW) -> bool:
        """Whether the value is there before the head's branch, or may be computed there."""
        if not isinstance(value, Instruction) or value.block not in self.blocks:
            return not isinstance(value, Constant) or isinstance(value, ConstInt)
        if not steps or not is_speculatable(value):
            return False
        return all(self.is_early(operand, steps - 1) for operand in value.operands)

    def hoist(self, value: Value) -> None:
        """Compute an early value before the head's branch."""
        if isinstance(value, Instruction) and value.block in self.blocks:
            for operand in value.operands:
                self.hoist(operand)
            value.detach()
            self.head.insert_before(self.head.terminator, value)

    def copied_to(self, values: ValueMap) -> Part:
        """The same part of a copy of the function."""
        head, *blocks = (_copy_of(block, values) for block in (self.head, *self.blocks))
        end = values[self.end] if self.end is not None else None
        assert end is None or isinstance(end, Instruction)
        return Part(head, tuple(blocks), end)

    def close(self) -> BasicBlock | None:
        """Cut the last block where the part ends; the block behind it, which nothing else leads to."""
        return split_block(self.end, "joined") if self.end is not None else None


def parts_of(function: Function) -> Iterator[Part]:
    """The parts of a function, which may be changed in between, each within its part."""
    if not any(map(waits_for_others, function.instructions())):
        yield Part(function.entry, tuple(b for b in function.blocks if b is not function.entry))
        return
    barriers = [i for i in function.instructions() if kind_of(i.callee_name) is IntrinsicKind.BARRIER]
    behind = [b.block.successors[0] for b in barriers if b.block is not None and len(b.block.successors) == 1]
    for head in (function.entry, *behind):
        part = _part_behind(function, head)
        if part is not None:
            yield part


def waits_for_others(instruction: Instruction) -> bool:
    """Whether other lane groups have to come the same way; what threads of a warp tell each other stays within one."""
    return is_convergent(instruction) and kind_of(instruction.callee_name) is not IntrinsicKind.HORIZONTAL


def _part_behind(function: Function, head: BasicBlock) -> Part | None:
    """The part that a block begins, as far as it goes; None where it would access no memory."""
    view = cfg_of(function)
    tree = post_dominator_tree(view.cfg)
    begin = view.index[head]
    loop = loop_forest(view.cfg).innermost[begin]
    inside: list[int] = []
    last = begin
    while not any(map(is_convergent, view.blocks[last].instructions)):
        following = tree.idom[last]
        if not 0 <= following < len(view.blocks):
            break
        between = _between(view, begin, following)
        if not _is_own(view, loop, begin, [*between, following]):
            break
        if any(is_convergent(i) for b in between for i in view.blocks[b].instructions):
            break
        inside, last = between, following
    blocks = [view.blocks[b] for b in inside]
    if last != begin:
        blocks.append(view.blocks[last])
    end = _end_in(view.blocks[last], has_more=bool(blocks))
    return Part(head, tuple(blocks), end) if end is not None else None


def _is_own(view: CFGView, loop: Loop | None, begin: int, blocks: list[int]) -> bool:
    """Whether blocks are reached through the head alone, in the loop that it is in, and begin no iteration of that."""
    if loop is not None and any(b not in loop or b in loop.entries for b in blocks):
        return False
    own = {begin, *blocks}
    return begin not in blocks and all(p in own for b in blocks for p in view.cfg.preds[b])


def _between(view: CFGView, begin: int, end: int) -> list[int]:
    """The blocks behind one and before another."""
    seen: dict[int, None] = {}
    pending = list(view.cfg.succs[begin])
    while pending:
        block = pending.pop()
        if block != end and block not in seen:
            seen[block] = None
            pending += view.cfg.succs[block]
    return list(seen)


def _end_in(block: BasicBlock, *, has_more: bool) -> Instruction | None:
    """The instruction of a part's last block that follows its last access, before the next barrier."""
    instructions = block.instructions
    first = next(k for k, i in enumerate(instructions) if not i.is_phi)
    stop = next((k for k, i in enumerate(instructions) if is_convergent(i)), len(instructions) - 1)
    accesses = [k for k in range(first, stop) if may_read(instructions[k]) or may_write(instructions[k])]
    if accesses:
        return instructions[accesses[-1] + 1]
    return instructions[first] if has_more else None


def values_before(copied: Sequence[BasicBlock]) -> list[Instruction]:
    """What blocks use that is computed without side effects elsewhere, operands first."""
    inside = set(copied)
    found: dict[Instruction, None] = {}

    def add(value: Value) -> None:
        if isinstance(value, Instruction) and value.block not in inside and is_speculatable(value):
            for operand in value.operands:
                if operand not in found:
                    add(operand)
            found.setdefault(value)

    for block in copied:
        for instruction in block.instructions:
            for operand in instruction.operands:
                add(operand)
    return list(found)


def join_versions(join: BasicBlock, copied: Sequence[BasicBlock], versions: Sequence[ValueMap]) -> None:
    """Let what others use of a part be what the version that has run has computed."""
    (last,) = [block for block in join.predecessors if block in copied]
    own = {*copied, *(version[block] for version in versions for block in copied)}
    for value in [i for block in copied for i in block.instructions]:
        users = [user for user in value.instruction_users() if user.block not in own]
        if not users:
            continue
        phi = Instruction("phi", value.type, name=value.name, loc=value.loc)
        join.insert(0, phi)
        for user in users:
            user.replace_operand(value, phi)
        phi.add_incoming(value, last)
        for version in versions:
            phi.add_incoming(version[value], _copy_of(last, version))


def _copy_of(block: BasicBlock, values: ValueMap) -> BasicBlock:
    copy = values[block]
    assert isinstance(copy, BasicBlock)
    return copy
