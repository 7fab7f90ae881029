"""Constants as lane values, and global initializers as bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.diag.errors import InterpError
from weft.interp.lanes import POISON, UNDEF, Bundle, Lanes, LaneValue, dtype_of, filled, member_types
from weft.interp.memory.memory import MemoryObject
from weft.interp.numbers.codec import leaf
from weft.interp.numbers.floats import from_bits
from weft.ir.constants import (
    ConstAggregate,
    Constant,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstNull,
    ConstSplat,
    ConstZero,
    Poison,
    Undef,
)
from weft.ir.function import Function, GlobalVariable
from weft.ir.layout import DataLayout
from weft.ir.types import FloatType, VectorType
from weft.ir.values import Value

Resolve = Callable[[Function | GlobalVariable], int]
"""Gives the address of a global."""

Evaluate = Callable[[ConstExpr], LaneValue]


def constant_value(constant: Value, resolve: Resolve, evaluate: Evaluate) -> LaneValue:
    """The constant as a value that is the same in every lane."""
    if isinstance(constant, ConstInt):
        return Lanes(np.array([constant.value], dtype_of(constant.type)))
    if isinstance(constant, ConstFloat):
        assert isinstance(constant.type, FloatType)
        bits = np.array([constant.bits], f"u{constant.type.bits // 8}")
        return Lanes(from_bits(constant.type, bits))
    if isinstance(constant, (ConstNull, ConstZero)):
        return filled(constant.type, None)
    if isinstance(constant, Undef):
        return filled(constant.type, UNDEF)
    if isinstance(constant, Poison):
        return filled(constant.type, POISON)
    if isinstance(constant, (Function, GlobalVariable)):
        return Lanes(np.array([resolve(constant)], np.uint64))
    if isinstance(constant, ConstExpr):
        return evaluate(constant)
    if isinstance(constant, ConstSplat):
        assert isinstance(constant.type, VectorType)
        element = constant_value(constant.element, resolve, evaluate)
        return _vector([element] * constant.type.count)
    if isinstance(constant, ConstAggregate):
        members = [constant_value(e, resolve, evaluate) for e in constant.elements]
        return _vector(members) if constant.type.is_vector else Bundle(tuple(members))
    if isinstance(constant, ConstBytes):
        data = np.frombuffer(constant.data, np.uint8)
        return Bundle(tuple(Lanes(data[i : i + 1]) for i in range(data.size)))
    raise InterpError(f"the interpreter has no value for {constant!r}")


def _vector(elements: list[LaneValue]) -> Lanes:
    scalars = [e for e in elements if isinstance(e, Lanes)]
    data = np.stack([e.data for e in scalars], axis=1)
    if all(e.flags is None for e in scalars):
        return Lanes(data)
    zero = np.zeros(1, np.uint8)
    return Lanes(data, np.stack([zero if e.flags is None else e.flags for e in scalars], axis=1))


def store_initializer(
    target: MemoryObject,
    offset: int,
    constant: Value,
    layout: DataLayout,
    resolve: Resolve,
    evaluate: Evaluate,
) -> None:
    """Write a global's initial value into its (zeroed) object."""
    if isinstance(constant, (ConstZero, ConstNull)):
        return
    if isinstance(constant, ConstBytes):
        target.data[offset : offset + len(constant.data)] = np.frombuffer(constant.data, np.uint8)
        return
    if isinstance(constant, ConstAggregate) and constant.type.is_aggregate:
        for index, element in enumerate(constant.elements):
            inner = offset + layout.offset(constant.type, (index,))
            store_initializer(target, inner, element, layout, resolve, evaluate)
        return
    if constant.type.is_aggregate:
        assert isinstance(constant, Constant)
        flag = POISON if isinstance(constant, Poison) else UNDEF
        for index, member in enumerate(member_types(constant.type)):
            inner = offset + layout.offset(constant.type, (index,))
            part = Poison(member) if flag == POISON else Undef(member)
            store_initializer(target, inner, part, layout, resolve, evaluate)
        return
    value = constant_value(constant, resolve, evaluate)
    assert isinstance(value, Lanes)
    where = np.array([offset], np.uint64)
    leaf(constant.type, layout).write(target, where, value.data, value.flags)
