"""The components of short vectors, structs and arrays: their types, their places, and those of constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from weft.ir import ConstAggregate, ConstInt, ConstSplat, Value
from weft.ir.constants import ConstBytes, ConstExpr, ConstFloat, ConstZero, Poison, Undef, zero_of
from weft.ir.layout import DataLayout
from weft.ir.types import FLOAT_BITS, I8, ArrayType, FloatType, IntType, StructType, Type, VectorType

MAX_COMPONENTS = 64
"""Values with more components stay whole."""


class Component(Struct, frozen=True):
    """A scalar of a composite value: its type, and the indices that lead to it."""

    type: Type
    path: tuple[int, ...]


def is_composite(type: Type) -> bool:
    """Whether values of the type have components."""
    return type.is_vector or type.is_aggregate


@cache
def components_of(type: Type) -> tuple[Component, ...] | None:
    """The components in order; None when there are too many, or they are unknown."""
    if not is_composite(type):
        return (Component(type, ()),)
    members = _members(type)
    if members is None:
        return None
    found: list[Component] = []
    for index, member in enumerate(members):
        inner = components_of(member)
        if inner is None:
            return None
        found += [Component(c.type, (index, *c.path)) for c in inner]
        if len(found) > MAX_COMPONENTS:
            return None
    return tuple(found)


def _members(type: Type) -> Sequence[Type] | None:
    if isinstance(type, StructType):
        return type.fields
    assert isinstance(type, (ArrayType, VectorType))
    return [type.element] * type.count if type.count <= MAX_COMPONENTS else None


def member_range(type: Type, path: Sequence[int]) -> range:
    """The numbers of the components of the member that a path leads to."""
    components = components_of(type)
    assert components is not None
    numbers = [n for n, c in enumerate(components) if c.path[: len(path)] == tuple(path)]
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)


def byte_offsets(type: Type, layout: DataLayout) -> list[int] | None:
    """Where each component is in memory; None where components are no whole bytes."""
    components = components_of(type)
    assert components is not None
    offsets: list[int] = []
    for component in components:
        if layout.bit_size(component.type) % 8:
            return None
        offset, current = 0, type
        for index in component.path:
            if isinstance(current, VectorType):
                offset += index * layout.bit_size(current.element) // 8
                current = current.element
                continue
            offset += layout.offset(current, (index,))
            assert isinstance(current, (StructType, ArrayType))
            current = (current.fields or ())[index] if isinstance(current, StructType) else current.element
        offsets.append(offset)
    return offsets


def constant_components(value: Value) -> list[Value] | None:
    """The components of a constant; None for one that is not known to have any."""
    components = components_of(value.type)
    if components is None:
        return None
    if isinstance(value, (Poison, Undef)):
        return [value.__class__(c.type) for c in components]
    if isinstance(value, ConstZero):
        return [zero_of(c.type) for c in components]
    if isinstance(value, ConstSplat):
        return [value.element] * len(components)
    if isinstance(value, ConstBytes):
        return [ConstInt(I8, byte) for byte in value.data]
    if isinstance(value, ConstAggregate):
        found: list[Value] = []
        for element in value.elements:
            inner = constant_components(element) if is_composite(element.type) else [element]
            if inner is None:
                return None
            found += inner
        return found
    if isinstance(value, ConstExpr) and value.op == "bitcast":
        return _reinterpreted(value.operands[0], [c.type for c in components])
    return None


def _reinterpreted(value: Value, types: Sequence[Type]) -> list[Value] | None:
    """The bits of a constant of numbers as components of other types, the first in the lowest bits."""
    source = constant_components(value) if is_composite(value.type) else [value]
    bits = place = 0
    for part in source or ():
        if isinstance(part, ConstInt):
            bits |= part.value << place
        elif isinstance(part, ConstFloat):
            bits |= part.bits << place
        else:
            return None
        place += _bits_of(part.type)
    found: list[Value] = []
    for type in types:
        if isinstance(type, IntType):
            found.append(ConstInt(type, bits))
        elif isinstance(type, FloatType):
            found.append(ConstFloat(type, bits & ((1 << _bits_of(type)) - 1)))
        else:
            return None
        bits >>= _bits_of(type)
    return found if source else None


def _bits_of(type: Type) -> int:
    return (
        type.bits
        if isinstance(type, IntType)
        else FLOAT_BITS[type.kind]
        if isinstance(type, FloatType)
        else 0
    )
