"""Addresses as a base, a constant and multiples of indices, in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from msgspec import Struct

from weft.analysis.memory.multiples import is_multiple
from weft.ir import ConstInt, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import I32, I64, ArrayType, StructType, Type, VectorType


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


def with_factors(address: LinearAddress) -> LinearAddress:
    """The same address with scales that have the constant factors of their indices in them.

    LLVM writes rows of 24 bytes as bytes, ``mul %row, 24``. Places are sums modulo 2^64, as products of 64 bits are.
    """
    indices: list[Value] = []
    scales: list[int] = []
    for index, scale in zip(address.indices, address.scales, strict=True):
        while (taken := _factor(index)) is not None:
            index, factor = taken
            scale *= factor
        indices.append(index)
        scales.append(scale)
    return LinearAddress(address.base, address.offset, tuple(indices), tuple(scales))


def goes_by(step: Instruction, size: int, layout: DataLayout) -> bool:
    """Whether a ``getelementptr`` moves an address by multiples of so many bytes."""
    address = with_factors(decompose(step.operands, step.source_type, layout))
    if address.offset % size:
        return False
    return all(
        scale % size == 0 or (size & (size - 1) == 0 and is_multiple(index, size // gcd(scale, size)))
        for index, scale in zip(address.indices, address.scales, strict=True)
    )


def _factor(index: Value) -> tuple[Value, int] | None:
    """What a product is of, and its constant factor: one of 64 bits, or one of 32 that does not wrap, extended."""
    if not isinstance(index, Instruction):
        return None
    product = index.operands[0] if index.op in ("zext", "sext") else index
    if not isinstance(product, Instruction) or product.op not in ("mul", "shl"):
        return None
    if product is index and index.type != I64:
        return None
    if product is not index and not (product.type == I32 and _stays_product(index, product)):
        return None
    value, constant = product.operands
    if not isinstance(constant, ConstInt) or (product.op == "shl" and constant.value >= 32):
        return None
    factor = constant.signed if product.op == "mul" else 1 << constant.value
    return (value, factor) if product is index or factor >= 2 else None


def _stays_product(extended: Instruction, product: Instruction) -> bool:
    """Whether what is extended is the product of its factors, these extended by sign; one factor is 2 or more."""
    if extended.op == "sext" or "nneg" in extended.flags:
        return "nsw" in product.flags
    return "nuw" in product.flags
