"""Values that a version of a function is chosen by, computed before where it begins.

Precondition: plain SSA; the instructions given run one after the other whenever the first does. Postcondition: what is
asked for stands before a place, as far as nothing is needed for it that may not run there. Preserves the program under
FR and OBL: only what is speculatable moves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.ir import Instruction, Value
from weft.ir.effects import is_speculatable


def compute_early(
    order: Sequence[Instruction], values: Sequence[Value], at: Instruction, kept: Collection[Instruction] = ()
) -> list[Value]:
    """Have values computed before `at`, one of `order`; those that are there then.

    Parameters
    ----------
    order
        Instructions that run one after the other; what is not among them is there.
    kept
        Instructions that stay where they are.
    """
    position = {i: k for k, i in enumerate(order)}
    there = set(order[: position[at]])
    block = at.block
    assert block is not None

    def needed(value: Value, moved: dict[Instruction, None]) -> bool:
        if not isinstance(value, Instruction) or value in there or value not in position or value in moved:
            return True
        if value in kept or not is_speculatable(value) or not all(needed(v, moved) for v in value.operands):
            return False
        moved[value] = None
        return True

    found: list[Value] = []
    for value in values:
        moved: dict[Instruction, None] = {}
        if needed(value, moved):
            for i in moved:
                i.detach()
                block.insert_before(at, i)
            there |= set(moved)
            found.append(value)
    return found
