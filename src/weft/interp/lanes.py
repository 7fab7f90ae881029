"""Values of P-LLVM as lane vectors.

A value of ``W`` threads is an array whose first axis runs over the lanes; that axis has length 1 when the
value was computed from values that are the same in every lane, and NumPy's broadcasting does the rest.
Arrays are never changed in place: values may share them.

==========================  =========================================================================
type                        data
==========================  =========================================================================
``i1``                      bool
``i2`` .. ``i64``           the smallest unsigned dtype that holds the width, unused high bits zero
wider integers              object (Python's int), in ``0 .. 2**n - 1``
``half``/``float``/``double``  float16 / float32 / float64
``bfloat``                  uint16, the bit pattern
``ptr``                     uint64
``<k x T>``                 as T, with a second axis of length k
arrays and structs          a `Bundle` of the members' values
==========================  =========================================================================

Beside the data stand `flags`, per element: `POISON` for poison, which is also Moll's ⊤ (§4.6), `UNDEF` for
bits that came from ``undef`` or uninitialized memory; None says that every element is well defined. The two
differ in what may be done with them: the data beside `UNDEF` is one of the values LLVM allows, so execution
goes on with it and only the comparison of results is told; a branch or access that depends on `POISON` is
undefined behaviour.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType

Array = np.ndarray
Flags = np.ndarray | None

UNDEF = np.uint8(1)
POISON = np.uint8(2)

NOWHERE = np.zeros(1, np.bool_)
"""What holds for no element; `add_poison` need not look at it."""

FLOAT_DTYPES = {
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(np.uint16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


class Lanes:
    """A scalar or vector value of every lane; `flags` broadcasts against `data` (or the reverse)."""

    __slots__ = ("data", "flags")

    def __init__(self, data: Array, flags: Flags = None) -> None:
        self.data = data
        self.flags = flags

    def __repr__(self) -> str:
        return f"Lanes({self.data!r}, {self.flags!r})"


class Bundle:
    """An array or struct value: one value per member."""

    __slots__ = ("members",)

    def __init__(self, members: tuple[LaneValue, ...]) -> None:
        self.members = members

    def __repr__(self) -> str:
        return f"Bundle({self.members!r})"


LaneValue = Lanes | Bundle


@cache
def dtype_of(type: Type) -> np.dtype:
    """The dtype of the data of `type`, of the elements when it is a vector."""
    scalar = type.scalar
    if isinstance(scalar, IntType):
        if scalar.bits == 1:
            return np.dtype(np.bool_)
        for bits in (8, 16, 32, 64):
            if scalar.bits <= bits:
                return np.dtype(f"u{bits // 8}")
        return np.dtype(object)
    if isinstance(scalar, FloatType):
        return FLOAT_DTYPES[scalar.kind]
    if isinstance(scalar, PointerType):
        return np.dtype(np.uint64)
    raise UnsupportedError(f"the interpreter has no values of type {type}")


def shape_of(type: Type, lanes: int) -> tuple[int, ...]:
    """The shape of `lanes` values of a scalar or vector type."""
    return (lanes, type.count) if isinstance(type, VectorType) else (lanes,)


def member_types(type: Type) -> tuple[Type, ...]:
    """The types of the members of an array or struct type."""
    if isinstance(type, ArrayType):
        return (type.element,) * type.count
    assert isinstance(type, StructType)
    if type.fields is None:
        raise UnsupportedError(f"{type} is opaque and has no values")
    return type.fields


def filled(type: Type, flag: np.uint8 | None, lanes: int = 1) -> LaneValue:
    """The zero of any type with every element flagged `flag`."""
    if type.is_aggregate:
        return Bundle(tuple(filled(t, flag, lanes) for t in member_types(type)))
    shape = shape_of(type, lanes)
    data = np.zeros(shape, dtype_of(type))
    return Lanes(data, None if flag is None else np.full(shape, flag, np.uint8))


def join_flags(a: Flags, b: Flags) -> Flags:
    """The flags of a result that depends on both."""
    if a is None:
        return b
    return a if b is None else a | b


def add_poison(flags: Flags, where: Array) -> Flags:
    """`flags`, with the elements that are true in `where` made poison."""
    if where is NOWHERE or not np.count_nonzero(where):
        return flags
    poison = where * POISON
    return poison if flags is None else flags | poison


def full(a: Array, shape: tuple[int, ...]) -> Array:
    """The array at its full shape; not to be written to."""
    return a if a.shape == shape else np.broadcast_to(a, shape)


def per_element(mask: Array, data: Array) -> Array:
    """A mask over lanes, shaped to select among the elements of `data`."""
    return mask[:, None] if data.ndim == 2 and mask.ndim == 1 else mask


def choose(mask: Array, yes: LaneValue, no: LaneValue) -> LaneValue:
    """`yes` in the lanes where `mask` holds, `no` elsewhere."""
    if yes is no:
        return yes
    if isinstance(yes, Bundle):
        assert isinstance(no, Bundle)
        return Bundle(tuple(choose(mask, y, n) for y, n in zip(yes.members, no.members, strict=True)))
    assert not isinstance(no, Bundle)
    condition = per_element(mask, yes.data)
    data = yes.data if yes.data is no.data else np.where(condition, yes.data, no.data)
    if yes.flags is None and no.flags is None:
        return Lanes(data)
    zero = np.uint8(0)
    flags = np.where(
        condition, zero if yes.flags is None else yes.flags, zero if no.flags is None else no.flags
    )
    # Often the undefined lanes of both sides are the ones that were not chosen.
    return Lanes(data, flags if np.count_nonzero(flags) else None)


def poison_outside(mask: Array, value: LaneValue) -> LaneValue:
    """`value`, but ⊤ in the lanes where `mask` does not hold."""
    if isinstance(value, Bundle):
        return Bundle(tuple(poison_outside(mask, m) for m in value.members))
    inside = np.uint8(0) if value.flags is None else value.flags
    return Lanes(value.data, np.where(per_element(mask, value.data), inside, POISON))


def spread(value: LaneValue, lanes: int) -> LaneValue:
    """The value with data and flags at their full shape, one row per lane (flags stay None)."""
    if isinstance(value, Bundle):
        return Bundle(tuple(spread(m, lanes) for m in value.members))
    shape = (lanes, *value.data.shape[1:])
    flags = None if value.flags is None else np.broadcast_to(value.flags, shape)
    return Lanes(np.broadcast_to(value.data, shape), flags)


def is_poison(flags: Flags) -> Array | None:
    """Per element, whether it is poison; None when none is."""
    if flags is None:
        return None
    poison = (flags & POISON) != 0
    return poison if np.count_nonzero(poison) else None
