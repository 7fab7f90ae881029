"""Random scalar expressions that are defined for all operands (unless poison is asked for)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from weft.ir import Builder, ConstFloat, ConstInt, ConstNull, Instruction, Module, Value
from weft.ir.types import (
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    Type,
)

if TYPE_CHECKING:
    from generators.programs import Options

Pool = dict[Type, list[Value]]

_CONSTANTS = (0, 1, 2, 3, 4, 7, 8, 16, 31, 64, 255, -1, -2, -8, 100, 1 << 20)
_PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
_INTRINSIC_ATTRIBUTES = ("nounwind", "speculatable", "willreturn", "memory(none)")


class Expressions:
    """Makes expressions over a pool of values by type."""

    def __init__(self, rng: random.Random, module: Module, options: Options) -> None:
        self.rng = rng
        self.module = module
        self.options = options

    def pick(self, type: Type, pool: Pool) -> Value:
        """A value of a type: of the pool, newer ones more often, or a constant."""
        rng, values = self.rng, pool[type]
        kind = rng.random()
        if values and kind < 0.55:
            return values[-1 - min(int(rng.expovariate(0.4)), len(values) - 1)]
        if values and kind < 0.85:
            # What a function begins with: arguments, ids, counters. Else everything would soon be varying.
            return rng.choice(values[:5])
        if isinstance(type, IntType):
            return ConstInt(type, rng.choice(_CONSTANTS))
        if isinstance(type, FloatType):
            large = 1e4 if type is F16 else 1e10
            return ConstFloat.of(type, rng.choice((0.0, 1.0, -1.5, 0.25, large, -0.0)))
        assert isinstance(type, PointerType)
        return values[-1] if values else ConstNull(type)

    def statement(self, builder: Builder, pool: Pool) -> Instruction:
        """One new value."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.45:
            return self._integer(builder, pool)
        if kind < 0.6:
            type = rng.choice((I32, I32, I64, *(t for t in (I16, I8) if pool[t])))
            return builder.icmp(rng.choice(_PREDICATES), self.pick(type, pool), self.pick(type, pool))
        if kind < 0.7:
            return self._select(builder, pool)
        if kind < 0.86:
            return self._cast(builder, pool)
        if kind < 0.92 or not self.options.floats:
            return self._intrinsic(builder, pool)
        return self._float(builder, pool)

    def flags(self, *names: str) -> tuple[str, ...]:
        """Some of the flags, where poison may be."""
        if not self.options.poison:
            return ()
        return tuple(n for n in names if self.rng.random() < 0.3)

    def _integer(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        type = rng.choice((I32, I32, I32, I64, I64, *(t for t in (I16, I8) if pool[t])))
        op = rng.choice(
            (
                "add",
                "add",
                "add",
                "sub",
                "sub",
                "mul",
                "mul",
                "and",
                "or",
                "xor",
                "shl",
                "lshr",
                "ashr",
                "udiv",
                "urem",
                "sdiv",
                "srem",
            )
        )
        a, b = self.pick(type, pool), self.pick(type, pool)
        if op in ("mul", "and", "shl", "add") and rng.random() < 0.5:
            b = ConstInt(type, rng.choice((1, 2, 3, 4, 8, 12, 16, -4)))
        if op in ("shl", "lshr", "ashr"):
            b = ConstInt(type, rng.randint(0, type.bits - 1)) if isinstance(b, ConstInt) else builder.binary(
                "and", b, ConstInt(type, type.bits - 1))  # fmt: skip
        elif op in ("udiv", "urem"):
            b = ConstInt(type, rng.choice((1, 2, 3, 4, 8, 10))) if rng.random() < 0.6 else builder.binary(
                "or", b, ConstInt(type, 1))  # fmt: skip
        elif op in ("sdiv", "srem"):
            b = ConstInt(type, rng.choice((1, 2, 3, 4, 8, 10)))
        possible = {
            "add": ("nsw", "nuw"), "sub": ("nsw", "nuw"), "mul": ("nsw", "nuw"), "shl": ("nsw", "nuw"),
            "lshr": ("exact",), "ashr": ("exact",), "udiv": ("exact",), "sdiv": ("exact",), "or": ("disjoint",),
        }.get(op, ())  # fmt: skip
        return builder.binary(op, a, b, self.flags(*possible))

    def _select(self, builder: Builder, pool: Pool) -> Instruction:
        pointers = self.rng.random() < 0.15 and any(t.is_pointer and len(v) > 1 for t, v in pool.items())
        type = next(t for t in pool if t.is_pointer) if pointers else self.rng.choice((I32, I32, I64, I1))
        return builder.select(self.pick(I1, pool), self.pick(type, pool), self.pick(type, pool))

    def _cast(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        source = rng.choice((I32, I32, I64, *(t for t in (I1, I16, I8) if pool[t])))
        target = rng.choice([t for t in (I8, I16, I32, I64) if t != source])
        if source.bits > target.bits:
            return builder.cast("trunc", self.pick(source, pool), target, self.flags("nuw", "nsw"))
        op = rng.choice(("zext", "sext"))
        return builder.cast(op, self.pick(source, pool), target, self.flags("nneg") if op == "zext" else ())

    def _intrinsic(self, builder: Builder, pool: Pool) -> Instruction:
        type = self.rng.choice((I32, I64))
        name = self.rng.choice(("umin", "umax", "smin", "smax", "abs"))
        second: Type = I1 if name == "abs" else type
        function = self.module.declare(
            f"llvm.{name}.{type}", FunctionType(type, (type, second)), _INTRINSIC_ATTRIBUTES
        )
        other = ConstInt(I1, 0) if name == "abs" else self.pick(type, pool)
        return builder.call(function, (self.pick(type, pool), other))

    def _float(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        type = rng.choice((F32, F32, F64))
        kind = rng.random()
        if kind < 0.4:
            return builder.binary(
                rng.choice(("fadd", "fsub", "fmul", "fdiv")), self.pick(type, pool), self.pick(type, pool)
            )
        if kind < 0.6:
            return builder.cast(rng.choice(("sitofp", "uitofp")), self.pick(I32, pool), type)
        if kind < 0.7:
            return builder.cast("fpext", self.pick(F32, pool), F64)
        if kind < 0.8:
            return builder.cast("fptrunc", self.pick(F64, pool), F32)
        return builder.fcmp(
            rng.choice(("olt", "oge", "une", "ueq", "ord")), self.pick(type, pool), self.pick(type, pool)
        )
