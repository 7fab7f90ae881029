"""Which of several declared signatures a call takes: numba's rules.

Each argument needs a conversion: *exact*, *promote* (more of the same kind), *safe* (values are kept, or nearly so) or
*unsafe*. The signature with the fewest unsafe conversions is taken, among equals the one with the fewest safe ones,
then the fewest promotions. Python numbers count as ``int64``, ``float64`` and ``complex128``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from weft.frontend.python.types import (
    STRONG,
    Array,
    KernelType,
    Record,
    Scalar,
    Signature,
    Tiled,
    Time,
    Tuple,
    bfloat16,
    boolean,
    complex128,
    float64,
    int64,
)

_ROWS = """
?    = s s s s s s s s s s s s s s
i1   u = p p p u u u u s s s s s s
i2   u u = p p u u u u u s s s s u
i4   u u u = p u u u u u u s u s u
i8   u u u u = u u u u u u s u s u
u1   u u s s s = p p p u s s s s s
u2   u u u s s u = p p u u s u s u
u4   u u u u s u u = p u u s u s u
u8   u u u u u u u u = u u s u s u
f2   u u u u u u u u u = p p s s u
f4   u u u u u u u u u u = p s s u
f8   u u u u u u u u u u u = u s u
c8   - - - - - - - - - - - - = p -
c16  - - - - - - - - - - - - u = -
bf   u u u u u u u u u u p p s s =
"""


class Conversion(IntEnum):
    """How an argument becomes what a parameter takes, the best first."""

    EXACT = 0
    PROMOTE = 1
    SAFE = 2
    UNSAFE = 3


_TYPES = (*STRONG, bfloat16)
_LETTERS = dict(zip("=psu", Conversion, strict=True))
CONVERSIONS: dict[tuple[Scalar, Scalar], Conversion] = {
    (source, target): _LETTERS[letter]
    for source, row in zip(_TYPES, _ROWS.strip().splitlines(), strict=True)
    for target, letter in zip(_TYPES, row.split()[1:], strict=True)
    if letter in _LETTERS
}
"""Of two types; what is missing has no conversion."""

_STRONG = {"i": int64, "f": float64, "c": complex128}


class NoSignature(Exception):
    """No signature takes the arguments, or several do equally well; the text says which."""


def conversion(source: KernelType, target: KernelType) -> Conversion | None:
    """How a value of one type becomes one of another, None when it does not."""
    if isinstance(source, Time) or isinstance(target, Time):
        return _of_time(source, target)
    if isinstance(source, Scalar) and isinstance(target, Scalar):
        return CONVERSIONS.get((strong(source), strong(target)))
    if isinstance(source, Array) and isinstance(target, Array):
        return _of_array(source, target)
    if isinstance(source, Tiled) and isinstance(target, Tiled):
        if not source.lies_as(target):
            return None
        if source.readonly == target.readonly:
            return Conversion.EXACT
        return Conversion.SAFE if target.readonly else None
    if isinstance(source, Tuple) and isinstance(target, Tuple):
        if len(source.items) != len(target.items) or target.cls not in (None, source.cls):
            return None
        parts = [conversion(*pair) for pair in zip(source.items, target.items, strict=True)]
        found = [part for part in parts if part is not None]
        return max(found, default=Conversion.EXACT) if len(found) == len(parts) else None
    return Conversion.EXACT if source is target else None


def _of_time(source: KernelType, target: KernelType) -> Conversion | None:
    """Dates and spans take those of a unit that is no finer."""
    if source is target:
        return Conversion.EXACT
    if not isinstance(source, Time) or not isinstance(target, Time) or source.kind != target.kind:
        return None
    return Conversion.SAFE if np.can_cast(source.dtype, target.dtype, "safe") else None


def strong(type: Scalar) -> Scalar:
    """What elements are where an expression gives Python numbers; other types are themselves."""
    return _STRONG[type.kind] if type.weak else type


def _of_array(source: Array, target: Array) -> Conversion | None:
    """Where its memory is, and whether its extents are known, is no part of a signature."""
    if source.dtype is not target.dtype or source.ndim != target.ndim:
        return None
    if target.layout not in ("A", source.layout) or (source.readonly and not target.readonly):
        return None
    if target.aligned and not source.aligned:
        return None
    same = (source.layout, source.readonly, source.aligned) == (
        target.layout,
        target.readonly,
        target.aligned,
    )
    return Conversion.EXACT if same else Conversion.SAFE


def _unaligned(types: Sequence[KernelType], signature: Signature) -> Signature | None:
    """The signature with the alignment that these arrays have, where nothing else about them is unlike it.

    Whoever declares ``float64[:]`` means arrays at any address; that elements are aligned is what compiled code of the
    signature itself makes use of.
    """
    if len(types) != len(signature.args):
        return None
    params = tuple(map(_as_aligned, types, signature.args))
    return None if params == signature.args else Signature(params, signature.result)


def _as_aligned(given: KernelType, declared: KernelType) -> KernelType:
    """The declared type with the alignment of an array that differs in nothing else."""
    if not isinstance(given, Array) or not isinstance(declared, Array):
        return declared
    a, b = given.dtype, declared.dtype
    if isinstance(a, Record) and isinstance(b, Record):
        same = a is not b and _layout(a) == _layout(b)
    else:
        same = a is b and declared.aligned and not given.aligned
    return declared.replace(dtype=a, aligned=given.aligned) if same else declared


def _layout(record: Record) -> tuple[object, ...]:
    fields = tuple(
        (name, f.offset, f.shape, _layout(f.type) if isinstance(f.type, Record) else f.type)
        for name, f in record.fields.items()
    )
    return record.size, fields


def best_signature(
    name: str, types: Sequence[KernelType], signatures: Sequence[Signature], *, first_of_equals: bool = False
) -> Signature:
    """The signature that a call with arguments of these types takes.

    Parameters
    ----------
    name
        The function's name, for messages.
    first_of_equals
        Whether the first of several that fit equally well is taken, as numba does for calls in compiled code; calls
        from Python are ambiguous then.

    Raises
    ------
    NoSignature
        There is none, or no best one.
    """
    rated = [(cost, s) for s in signatures if (cost := _cost(types, s.args)) is not None]
    best = min((cost for cost, _ in rated), default=None)
    chosen = [signature for cost, signature in rated if cost == best]
    given = Signature(types)
    if not chosen:
        raise NoSignature(f"{name} has no signature for {given}")
    if len(chosen) > 1 and not first_of_equals:
        fitting = " and ".join(map(str, chosen))
        raise NoSignature(f"a call of {name} with {given} is ambiguous: {fitting} fit equally well")
    return chosen[0]


def best_or_unaligned(name: str, types: Sequence[KernelType], signatures: Sequence[Signature]) -> Signature:
    """As `best_signature`; where none takes the arguments as their alignment is, one that is like it but for that."""
    try:
        return best_signature(name, types, signatures)
    except NoSignature:
        others = [found for s in signatures if (found := _unaligned(types, s)) is not None]
        if not others:
            raise
    return best_signature(name, types, others)


def _cost(types: Sequence[KernelType], params: Sequence[KernelType]) -> tuple[int, int, int] | None:
    """How many unsafe, safe and promoting conversions the arguments need."""
    if len(types) != len(params):
        return None
    needed = [conversion(*pair) for pair in zip(types, params, strict=True)]
    if None in needed:
        return None
    return (
        needed.count(Conversion.UNSAFE),
        needed.count(Conversion.SAFE),
        needed.count(Conversion.PROMOTE),
    )


def converted(value: Any, target: KernelType) -> Any:
    """An argument from Python as its parameter takes it: numbers as kernels convert them, all else as it is."""
    if isinstance(target, Tuple) and isinstance(value, tuple):
        return tuple(converted(item, type) for item, type in zip(value, target.items, strict=True))
    if not isinstance(target, Scalar) or isinstance(target, Time):
        return value
    if target is boolean:
        return bool(value)
    if not target.is_integer:
        return value
    low, high = target.limits
    if isinstance(value, int) or not hasattr(value, "is_integer"):
        number = int(value)
        # A mask is written as its bits, 0xFFFFFFFF, and passed as an int32.
        return number - (high - low + 1) if target.kind == "i" and high < number <= high - low else number
    return 0 if value != value else int(min(max(value, low), high))
