"""Source positions of instructions."""

from __future__ import annotations

from weft.diag.source import SourceSpan
from weft.ir.block import BasicBlock
from weft.ir.instruction import Instruction


def span_of(instruction: Instruction) -> SourceSpan | None:
    """The source position of an instruction from its debug location, None when it has none."""
    loc = instruction.loc
    if loc is None or not loc.line:
        return None
    return SourceSpan(loc.filename or "<unknown>", loc.line, loc.column)


def span_of_block(block: BasicBlock) -> SourceSpan | None:
    """The position of a block's first instruction that has one."""
    return next((span for i in block.instructions if (span := span_of(i)) is not None), None)
