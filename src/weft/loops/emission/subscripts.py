"""The subscripts of an access: one for each dimension of an array of Python, one number for all others."""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.alias import locate
from weft.ir import Argument, ConstInt, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import Type

Terms = list[tuple[Value | None, int]]
"""A sum of multiples of values; None is 1."""


class Shape(Struct, frozen=True):
    """The dimensions of an array.

    Parameters
    ----------
    name
        The array.
    ndim
        How many there are.
    is_contiguous
        Whether its elements stand in C order.
    is_unsigned
        Whether they are unsigned integers.
    itemsize
        The bytes of one.
    """

    name: str
    ndim: int
    is_contiguous: bool
    is_unsigned: bool
    itemsize: int


def subscripts(
    access: Instruction, shape: Shape | None, layout: DataLayout, element: Type
) -> list[Terms] | str:
    """The subscripts of a load or store, or why there are none."""
    place = locate(access.pointer, layout)
    size = layout.store_size(element)
    terms: Terms = []
    for value, scale in place.terms.items():
        terms += [(v, scale * s) for v, s in _addends(value)]
    constant = place.offset + sum(s for v, s in terms if v is None)
    terms = [(v, s) for v, s in terms if v is not None]
    if shape is not None and not shape.is_contiguous:
        return _strided(terms, constant, shape)
    if constant % size or any(s % size for _, s in terms):
        return "it begins within an element"
    terms = [(v, s // size) for v, s in terms]
    constant //= size
    if shape is None or shape.ndim == 1:
        return [_sum(terms, constant)]
    return _rows(terms, constant, shape)


def _sum(terms: Terms, constant: int) -> Terms:
    return [*terms, *([(None, constant)] if constant or not terms else [])]


def _addends(value: Value) -> Terms:
    """The values that an index is the sum of."""
    if isinstance(value, Instruction) and value.type.bits == 64:  # type: ignore[attr-defined]
        if value.op == "add":
            return [t for o in value.operands for t in _addends(o)]
        if value.op == "sub" and isinstance(value.operands[1], ConstInt):
            return [*_addends(value.operands[0]), (None, -value.operands[1].signed)]
        if value.op == "mul" and isinstance(value.operands[1], ConstInt):
            factor = value.operands[1].signed
            return [(v, s * factor) for v, s in _addends(value.operands[0])]
    if isinstance(value, ConstInt):
        return [(None, value.signed)]
    return [(value, 1)]


def _strided(terms: Terms, constant: int, shape: Shape) -> list[Terms] | str:
    """Each index is multiplied by the stride of its dimension."""
    found: list[Terms] = [[] for _ in range(shape.ndim)]
    if constant:
        return "an element of a strided array is found in an unknown way"
    for value, scale in terms:
        parts = _by_factor(value, f"{shape.name}.strides.") if value is not None else None
        if parts is None or parts[1] >= shape.ndim:
            return "an element of a strided array is found in an unknown way"
        found[parts[1]] += [(v, s * scale) for v, s in parts[0]]
    return [t or [(None, 0)] for t in found]


def _rows(terms: Terms, constant: int, shape: Shape) -> list[Terms] | str:
    """``((i*m + j)*n + k)`` is ``[i, j, k]``, as the front end writes it."""
    found: list[Terms] = []
    for dimension in range(shape.ndim - 1, 0, -1):
        mine: Terms = []
        outer: Terms = []
        for value, scale in terms:
            parts = None if value is None else _by_factor(value, f"{shape.name}.shape.", dimension)
            if parts is None:
                mine.append((value, scale))
            else:
                outer += [(v, s * scale) for v, s in parts[0]]
        found.insert(0, _sum(mine, constant))
        constant = sum(s for v, s in outer if v is None)
        terms = [(v, s) for v, s in outer if v is not None]
    found.insert(0, _sum(terms, constant))
    return found


def _by_factor(value: Value, prefix: str, dimension: int | None = None) -> tuple[Terms, int] | None:
    """A product with a size or stride of the array taken apart: the other factor, and the dimension."""
    if dimension is None and isinstance(value, Argument) and value.name.startswith(prefix):
        return [(None, 1)], int(value.name[len(prefix) :])
    if not isinstance(value, Instruction) or value.op != "mul":
        return None
    for factor, other in (value.operands, value.operands[::-1]):
        if isinstance(factor, Argument) and factor.name.startswith(prefix):
            number = int(factor.name[len(prefix) :])
            if dimension in (None, number):
                return _addends(other), number
    return None
