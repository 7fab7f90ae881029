"""Addresses as a base, a constant and multiples of indices, in bytes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.ir import ConstInt, Value
from weft.ir.layout import DataLayout
from weft.ir.types import ArrayType, StructType, Type, VectorType


class LinearAddress(Struct, frozen=True):
    """``base + offset + Σ scales[i]·indices[i]``, each index extended by sign to the width of an address."""

    base: Value
    offset: int
    indices: tuple[Value, ...]
    scales: tuple[int, ...]


def decompose(operands: Sequence[Value], source_type: Type, layout: DataLayout) -> LinearAddress:
    """Read the operands of a getelementptr; constant indices go into the offset."""
    offset = 0
    indices: list[Value] = []
    scales: list[int] = []
    current = source_type
    for position, index in enumerate(operands[1:]):
        if position and isinstance(current, StructType):
            assert isinstance(index, ConstInt) and current.fields is not None, "a struct index is a constant"
            offset += layout.struct_layout(current)[0][index.value]
            current = current.fields[index.value]
            continue
        if position:
            assert isinstance(current, (ArrayType, VectorType)), f"{current} cannot be indexed"
            current = current.element
        scale = layout.size(current)
        if isinstance(index, ConstInt):
            offset += index.signed * scale
        elif scale:
            indices.append(index)
            scales.append(scale)
    return LinearAddress(operands[0], offset, tuple(indices), tuple(scales))
