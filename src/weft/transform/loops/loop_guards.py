"""Branches around all that iterations of a loop do: where a condition does not hold, an iteration has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import is_removable
from weft.transform.loops.counter_limits import Limit


class Guard(Struct):
    """A branch around all that an iteration does.

    Parameters
    ----------
    branch
        It.
    entered
        Whether the rest of the iteration runs where its condition is true, or where it is false.
    asked, limits
        The parts of the condition that are known before the loop and how they have to be, and what others say.
    left
        The other parts.
    """

    branch: Instruction
    entered: bool
    asked: list[tuple[Value, bool]] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    left: list[tuple[Value, bool]] = field(default_factory=list)

    @property
    def is_taken(self) -> bool:
        """Whether a part of it goes elsewhere."""
        return bool(self.asked or self.limits)


def guards_of(loop: CountedLoop) -> Iterator[Guard]:
    """The guards that each iteration comes to before it has done anything."""
    path = {loop.header: loop.preheader}
    source, block = loop.header, next(b for b in loop.header.successors if b is not loop.exit)
    while block not in path and block.predecessors == [source] and _does_nothing(block):
        path[block] = source
        branch = block.terminator
        if branch.op != "br":
            return
        if len(branch.blocks) == 1:
            source, block = block, branch.blocks[0]
            continue
        quiet = [_is_quiet(loop, path, block, target) for target in branch.blocks]
        if quiet.count(True) != 1 or branch.blocks[0] is branch.blocks[1]:
            return
        yield Guard(branch, entered=quiet[1])
        source, block = block, branch.blocks[quiet.index(False)]


def _does_nothing(block: BasicBlock) -> bool:
    return all(is_removable(i) for i in block.instructions[:-1])


def _is_quiet(
    loop: CountedLoop, path: dict[BasicBlock, BasicBlock], source: BasicBlock, block: BasicBlock
) -> bool:
    """Whether an iteration that goes from one block to the next has no effect, and hands on what it got."""
    path = dict(path)
    while block not in path:
        path[block] = source
        if block not in loop.blocks or not _does_nothing(block) or len(block.successors) != 1:
            return False
        source, block = block, block.successors[0]
    if block is not loop.header:
        return False
    del path[loop.header]
    return all(
        phi is loop.counter.phi or _on_path(phi.incoming_value(loop.latch), path) is phi
        for phi in loop.header.phis()
    )


def _on_path(value: Value, path: dict[BasicBlock, BasicBlock]) -> Value:
    """What a φ of blocks on a path is for those who come that way."""
    while isinstance(value, Instruction) and value.is_phi and value.block in path:
        source = path[value.block]
        if source not in value.blocks:
            break
        value = value.incoming_value(source)
    return value
