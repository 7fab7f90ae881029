"""Floats become integers of 8 and 16 bits by minima and maxima where code is left to LLVM's vectorizer.

What LLVM makes of a vector of ``llvm.fptosi.sat.i8`` takes it apart, lane by lane. The ends of so few bits are floats,
so a float is brought between them first, and is one that any conversion knows::

    %n = call i8 @llvm.fptosi.sat.i8.f32(float %x)   ==>   %t = x > -128 ? x : -128; %u = t < 127 ? t : 127
                                                           %n = trunc (fptosi (x is NaN ? 0 : u) to i32) to i8

Precondition: plain LLVM IR, at the end of all passes on it; conversions in lanes have been made of what the processor
has (`weft.codegen.widen.saturating`). Postcondition: no such conversion of one float in a loop. Preserves what
functions give.
"""

from __future__ import annotations

from weft.analysis.integers.converted_floats import is_never_nan
from weft.graph.loops import loop_forest
from weft.ir import Builder, Function, Instruction, Value
from weft.ir.builder import const_float
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import F32, F64, I32, IntType

_SIGNED, _NATURAL = "llvm.fptosi.sat.", "llvm.fptoui.sat."


def saturate_by_limits(function: Function) -> int:
    """Bring floats between the ends of what they become; how many conversions that were."""
    if not any(_is_short(i) for i in function.instructions()):
        return 0
    view = cfg_of(function)
    repeated = {view.blocks[b] for loop in loop_forest(view.cfg).loops for b in loop.blocks}
    found = [i for block in repeated for i in block.instructions if _is_short(i)]
    for conversion in found:
        _replace(conversion)
    return len(found)


def _is_short(i: Instruction) -> bool:
    if i.op != "call" or not isinstance(i.type, IntType) or i.type.bits not in (8, 16):
        return False
    return (i.callee_name or "").startswith((_SIGNED, _NATURAL)) and i.args[0].type in (F32, F64)


def _replace(conversion: Instruction) -> None:
    (x,), type = conversion.args, conversion.type
    assert isinstance(type, IntType)
    signed = (conversion.callee_name or "").startswith(_SIGNED)
    bits = type.bits - signed
    least, greatest = (
        const_float(v, x.type) for v in (-float(1 << bits) if signed else 0.0, float((1 << bits) - 1))
    )
    b = Builder(before=conversion)
    b.loc = conversion.loc
    number: Value = b.select(b.fcmp("ogt", x, least), x, least)
    number = b.select(b.fcmp("olt", number, greatest), number, greatest)
    if signed and not is_never_nan(x):
        number = b.select(b.fcmp("uno", x, x), const_float(0.0, x.type), number)
    replace_and_erase(conversion, b.cast("trunc", b.cast("fptosi", number, I32), type))
