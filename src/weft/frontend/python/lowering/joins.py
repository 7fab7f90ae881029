"""Joins: the one type of a variable, conditional expression or result that has several sources."""

from __future__ import annotations

from msgspec import Struct

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import (
    Array,
    KernelType,
    Record,
    Scalar,
    Static,
    Tiled,
    Tuple,
    tiled_type,
    tuple_type,
)
from weft.frontend.python.typing_rules import Literals, join


class Info(Struct, frozen=True):
    """What is known of a variable: its type, its values if all are literals, and a lower bound (see `Typed`)."""

    type: KernelType
    literals: Literals | None = None
    low: int | None = None
    sure: bool = True


def info_of(value: Typed) -> Info:
    """What is known of one value."""
    literals = None
    if isinstance(value.literal, (bool, int)):
        number = int(value.literal)
        literals = Literals(number, number, abs(number) <= 1 << 24)
    elif isinstance(value.literal, (float, complex)):
        literals = Literals(0, 0)
    return Info(value.type, literals, value.low, value.sure)


def join_infos(a: Info, b: Info) -> tuple[Info, bool]:
    """The join of what is known from two sources, and whether it loses precision.

    Raises
    ------
    TypingError
        No type holds both; the message names the types only.
    """
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    if isinstance(a.type, Scalar) and isinstance(b.type, Scalar):
        type, loses = join(a.type, b.type, a.literals, b.literals)
        both = a.literals.union(b.literals) if a.literals and b.literals else None
        return Info(type, both, low, a.sure and b.sure), loses
    return Info(join_types(a.type, b.type)), False


def join_types(a: KernelType, b: KernelType) -> KernelType:
    """The join of two types, no values known."""
    if a is b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return join(a, b, None, None)[0]
    if isinstance(a, Array) and isinstance(b, Array):
        if a.dtype is b.dtype and a.ndim == b.ndim and a.space == b.space:
            return a.replace(
                layout="C" if a.layout == b.layout == "C" else "A",
                readonly=a.readonly or b.readonly,
                aligned=a.aligned and b.aligned,
                shape=a.shape if a.shape == b.shape else None,
            )
    elif isinstance(a, Tiled) and isinstance(b, Tiled):
        if a.lies_as(b):
            return tiled_type(a.dtype, a.block, a.origin, a.readonly or b.readonly)
    elif isinstance(a, Tuple) and isinstance(b, Tuple):
        if len(a.items) == len(b.items) and a.cls is b.cls:
            return tuple_type(tuple(map(join_types, a.items, b.items)), a.cls)
    elif isinstance(a, Record) and isinstance(b, Record):
        if a.numpy_dtype == b.numpy_dtype:
            return min(a, b, key=lambda record: record.align)
    elif isinstance(a, Static) and isinstance(b, Static) and a.value is b.value:
        return a
    raise TypingError(f"{a} and {b} have no common type")
