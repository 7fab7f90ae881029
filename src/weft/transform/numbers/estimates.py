"""Estimates of inverses of doubles, as processors with AVX-512 have them, and sums that make them exact."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.ir import Builder, ConstFloat, ConstInt, ConstSplat, Value
from weft.ir.constants import ConstZero
from weft.ir.intrinsics import PURE
from weft.ir.types import F64, I8, FunctionType, VectorType

MOST_LANES = 8
"""Doubles of a register."""


class Sums(Struct, frozen=True):
    """Sums and products of vectors, without flags, so that nothing is added up in another order."""

    build: Builder
    type: VectorType

    @classmethod
    def of(cls, build: Builder, y: Value) -> Sums:
        """Those of vectors like one."""
        assert isinstance(y.type, VectorType)
        return cls(build, y.type)

    def number(self, value: float) -> Value:
        """A vector of one number."""
        return ConstSplat(self.type, ConstFloat.of(F64, value))

    def times(self, a: Value, b: Value) -> Value:
        """``a b``."""
        return self.build.binary("fmul", a, b)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """``a b + c``, rounded once."""
        type, name = self.type, f"llvm.fma.v{self.type.count}f64"
        return self.build.call(
            self.build.module.declare(name, FunctionType(type, (type, type, type)), PURE), (a, b, c)
        )

    def lacking(self, a: Value, b: Value) -> Value:
        """``1 - a b``."""
        return self.fma(self.build.unary("fneg", a), b, self.number(1))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """``c0 + c1 x + ...``."""
        value = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.fma(value, x, self.number(coefficient))
        return value


def doubles_of(value: Value) -> int:
    """How many doubles a vector has, if registers of one size may hold them; 0 for other values."""
    type = value.type
    if not isinstance(type, VectorType) or type.element != F64:
        return 0
    return type.count if type.count > 1 and type.count & (type.count - 1) == 0 else 0


def estimate(build: Builder, kind: str, y: Value) -> Value:
    """The processor's ``rsqrt14`` or ``rcp14``, register for register."""
    lanes = doubles_of(y)
    if lanes > MOST_LANES:
        parts = [build.shuffle(y, y, range(at, at + lanes // 2)) for at in (0, lanes // 2)]
        low, high = (estimate(build, kind, part) for part in parts)
        return build.shuffle(low, high, range(lanes))
    type, name = y.type, f"llvm.x86.avx512.{kind}.pd.{64 * lanes}"
    function = build.module.declare(name, FunctionType(type, (type, type, I8)), PURE)
    return build.call(function, (y, ConstZero(type), ConstInt(I8, -1)))
