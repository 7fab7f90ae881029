"""Registers of which the PTX says which floats they hold: constants, and what an instruction has saturated.

``expf`` of CUDA is written out in a kernel. It takes a multiple of a number between 0 and 1 to the next integer below:

    cvt.sat.f32.f32 %a, %x;    mov.f32 %b, 252;    mov.f32 %c, 12582913;    fma.rm.f32 %r, %a, %b, %c;

The order of instructions does not matter, as for `weft.ptx.lift.flushing`. A register that is read before it is written
holds anything, and nobody may rely on that.
"""

from __future__ import annotations

from weft.ir import ConstFloat
from weft.ir.types import F32
from weft.ptx import syntax
from weft.ptx.registers import writes

Range = tuple[float, float]


def known_floats(function: syntax.Function) -> dict[str, Range]:
    """The least and the greatest of what registers of a function hold as single precision, where that is known."""
    found: dict[str, Range | None] = dict.fromkeys(
        parameter.name for parameter in (*function.parameters, *function.returns)
    )
    for instruction in function.body or []:
        if not isinstance(instruction, syntax.Instruction):
            continue
        known = _written(instruction)
        for name in writes(instruction):
            before = found.get(name, known)
            if known is None or before is None:
                found[name] = None
            else:
                found[name] = min(known[0], before[0]), max(known[1], before[1])
    return {name: known for name, known in found.items() if known is not None}


def range_of(operand: syntax.Operand, known: dict[str, Range]) -> Range | None:
    """The least and the greatest that an operand may be, where that is known."""
    if isinstance(operand, syntax.Float):
        value = ConstFloat(F32, operand.bits(32)).value
        return (value, value) if abs(value) < float("inf") else None
    if isinstance(operand, syntax.Register) and not operand.component:
        return known.get(operand.name)
    return None


def _written(i: syntax.Instruction) -> Range | None:
    if i.modifiers[-1:] != ("f32",):
        return None
    if i.opcode == "mov":
        return range_of(i.operands[1], {})
    saturates = "sat" in i.modifiers and "f32x2" not in i.modifiers
    return (0.0, 1.0) if saturates else None
