"""What the checks report."""

from __future__ import annotations

from msgspec import Struct

from weft.ir.block import BasicBlock
from weft.ir.instruction import Instruction
from weft.ir.writer import write_instruction


class Problem(Struct, frozen=True):
    """A broken rule: what is wrong, and where."""

    message: str
    function: str
    instruction: Instruction | None = None
    block: BasicBlock | None = None

    def __str__(self) -> str:
        where = f"@{self.function}"
        block = self.block
        if block is None and self.instruction is not None:
            block = self.instruction.block
        if block is not None and block.name:
            where += f", %{block.name}"
        if self.instruction is None:
            return f"{where}: {self.message}"
        return f"{where}: {self.message}: {_shown(self.instruction)}"


def _shown(instruction: Instruction) -> str:
    """The instruction on one line, as far as what is wrong with it lets the writer print it."""
    try:
        return " ".join(write_instruction(instruction).split())
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
        return repr(instruction)
