"""Stores to one place at the ends of several ways that meet: one store behind them, of what arrives.

``if alive: cells[i] = 1`` and ``else: cells[i] = 0`` store to the same place. Linearized, that is two stores under
masks, which machines without masks for such elements do lane by lane; behind the ways it is one store of a choice,
without a mask where all threads come there.

The stores are the last access of their ways, each of which leads to the same block and nowhere else, in the same loop.
The address is the same value, or computed in the same way from the same values; it is computed again behind.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no two ways that meet end with stores of one
type to one place. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import may_read, may_write

_COMPUTING = ("getelementptr", "add", "sub", "mul", "shl", "or", "sext", "zext", "trunc")
"""What addresses are computed by."""

_LONGEST = 8
"""Instructions of an address that are looked at."""


def merge_meeting_stores(function: Function) -> int:
    """Merge the stores at the ends of ways that meet; return how many have gone."""
    ways, merged = _Ways.of(function), 0
    pending = list(reversed(function.blocks))
    while pending:
        target = pending.pop()
        while (stores := ways.to_merge(target)) is not None:
            # What is behind the stores now may end the ways to where they meet.
            pending.append(ways.merge(target, stores))
            merged += len(stores) - 1
    if merged:
        remove_dead_instructions(function)
    return merged


class _Ways(Struct):
    """How blocks are reached, while stores are merged.

    Parameters
    ----------
    predecessors
        Of each block, each once.
    view
        The function as it was.
    inside
        Blocks that have come since, with the one that they were put before.
    """

    predecessors: dict[BasicBlock, list[BasicBlock]]
    view: CFGView
    inside: dict[BasicBlock, BasicBlock] = field(default_factory=dict)

    @classmethod
    def of(cls, function: Function) -> _Ways:
        """The ways of a function as it is."""
        view = cfg_of(function)
        return cls(
            {b: [view.blocks[p] for p in view.cfg.distinct_preds(k)] for k, b in enumerate(view.blocks)}, view
        )

    def loop(self, block: BasicBlock) -> Loop | None:
        """The innermost loop around a block."""
        return self._loops.innermost[self._number(block)]

    def is_header(self, block: BasicBlock) -> bool:
        """Whether a loop begins with the block."""
        return block not in self.inside and self._loops.headed_by[self._number(block)] is not None

    @property
    def _loops(self) -> LoopForest:
        return loop_forest(self.view.cfg)

    def _number(self, block: BasicBlock) -> int:
        while block in self.inside:
            block = self.inside[block]
        return self.view.index[block]

    def to_merge(self, target: BasicBlock) -> list[Instruction] | None:
        """Stores to one place at the ends of ways that meet in a block."""
        stores = _last_stores(self.predecessors[target])
        while len(stores) > 1:
            first, *others = stores
            alike = [first, *(s for s in others if _are_alike(first, s))]
            stores = [s for s in others if s not in alike]
            if len(alike) < 2 or self.is_header(target):
                continue
            if {self.loop(b) for s in alike if (b := s.block) is not None} == {self.loop(target)}:
                return alike
        return None

    def merge(self, target: BasicBlock, stores: list[Instruction]) -> BasicBlock:
        """Merge the stores; the block that they are in now."""
        sources = [store.block for store in stores if store.block is not None]
        meeting = _merge(target, stores)
        self.inside[meeting] = target
        self.predecessors[meeting] = sources
        before = self.predecessors[target]
        self.predecessors[target] = [
            meeting if source is sources[0] else source
            for source in before
            if source is sources[0] or source not in sources
        ]
        return meeting


def _last_stores(sources: Iterable[BasicBlock]) -> list[Instruction]:
    """The stores that end the ways which lead to a block and nowhere else."""
    found: list[Instruction] = []
    for block in sources:
        if len(block.terminator.successors) != 1:
            continue
        for instruction in reversed(block.instructions[:-1]):
            if instruction.op == "store" and instruction.is_plain_access:
                found.append(instruction)
                break
            if instruction.is_phi or may_read(instruction) or may_write(instruction):
                break
    return found


def _are_alike(a: Instruction, b: Instruction) -> bool:
    """Whether two stores are of one kind, and to one place."""
    alike = a.operands[0].type == b.operands[0].type and a.attrs == b.attrs and a.metadata == b.metadata
    return alike and _is_same(a.pointer, b.pointer, [_LONGEST])


def _is_same(a: Value, b: Value, left: list[int]) -> bool:
    """Whether two values are computed in the same way from the same values, by so many instructions."""
    if a is b or a == b:
        return True
    if (
        not (isinstance(a, Instruction) and isinstance(b, Instruction))
        or a.op != b.op
        or a.op not in _COMPUTING
    ):
        return False
    left[0] -= 1
    if left[0] < 0 or a.type != b.type or a.attrs != b.attrs or len(a.operands) != len(b.operands):
        return False
    return all(_is_same(x, y, left) for x, y in zip(a.operands, b.operands, strict=True))


def _merge(target: BasicBlock, stores: list[Instruction]) -> BasicBlock:
    """Let the ways of the stores meet in a block before `target`, and store there; that block."""
    first = stores[0]
    assert first.block is not None and target.function is not None
    meeting = target.function.add_block(f"{target.name}.stored", after=first.block)
    branch = Builder(meeting).br(target)
    branch.loc = first.block.terminator.loc
    sources = [store.block for store in stores]
    for phi in target.phis():
        arriving = [(value, source) for value, source in phi.incoming() if source in sources]
        for k in reversed([k for k, source in enumerate(phi.blocks) if source in sources]):
            phi.remove_incoming(k)
        phi.add_incoming(_arrived(meeting, arriving, phi.name), meeting)
    for source in sources:
        assert source is not None
        source.terminator.set_block(0, meeting)
    value = _arrived(meeting, [(s.operands[0], s.block) for s in stores if s.block is not None], "")
    built = Builder(before=branch).store(
        value, _again(first.pointer, [s.pointer for s in stores[1:]], branch, {})
    )
    built.attrs, built.metadata, built.loc = dict(first.attrs), first.metadata, first.loc
    for store in stores:
        store.erase()
    return meeting


def _arrived(meeting: BasicBlock, arriving: list[tuple[Value, BasicBlock]], name: str) -> Value:
    """What arrives in a block: a φ, or the value where it is the same on all ways."""
    first = arriving[0][0]
    if all(value is first or value == first for value, _ in arriving):
        return first
    phi = Instruction("phi", first.type, name=name)
    meeting.insert(0, phi)
    for value, source in arriving:
        phi.add_incoming(value, source)
    return phi


def _again(
    value: Value, others: list[Value], before: Instruction, made: dict[tuple[Value, ...], Value]
) -> Value:
    """An address once more, computed from values that all ways share; flags are those that all have."""
    if all(value is other or value == other for other in others):
        return value
    if (value, *others) in made:
        return made[value, *others]
    assert isinstance(value, Instruction)
    alike = [other for other in others if isinstance(other, Instruction)]
    operands = [
        _again(operand, [other.operands[k] for other in alike], before, made)
        for k, operand in enumerate(value.operands)
    ]
    flags = tuple(f for f in value.flags if all(f in other.flags for other in alike))
    copy = Instruction(
        value.op, value.type, operands, flags=flags, attrs=dict(value.attrs), name=value.name, loc=value.loc
    )
    assert before.block is not None
    before.block.insert(before.block.instructions.index(before), copy)
    made[value, *others] = copy
    return copy
