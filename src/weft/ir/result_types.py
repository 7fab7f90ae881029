"""Result types of the instructions whose text does not spell them out."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.types import I1, ArrayType, StructType, Type, VectorType
from weft.ir.values import Value


def compare_type(operand: Type) -> Type:
    """i1, or a vector of it."""
    return VectorType(I1, operand.count) if isinstance(operand, VectorType) else I1


def gep_type(operands: Sequence[Value]) -> Type:
    """The pointer's type; a vector of it when an index is a vector."""
    type = operands[0].type
    if isinstance(type, VectorType):
        return type
    for index in operands:
        if isinstance(index.type, VectorType):
            return VectorType(type, index.type.count)
    return type


def member_type(aggregate: Type, indices: Sequence[int]) -> Type | None:
    """The type of the member at `indices`, or None where there is none."""
    current = aggregate
    for index in indices:
        if isinstance(current, StructType):
            if current.fields is None or not 0 <= index < len(current.fields):
                return None
            current = current.fields[index]
        elif isinstance(current, ArrayType) and 0 <= index < current.count:
            current = current.element
        else:
            return None
    return current


def cmpxchg_type(value: Type) -> Type:
    """``{ T, i1 }``."""
    return StructType((value, I1))
