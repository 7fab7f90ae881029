"""Divisions of numbers that grow along the lanes by what all lanes share (`weft.codegen.widen.row_division`)."""

from __future__ import annotations

from weft.analysis.divergence.result import Divergence
from weft.analysis.shapes.shape import ACTIVE
from weft.ir import ConstInt, Instruction, Value
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


_STEPS = 8
"""How many choices and divisions may be between a quotient and where it is divided."""


def is_quotient_division(divergence: Divergence, division: Instruction) -> bool:
    """Whether the quotient of such a division is divided again, as the row of ``i // w % h``.

    Lanes share it, or nearly. Of numbers of 32 bits vectors are divided.
    """
    return divided_quotient(divergence, division) is not None


def divided_quotient(divergence: Divergence, division: Instruction) -> Instruction | None:
    """The division of which the quotient, or what all lanes share instead of it, is divided again; None for none."""
    if division.op not in DIVISIONS:
        return None
    number, divisor = division.operands
    if not isinstance(division.type, IntType) or division.type.bits <= _BY_CONSTANT:
        return None
    if divergence.shape(number).is_strided or not divergence.shape(divisor).is_uniform:
        return None
    quotient = _chosen(divergence, number)
    if not isinstance(quotient, Instruction) or quotient.op not in ("udiv", "sdiv"):
        return None
    inner, steps = quotient, _STEPS
    while not is_row_division(divergence, inner):
        # The quotient may be one of a quotient itself.
        steps -= 1
        further = _chosen(divergence, inner.operands[0])
        if not (steps and isinstance(further, Instruction) and further.op in ("udiv", "sdiv")):
            return None
        if not divergence.shape(inner.operands[1]).is_uniform:
            return None
        inner = further
    return quotient


def _chosen(divergence: Divergence, value: Value) -> Value:
    """The arm of choices that all lanes make alike that lanes do not share."""
    for _ in range(_STEPS):
        if not (isinstance(value, Instruction) and value.op == "select"):
            break
        condition, *arms = value.operands
        apart = [v for v in arms if not divergence.shape(v).is_uniform]
        if not divergence.shape(condition).is_uniform or len(apart) != 1:
            break
        value = apart[0]
    return value
