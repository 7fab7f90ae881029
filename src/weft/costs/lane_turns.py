"""What it costs that lanes make updates of memory in turn under a mask: a loop over the lanes that are active.

Where all are, and known to be, updates are written out, each with its lane's operands in registers, or as offsets of
one address. In the loop each turn finds its lane, loads the operands from memory, and branches. Beside the locked
instructions of updates that other threads of the processor may see that is nothing.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.ir import Instruction
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.lane_updates import goes_to_copy, is_lane_update
from weft.ir.types import PointerType

MOST_WRITTEN_OUT = 32
"""Lanes for which an instruction is written out one by one."""

TURN = 0.9
"""Cycles of a lane. Measured on Emerald Rapids: 200,000 counts of digits in shared memory take 0.235 ms under masks
and 0.169 written out with AVX-512, 0.255 and 0.225 on AVX2, 0.34 and 0.31 on SSE2; of bytes 0.445 and 0.27 with
AVX-512, but 0.56 and 0.79 in rising order, where all lanes wait for one element."""


def is_plain_update(instruction: Instruction) -> bool:
    """Whether an atomic operation is a load, an operation and a store in machine code, without locks."""
    if instruction.op != "atomicrmw":
        return False
    return _is_shared(instruction) or is_lane_update(instruction) or goes_to_copy(instruction)


def _is_shared(instruction: Instruction) -> bool:
    type = instruction.pointer.type
    return isinstance(type, PointerType) and type.space == SHARED_SPACE


def makes_updates_in_turn(divergence: Divergence) -> bool:
    """Whether the lanes of a kernel update elements of their own in shared memory, one after the other."""
    return any(
        i.op == "atomicrmw" and _is_shared(i) and not divergence.shape(i.pointer).is_uniform
        for i in divergence.facts.instructions
    )


def turns_cycles(instruction: Instruction, divergence: Divergence, width: int) -> float:
    """Cycles that a lane group saves where an atomic operation has no mask."""
    if instruction.op != "atomicrmw" or divergence.shape(instruction.pointer).is_uniform:
        return 0.0
    if _is_shared(instruction) and width > MOST_WRITTEN_OUT:
        return 0.0
    return TURN * width if is_plain_update(instruction) else 0.0
