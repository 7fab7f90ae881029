"""Which instructions of a block can be widened together."""

from __future__ import annotations

from weft.ir import BasicBlock, Instruction


def under_the_mask(block: BasicBlock) -> list[Instruction]:
    """The instructions of a block that run for its active lanes, all under one mask."""
    instructions = [i for i in block.non_phis() if not i.total]
    predicate = block.predicate
    if isinstance(predicate, Instruction) and predicate.block is block and not predicate.is_phi:
        behind = block.instructions.index(predicate)
        position = {i: k for k, i in enumerate(block.instructions)}
        return [i for i in instructions if position[i] > behind]
    return instructions
