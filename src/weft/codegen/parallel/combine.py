"""Combining the partial results of a reduction: those of the lanes, and those of chunks of a loop."""

from __future__ import annotations

import math

from weft.analysis.loops.reductions import Combination, Reduction
from weft.codegen.widen.masked import mangled
from weft.ir import Builder, ConstInt, Module, Value
from weft.ir.builder import const_float
from weft.ir.constants import Constant, Poison
from weft.ir.types import I64, FloatType, FunctionType, IntType, Type, VectorType

_COMPARES = {Combination.FMIN: "olt", Combination.FMAX: "ogt"}
_PREFER_NUMBERS = frozenset(
    {Combination.FMINNUM, Combination.FMAXNUM, Combination.FMINIMUMNUM, Combination.FMAXIMUMNUM}
)
_SMALLER = frozenset({Combination.FMIN, Combination.FMINNUM, Combination.FMINIMUMNUM, Combination.FMINIMUM})
_BINARY = {"add", "mul", "and", "or", "xor", "fadd", "fmul"}

OF_ATOMIC = {
    "add": Combination.ADD, "sub": Combination.ADD, "and": Combination.AND, "or": Combination.OR,
    "xor": Combination.XOR, "fadd": Combination.FADD, "fsub": Combination.FADD, "min": Combination.SMIN,
    "max": Combination.SMAX, "umin": Combination.UMIN, "umax": Combination.UMAX,
}  # fmt: skip
"""How what an atomic operation does in several copies of an element is combined."""


def neutral_element(reduction: Reduction, type: Type) -> Constant:
    """What changes no value by being combined with it."""
    combination = reduction.combination
    without_nan = any(flag in ("nnan", "fast") for i in reduction.operations for flag in i.flags)
    return neutral_value(combination, type, without_nan=without_nan)


def neutral_value(combination: Combination, type: Type, *, without_nan: bool = False) -> Constant:
    """What changes no value of a type by being combined with it, or no value but NaNs."""
    if isinstance(type, FloatType):
        return const_float(_neutral_float(combination, without_nan), type)
    assert isinstance(type, IntType)
    return ConstInt(type, _neutral_int(combination, type.bits))


def _neutral_float(combination: Combination, without_nan: bool) -> float:
    if combination is Combination.FMUL:
        return 1.0
    if combination is Combination.FADD:
        return -0.0
    if combination in _PREFER_NUMBERS and not without_nan:
        return math.nan
    return math.inf if combination in _SMALLER else -math.inf


def _neutral_int(combination: Combination, bits: int) -> int:
    match combination:
        case Combination.MUL:
            return 1
        case Combination.AND | Combination.UMIN:
            return -1
        case Combination.SMIN:
            return (1 << (bits - 1)) - 1
        case Combination.SMAX:
            return -(1 << (bits - 1))
        case _:
            return 0


def combine(module: Module, builder: Builder, combination: Combination, a: Value, b: Value) -> Value:
    """Build the combination of two values, scalars or vectors.

    Of equal ones, and where one is NaN, a minimum or maximum by comparison is `b`, as in a loop that keeps what it has.
    """
    if combination in _COMPARES:
        return builder.select(builder.fcmp(_COMPARES[combination], a, b), a, b)
    if combination.value in _BINARY:
        flags = ("reassoc",) if combination in (Combination.FADD, Combination.FMUL) else ()
        return builder.binary(combination.value, a, b, flags)
    name = f"llvm.{combination.value}.{mangled(a.type)}"
    return builder.call(module.declare(name, FunctionType(a.type, (a.type, a.type))), (a, b))


def combine_lanes(module: Module, builder: Builder, combination: Combination, vector: Value) -> Value:
    """Build the combination of a vector's elements: halves with each other, in a number of steps log2 of them."""
    type = vector.type
    assert isinstance(type, VectorType)
    count = type.count
    while count > 1:
        count //= 2
        halves = [
            builder.shuffle(vector, Poison(vector.type), list(range(first, first + count)))
            for first in (0, count)
        ]
        vector = combine(module, builder, combination, halves[0], halves[1])
    return builder.extract_element(vector, ConstInt(I64, 0))
