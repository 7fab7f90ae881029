"""Joining vectors."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import Builder, Poison, Value
from weft.ir.types import VectorType


def concatenated(builder: Builder, parts: Sequence[Value]) -> Value:
    """The elements of all parts one behind the other, joined two by two."""
    parts = list(parts)
    while len(parts) > 1:
        joined = [_joined(builder, a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = joined + parts[2 * len(joined) :]
    return parts[0]


def _joined(builder: Builder, a: Value, b: Value) -> Value:
    assert isinstance(a.type, VectorType) and isinstance(b.type, VectorType)
    first, second = a.type.count, b.type.count
    longer = max(first, second)
    a, b = (_padded(builder, v, longer) for v in (a, b))
    return builder.shuffle(a, b, [*range(first), *range(longer, longer + second)])


def _padded(builder: Builder, vector: Value, count: int) -> Value:
    assert isinstance(vector.type, VectorType)
    known = vector.type.count
    if known == count:
        return vector
    return builder.shuffle(vector, Poison(vector.type), [i if i < known else -1 for i in range(count)])
