"""What loads and stores have in common."""

from __future__ import annotations

from weft.ir import Instruction
from weft.ir.types import Type


def accessed_type(access: Instruction) -> Type:
    """The type in memory of a load or store."""
    return access.type if access.op == "load" else access.operands[0].type


def is_plain(instruction: Instruction) -> bool:
    """Whether it is a load or store that is neither volatile nor atomic."""
    attrs = instruction.attrs
    return instruction.op in ("load", "store") and not attrs.get("volatile") and not attrs.get("ordering")
