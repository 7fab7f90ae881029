"""What loads and stores have in common."""

from __future__ import annotations

from weft.ir import BasicBlock, Instruction
from weft.ir.types import Type


def accessed_type(access: Instruction) -> Type:
    """The type in memory of a load or store."""
    return access.type if access.op == "load" else access.operands[0].type


def is_plain(instruction: Instruction) -> bool:
    """Whether it is a load or store that is neither volatile nor atomic."""
    attrs = instruction.attrs
    return instruction.op in ("load", "store") and not attrs.get("volatile") and not attrs.get("ordering")


def under_the_mask(block: BasicBlock) -> list[Instruction]:
    """The instructions of a block that run for its active lanes, all under one mask."""
    instructions = [i for i in block.non_phis() if not i.total]
    predicate = block.predicate
    if isinstance(predicate, Instruction) and predicate.block is block and not predicate.is_phi:
        behind = block.instructions.index(predicate)
        position = {i: k for k, i in enumerate(block.instructions)}
        return [i for i in instructions if position[i] > behind]
    return instructions
