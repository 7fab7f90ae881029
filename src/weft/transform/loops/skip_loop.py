"""A loop of which it is known what it leaves behind is not run: what comes before it goes on behind it.

Precondition: nothing else of the loop is seen behind it, and it has no effects. Postcondition: the loop is not reached,
for `weft.ir.cfg_edit.remove_unreachable_blocks`. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from weft.ir import BasicBlock, Instruction, Value


def skip_loop(
    preheader: BasicBlock,
    exiting: BasicBlock,
    exit: BasicBlock,
    inside: Collection[BasicBlock],
    results: Mapping[Instruction, Value],
) -> None:
    """Go from `preheader` to `exit`, to which `exiting` has gone, with `results` for values of the blocks `inside`."""
    for value, new in results.items():
        for user in [u for u in value.instruction_users() if u.block not in inside]:
            user.replace_operand(value, new)
    for phi in list(exit.phis()):
        phi.set_block(phi.blocks.index(exiting), preheader)
    preheader.terminator.set_block(0, exit)
