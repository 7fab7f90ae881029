"""Calls of ``fmod`` are remainders of floats, which lanes have together (`weft.target.rewrites.ordinary_lanes`).

Precondition: plain code of one thread. Postcondition: the same; ``fmod`` and ``fmodf`` are not called. Preserves the
program: both are the exact remainder, with the sign of what is divided.
"""

from __future__ import annotations

from weft.ir import Builder, Function
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.types import F32, F64

_TYPES = {"fmod": F64, "fmodf": F32}


def replace_called_remainders(function: Function) -> int:
    """Replace such calls; how many."""
    found = [
        i
        for i in function.instructions()
        if i.op == "call" and i.type == _TYPES.get(i.callee_name or "") and len(i.args) == 2
    ]
    for call in found:
        builder = Builder(before=call)
        builder.loc = call.loc
        replace_and_erase(call, builder.binary("frem", *call.args, flags=call.flags))
    return len(found)
