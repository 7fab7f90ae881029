"""Divisions of numbers that grow along the lanes by what all lanes share (`weft.codegen.widen.row_division`)."""

from __future__ import annotations

from weft.analysis.divergence.result import Divergence
from weft.analysis.shapes.shape import ACTIVE
from weft.ir import ConstInt, Instruction
from weft.ir.types import IntType

DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))

_BY_CONSTANT = 32
"""By a constant, numbers of so many bits are divided by multiplications of vectors; wider ones have none."""


def is_row_division(divergence: Divergence, division: Instruction) -> bool:
    """Whether an instruction is such a division: exact over the integers in active lanes, and of one direction."""
    if division.op not in DIVISIONS:
        return False
    number, divisor = division.operands
    shape, type = divergence.shape(number), division.type
    if not isinstance(type, IntType) or (isinstance(divisor, ConstInt) and type.bits <= _BY_CONSTANT):
        return False
    if shape.is_uniform or not shape.is_strided or not divergence.shape(divisor).is_uniform:
        return False
    if not all(isinstance(s, int) and s >= 0 for s in shape.strides):
        return False
    return shape.nsw >= ACTIVE or (division.op[0] == "u" and shape.nuw >= ACTIVE)
