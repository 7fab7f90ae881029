"""The bits of some scalars as scalars of other types: ``bitcast`` between vectors of different elements."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import Builder, ConstInt, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, Type

_LAYOUT = DataLayout()


def same_bits(builder: Builder, sources: Sequence[Value], targets: Sequence[Type]) -> list[Value]:
    """Values of the target types with the bits of the sources, the first of which has the lowest bits."""
    if len(sources) == len(targets):
        return [_cast(builder, s, t) for s, t in zip(sources, targets, strict=True)]
    if len(sources) % len(targets) == 0:
        count = len(sources) // len(targets)
        groups = [sources[k * count : (k + 1) * count] for k in range(len(targets))]
        return [_cast(builder, _joined(builder, g), t) for g, t in zip(groups, targets, strict=True)]
    if len(targets) % len(sources) == 0:
        count = len(targets) // len(sources)
        return [
            _cast(builder, part, targets[k * count + n])
            for k, source in enumerate(sources)
            for n, part in enumerate(_split(builder, source, count))
        ]
    whole = _split(builder, _joined(builder, sources), len(targets))
    return [_cast(builder, part, t) for part, t in zip(whole, targets, strict=True)]


def _cast(builder: Builder, value: Value, type: Type) -> Value:
    return value if value.type == type else builder.cast("bitcast", value, type)


def _as_integer(builder: Builder, value: Value) -> Value:
    return _cast(builder, value, IntType(_LAYOUT.bit_size(value.type)))


def _joined(builder: Builder, values: Sequence[Value]) -> Value:
    """One integer with the bits of all."""
    bits = _LAYOUT.bit_size(values[0].type)
    type = IntType(bits * len(values))
    result: Value = builder.cast("zext", _as_integer(builder, values[0]), type)
    for k, value in enumerate(values[1:], 1):
        high = builder.cast("zext", _as_integer(builder, value), type)
        result = builder.binary("or", result, builder.binary("shl", high, ConstInt(type, k * bits)))
    return result


def _split(builder: Builder, value: Value, count: int) -> list[Value]:
    """So many integers with the bits of one value."""
    integer = _as_integer(builder, value)
    assert isinstance(integer.type, IntType)
    bits = integer.type.bits // count
    type = IntType(bits)
    parts: list[Value] = []
    for k in range(count):
        shifted = builder.binary("lshr", integer, ConstInt(integer.type, k * bits)) if k else integer
        parts.append(builder.cast("trunc", shifted, type))
    return parts
