"""Comparisons that ask whether numbers are outside of a power of two, as bits that are set then.

    n < -2ᵏ  or  n > 2ᵏ - 1        some of the bits from k + 1 on of n + 2ᵏ are set
    n > 2ᵏ - 1, unsigned           some of the bits from k on of n are set

Of several registers of numbers such bits are or'ed together and asked once.
"""

from __future__ import annotations

from weft.ir import ConstInt, ConstSplat, Instruction, Value
from weft.ir.types import IntType, Type, VectorType


def bits_outside(condition: Value, type: Type) -> tuple[Value, int, int] | None:
    """The number of some type that a condition asks, what to add to it, and the bits of the sum; None for others."""
    if not isinstance(type, VectorType) or not isinstance(type.element, IntType):
        return None
    condition = _thawed(condition)
    if not isinstance(condition, Instruction):
        return None
    bits = type.element.bits
    if condition.op == "or":
        tests = [_test(_thawed(v), type) for v in condition.operands]
        if len(tests) != 2 or tests[0] is None or tests[1] is None:
            return None
        (number, below, low), (other, above, high) = sorted(
            (t for t in tests if t is not None), key=lambda t: t[1] != "slt"
        )
        size = -low
        if number is not other or (below, above) != ("slt", "sgt") or high != size - 1 or not _is_power(size):
            return None
        # Of so many bits none is beyond.
        return None if 2 * size >= 1 << bits else (number, size, (1 << bits) - 2 * size)
    test = _test(condition, type)
    if test is None or test[1] != "ugt" or not _is_power(test[2] + 1):
        return None
    return test[0], 0, (1 << bits) - (test[2] + 1)


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _thawed(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op == "freeze":
        value = value.operands[0]
    return value


def _test(value: Value, type: VectorType) -> tuple[Value, str, int] | None:
    """What is compared with what number in all lanes, and how."""
    if not isinstance(value, Instruction) or value.op != "icmp" or value.operands[0].type != type:
        return None
    limit = value.operands[1]
    if not isinstance(limit, ConstSplat) or not isinstance(limit.element, ConstInt):
        return None
    return value.operands[0], value.predicate, limit.element.signed
