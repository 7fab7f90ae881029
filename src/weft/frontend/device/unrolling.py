"""How far a program for GPUs asks for its loops to be unrolled: `#pragma unroll`, with a number or without.

There a thread has hundreds of registers, and branches cost it much. Here a register holds a number of some threads,
and there are 16 or 32 of them: loops that are written out as asked take as long at best, spill at worst, and take up
to five times as long to compile (docs/performance.md). Nor can LLVM write out all loops that passes have changed, of
which it warns. Postcondition: loops have no such wish, but that not to be unrolled. Preserves the program under FR and
OBL.
"""

from __future__ import annotations

from weft.ir import Function
from weft.ir.loop_metadata import forget_unrolling


def settle_unrolling(function: Function) -> None:
    """Leave it to LLVM how far loops are unrolled."""
    for block in function.blocks:
        forget_unrolling(block.terminator)
