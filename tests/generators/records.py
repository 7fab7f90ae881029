"""Random structs: objects on the stack, and aggregates and short vectors as values."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from generators.numbers import plain_bits
from weft.ir import Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.types import (
    F32,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    VOID,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    StructType,
    Type,
    VectorType,
)

if TYPE_CHECKING:
    from generators.expressions import Expressions, Pool

_PAIR = StructType((I16, F32))
RECORD = StructType((I32, I64, ArrayType(_PAIR, 4), I8))
_RECORD_BYTES = 56
_LANES = 4


class Records:
    """Statements about structs, for one function."""

    def __init__(self, rng: random.Random, function: Function, expressions: Expressions) -> None:
        self.rng = rng
        assert function.module is not None
        self.module: Module = function.module
        self.pick = expressions.pick
        self.objects: list[Instruction] = []
        self.values = rng.random() < 0.2
        """Whether the function has aggregates and short vectors as values."""

    def enter(self, builder: Builder) -> None:
        """Make the objects; they are zero."""
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            made = builder.alloca(RECORD, align=8)
            fill = self.module.declare(
                "llvm.memset.p0.i64", FunctionType(VOID, (PTR, I8, I64, I1)), ("nounwind", "willreturn")
            )
            builder.call(fill, (made, ConstInt(I8, 0), ConstInt(I64, _RECORD_BYTES), ConstInt(I1, 0)))
            self.objects.append(made)

    def statement(self, builder: Builder, pool: Pool) -> None:
        """An access to a member, or values put together and taken apart."""
        if self.values and self.rng.random() < 0.6:
            self.rng.choice((self._aggregate, self._overflow, self._vector))(builder, pool)
        elif self.objects:
            self._member(builder, pool)

    def _member(self, builder: Builder, pool: Pool) -> None:
        rng = self.rng
        record: Value = rng.choice(self.objects)
        if len(self.objects) == 2 and rng.random() < 0.3:
            record = builder.select(self.pick(I1, pool), *self.objects)
        number = rng.randrange(4)
        indices: list[Value] = [ConstInt(I64, 0), ConstInt(I32, number)]
        type: Type = (I32, I64, I16, I8)[number]
        if number == 2:
            element: Value = ConstInt(I64, rng.randrange(4))
            if rng.random() < 0.5:
                element = builder.binary("and", self.pick(I64, pool), ConstInt(I64, 3))
            half = rng.randrange(2)
            type = (I16, F32)[half]
            indices += [element, ConstInt(I32, half)]
        pointer = builder.gep(RECORD, record, indices)
        assert isinstance(type, (IntType, FloatType))
        align = type.bits // 8
        if rng.random() < 0.45:
            pool[type].append(builder.load(type, pointer, align))
        else:
            builder.store(self.pick(type, pool), pointer, align)

    def _aggregate(self, builder: Builder, pool: Pool) -> None:
        type = StructType((I32, _PAIR))
        value: Value = Poison(type)
        members = ((0,), (1, 0), (1, 1))
        types: tuple[Type, ...] = (I32, I16, F32)
        for member, part in zip(members, types, strict=True):
            value = builder.insert_value(value, self.pick(part, pool), member)
        value = builder.select(
            self.pick(I1, pool), value, builder.insert_value(value, self.pick(I32, pool), (0,))
        )
        for member, part in zip(members, types, strict=True):
            pool[part].append(builder.extract_value(value, member))

    def _overflow(self, builder: Builder, pool: Pool) -> None:
        type = self.rng.choice((I32, I64))
        name = self.rng.choice(("sadd", "uadd", "ssub", "usub", "smul", "umul"))
        callee = self.module.declare(
            f"llvm.{name}.with.overflow.{type}",
            FunctionType(StructType((type, I1)), (type, type)),
            ("nounwind", "speculatable", "willreturn", "memory(none)"),
        )
        pair = builder.call(callee, (self.pick(type, pool), self.pick(type, pool)))
        pool[type].append(builder.extract_value(pair, (0,)))
        pool[I1].append(builder.extract_value(pair, (1,)))

    def _vector(self, builder: Builder, pool: Pool) -> None:
        rng = self.rng
        element = rng.choice((I32, F32))
        vectors: list[Value] = []
        for _ in range(2):
            vector: Value = Poison(VectorType(element, _LANES))
            for lane in range(_LANES):
                vector = builder.insert_element(vector, self.pick(element, pool), ConstInt(I64, lane))
            vectors.append(vector)
        shuffled = builder.shuffle(*vectors, [rng.randrange(2 * _LANES) for _ in range(_LANES)])
        result = builder.binary("fmul" if element is F32 else "add", shuffled, vectors[0])
        place: Value = ConstInt(I32, rng.randrange(_LANES))
        if rng.random() < 0.5:
            place = builder.binary("and", self.pick(I32, pool), ConstInt(I32, _LANES - 1))
        taken = builder.extract_element(result, place)
        pool[I32].append(plain_bits(builder, taken) if element is F32 else taken)
