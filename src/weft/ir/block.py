"""Basic blocks, with the block predicate of P-LLVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.ir.instruction import Instruction
from weft.ir.types import LABEL
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.ir.function import Function


class BasicBlock(Value):
    """A block: φs first, then instructions, one terminator last.

    `predicate` is the i1 value under which threads execute the block actively (Moll §4.4); None stands for
    constant true. As a value the block is used by terminators and φs, so its users tell its predecessors.
    """

    __slots__ = ("function", "instructions", "predicate")

    is_block = True

    def __init__(self, name: str = "", function: Function | None = None) -> None:
        super().__init__(LABEL, name)
        self.function = function
        self.instructions: list[Instruction] = []
        self.predicate: Value | None = None

    def __repr__(self) -> str:
        return f"<BasicBlock {self.name}>"

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def set_predicate(self, value: Value | None) -> None:
        if value is not None:
            value.add_user(self)
        if self.predicate is not None:
            self.predicate.drop_user(self)
        self.predicate = value

    def replace_operand(self, old: Value, new: Value) -> None:
        if self.predicate is old:
            self.set_predicate(new)

    @property
    def terminator(self) -> Instruction:
        """The last instruction, which a finished block's terminator is."""
        return self.instructions[-1]

    @property
    def is_terminated(self) -> bool:
        return bool(self.instructions) and self.instructions[-1].is_terminator

    @property
    def successors(self) -> list[BasicBlock]:
        """Distinct successors in branch order."""
        return list(dict.fromkeys(self.terminator.successors)) if self.is_terminated else []

    @property
    def predecessors(self) -> list[BasicBlock]:
        """Distinct predecessors, in the order in which their branches came to use this block."""
        sources = (u.block for u in self.users if not u.is_block and u.is_terminator)  # type: ignore[union-attr]
        return list(dict.fromkeys(b for b in sources if b is not None))

    @property
    def edge_sources(self) -> list[BasicBlock]:
        """Where the edges to this block come from: a predecessor once for each of its edges, as φs list them."""
        return [
            source
            for source in self.predecessors
            for target in source.terminator.successors
            if target is self
        ]

    def phis(self) -> Iterator[Instruction]:
        for instruction in self.instructions:
            if instruction.op != "phi":
                return
            yield instruction

    def non_phis(self) -> Iterator[Instruction]:
        return (i for i in self.instructions if i.op != "phi")

    @property
    def first_insertion(self) -> int:
        """The index of the first instruction that is no φ."""
        for index, instruction in enumerate(self.instructions):
            if instruction.op != "phi":
                return index
        return len(self.instructions)

    def append(self, instruction: Instruction) -> Instruction:
        instruction.block = self
        self.instructions.append(instruction)
        return instruction

    def insert(self, index: int, instruction: Instruction) -> Instruction:
        instruction.block = self
        self.instructions.insert(index, instruction)
        return instruction

    def insert_before(self, position: Instruction, instruction: Instruction) -> Instruction:
        # Most is put before a terminator, which would be looked for behind all that a block has.
        last = len(self.instructions) - 1
        at = last if self.instructions[last] is position else self.instructions.index(position)
        return self.insert(at, instruction)

    def replace_successor(self, old: BasicBlock, new: BasicBlock) -> None:
        """Let the terminator of this block branch to `new` wherever it branched to `old`."""
        for i, target in enumerate(self.terminator.blocks):
            if target is old:
                self.terminator.set_block(i, new)

    def replace_phi_source(self, old: BasicBlock, new: BasicBlock) -> None:
        """Let the φs of this block expect `new` where they named `old` as incoming block."""
        for phi in self.phis():
            for i, source in enumerate(phi.blocks):
                if source is old:
                    phi.set_block(i, new)

    def remove_phi_source(self, old: BasicBlock) -> None:
        """Drop the incoming edges from `old`; a φ left without any is an error of the caller."""
        for phi in self.phis():
            for i in reversed(range(len(phi.blocks))):
                if phi.blocks[i] is old:
                    phi.remove_incoming(i)
