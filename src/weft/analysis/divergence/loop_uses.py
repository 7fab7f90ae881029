"""Uses of a loop's values outside of it, where threads may have them of different iterations (Moll, §6.3).

Functions need not be in loop-closed SSA: any instruction may be such a use.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.ir.cfg_view import CFGView


def uses_behind_loops(view: CFGView, innermost: Sequence[Loop | None]) -> dict[Loop, list[Instruction]]:
    """Per loop the instructions with an operand from it that they, or a φ's edge, are not in."""
    found: dict[Loop, dict[Instruction, None]] = {}
    for block, number in view.index.items():
        inner = innermost[number]
        if inner is None:
            continue
        for value in block.instructions:
            for user in value.instruction_users():
                assert user.block is not None
                for loop in inner.ancestors():
                    outside = view.index[user.block] not in loop.blocks
                    if not outside and not (
                        user.op == "phi" and _comes_from_outside(user, value, view, loop)
                    ):
                        break
                    found.setdefault(loop, {})[user] = None
    return {loop: list(users) for loop, users in found.items()}


def _comes_from_outside(phi: Instruction, value: Value, view: CFGView, loop: Loop) -> bool:
    return any(v is value and view.index[source] not in loop.blocks for v, source in phi.incoming())
