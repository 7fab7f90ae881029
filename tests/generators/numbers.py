"""Random arithmetic over all integer and float types, with every predicate and LLVM's exactly defined intrinsics.

Nothing here may tell one NaN from another: programs store floats, or look at their bits, through `plain_bits`.
``minnum`` and ``maxnum`` are left out, since LLVM leaves their result for signalling NaNs and zeros open, and so is
what rounds twice in `half`.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from weft.ir import Builder, ConstFloat, ConstInt, Instruction, Module, Value
from weft.ir.constants import float_to_bits
from weft.ir.opcodes import FLOAT_PREDICATES, INT_PREDICATES
from weft.ir.types import F16, F32, F64, I1, I8, I16, I32, I64, FloatType, FunctionType, IntType, Type

if TYPE_CHECKING:
    from generators.expressions import Expressions, Pool

INTEGERS = (I8, I16, I32, I64)
FLOATS = (F32, F64, F16)
_BINARY = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "urem", "sdiv", "srem")
_INT_UNARY = ("ctpop", "bitreverse", "ctlz", "cttz", "abs")
_INT_BINARY = (
    "smin", "smax", "umin", "umax", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "sshl.sat", "ushl.sat",
)  # fmt: skip
_FLOAT_UNARY = ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round")
_FLOAT_BINARY = ("copysign", "minimum", "maximum")
_ATTRIBUTES = ("nounwind", "speculatable", "willreturn", "memory(none)")


class Numbers:
    """Makes one value from those of a pool."""

    def __init__(self, rng: random.Random, module: Module, expressions: Expressions, half: bool) -> None:
        self.rng = rng
        self.module = module
        self.pick = expressions.pick
        self.floats: tuple[FloatType, ...] = FLOATS if half else FLOATS[:2]

    def statement(self, builder: Builder, pool: Pool) -> Instruction:
        """One new value."""
        make = self.rng.choices(
            (
                self._integer, self._int_intrinsic, self._compare, self._select, self._int_cast,
                self._float, self._float_intrinsic, self._conversion,
            ),
            (5, 3, 3, 2, 3, 3, 2, 3),
        )[0]  # fmt: skip
        return make(builder, pool)

    def _call(self, builder: Builder, name: str, result: Type, arguments: list[Value]) -> Instruction:
        suffix = (
            f"{_mangled(result)}.{_mangled(arguments[0].type)}"
            if name.startswith("fpto")
            else _mangled(result)
        )
        type = FunctionType(result, tuple(a.type for a in arguments))
        return builder.call(self.module.declare(f"llvm.{name}.{suffix}", type, _ATTRIBUTES), arguments)

    def _integer(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        type = rng.choice(INTEGERS)
        op = rng.choice(_BINARY)
        a, b = self.pick(type, pool), self.pick(type, pool)
        if op in ("shl", "lshr", "ashr"):
            b = self._shift_count(builder, b, type)
        elif op in ("udiv", "urem"):
            b = builder.binary("or", b, ConstInt(type, 1))
        elif op in ("sdiv", "srem"):
            # Neither zero nor -1: 1 to 63, and the sign of one bit.
            low = builder.binary("and", b, ConstInt(type, 62))
            positive = builder.binary("add", low, ConstInt(type, 2))
            negative = builder.binary("sub", ConstInt(type, 0), positive)
            b = builder.select(self.pick(I1, pool), positive, negative)
        return builder.binary(op, a, b)

    def _shift_count(self, builder: Builder, count: Value, type: IntType) -> Value:
        if isinstance(count, ConstInt):
            return ConstInt(type, self.rng.randint(0, type.bits - 1))
        return builder.binary("and", count, ConstInt(type, type.bits - 1))

    def _int_intrinsic(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        type = rng.choice(INTEGERS)
        a, b = self.pick(type, pool), self.pick(type, pool)
        kind = rng.random()
        if kind < 0.4:
            name = rng.choice(_INT_UNARY)
            flag = [ConstInt(I1, 0)] if name in ("abs", "ctlz", "cttz") else []
            return self._call(builder, name, type, [a, *flag])
        if kind < 0.8:
            name = rng.choice(_INT_BINARY)
            if name.endswith("shl.sat"):
                b = self._shift_count(builder, b, type)
            return self._call(builder, name, type, [a, b])
        if kind < 0.9 and type is not I8:
            return self._call(builder, "bswap", type, [a])
        return self._call(builder, rng.choice(("fshl", "fshr")), type, [a, b, self.pick(type, pool)])

    def _compare(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        if rng.random() < 0.5:
            type = rng.choice((I1, *INTEGERS))
            return builder.icmp(rng.choice(INT_PREDICATES), self.pick(type, pool), self.pick(type, pool))
        float_type = rng.choice(self.floats)
        predicate = rng.choice(FLOAT_PREDICATES)
        return builder.fcmp(predicate, self.pick(float_type, pool), self.pick(float_type, pool))

    def _select(self, builder: Builder, pool: Pool) -> Instruction:
        type = self.rng.choice((I1, *INTEGERS, *self.floats))
        if self.rng.random() < 0.15:
            return builder.unary("freeze", self.pick(type, pool))
        return builder.select(self.pick(I1, pool), self.pick(type, pool), self.pick(type, pool))

    def _int_cast(self, builder: Builder, pool: Pool) -> Instruction:
        source, target = self.rng.sample((I1, *INTEGERS), 2)
        if source.bits > target.bits:
            return builder.cast("trunc", self.pick(source, pool), target)
        return builder.cast(self.rng.choice(("zext", "sext")), self.pick(source, pool), target)

    def _float(self, builder: Builder, pool: Pool) -> Instruction:
        type = self.rng.choice(self.floats)
        op = self.rng.choice(("fadd", "fsub", "fmul", "fdiv", "fneg", *(() if type is F16 else ("frem",))))
        if op == "fneg":
            return builder.unary(op, self.pick(type, pool))
        return builder.binary(op, self.pick(type, pool), self.pick(type, pool))

    def _float_intrinsic(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        type = rng.choice(self.floats)
        a, b = self.pick(type, pool), self.pick(type, pool)
        kind = rng.random()
        if kind < 0.6 or type is F16:
            return self._call(builder, rng.choice(_FLOAT_UNARY), type, [a])
        if kind < 0.85:
            name = rng.choice(_FLOAT_BINARY)
            # The sign of a NaN is anything.
            b = plain(builder, b) if name == "copysign" else b
            return self._call(builder, name, type, [a, b])
        return self._call(builder, "fma", type, [a, b, self.pick(type, pool)])

    def _conversion(self, builder: Builder, pool: Pool) -> Instruction:
        rng = self.rng
        kind = rng.random()
        float_type = rng.choice(self.floats)
        if kind < 0.35:
            source = rng.choice((I1, I8, I16) if float_type is F16 else (I1, *INTEGERS))
            return builder.cast(rng.choice(("sitofp", "uitofp")), self.pick(source, pool), float_type)
        if kind < 0.4:
            return self._cut(builder, self.pick(float_type, pool))
        if kind < 0.65:
            target = rng.choice(INTEGERS)
            name = rng.choice(("fptosi.sat", "fptoui.sat"))
            return self._call(builder, name, target, [self.pick(float_type, pool)])
        if kind < 0.85:
            if float_type is F64:
                return builder.cast("fptrunc", self.pick(F64, pool), F32)
            wider = F64 if float_type is F32 else F32
            return builder.cast("fpext", self.pick(float_type, pool), wider)
        if float_type is F16:
            return builder.cast("fptrunc", self.pick(F32, pool), F16)
        if rng.random() < 0.5:
            return plain_bits(builder, self.pick(float_type, pool))
        return builder.cast("bitcast", self.pick(bits_of(float_type), pool), float_type)

    def _cut(self, builder: Builder, value: Value) -> Instruction:
        """An integer of a float where it is one for sure: below 100, else of zero."""
        type = value.type
        assert isinstance(type, FloatType)
        magnitude = self._call(builder, "fabs", type, [value])
        small = builder.fcmp("olt", magnitude, ConstFloat.of(type, 100.0))
        op = self.rng.choice(("fptosi", "fptoui"))
        chosen = builder.select(small, magnitude if op == "fptoui" else value, ConstFloat.of(type, 0.0))
        return builder.cast(op, chosen, self.rng.choice(INTEGERS))


def bits_of(type: Type) -> IntType:
    """The integer type with a float's bits."""
    return {F16: I16, F32: I32, F64: I64}[type]  # type: ignore[index]


def plain(builder: Builder, value: Value) -> Instruction:
    """The float, and of all NaN one."""
    return builder.cast("bitcast", plain_bits(builder, value), value.type)


def plain_bits(builder: Builder, value: Value) -> Instruction:
    """The bits of a float, the same ones for all NaN; by integer operations, which LLVM does not see through."""
    type = value.type
    assert isinstance(type, FloatType)
    integer = bits_of(type)
    bits = builder.cast("bitcast", value, integer)
    magnitude = builder.binary("and", bits, ConstInt(integer, (1 << (integer.bits - 1)) - 1))
    is_nan = builder.icmp("ugt", magnitude, ConstInt(integer, float_to_bits(type.kind, float("inf"))))
    return builder.select(is_nan, ConstInt(integer, float_to_bits(type.kind, float("nan"))), bits)


def _mangled(type: Type) -> str:
    return {F16: "f16", F32: "f32", F64: "f64"}.get(type) or str(type)  # type: ignore[call-overload]
