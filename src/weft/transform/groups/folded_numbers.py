"""Integers that are known for each thread of a work-group before it runs: functions of its number and of constants.

A number is one for all threads, or a tuple with one for each; both without sign, in the bits of their type. What an
instruction has no defined result for is 0, as any number will do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from weft.ir import Instruction
from weft.ir.types import IntType

Known = int | tuple[int, ...]
"""The number of all threads, or that of each."""

_PLAIN: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "udiv": lambda a, b: a // b if b else 0,
    "urem": lambda a, b: a % b if b else 0,
    "llvm.umax": max,
    "llvm.umin": min,
}

_SIGNED: dict[str, Callable[[int, int], int]] = {
    "sdiv": lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0,
    "srem": lambda a, b: (abs(a) % abs(b)) * (-1 if a < 0 else 1) if b else 0,
    "llvm.smax": max,
    "llvm.smin": min,
}

_TESTS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def signed(value: int, bits: int) -> int:
    """The number with a sign."""
    return value - (1 << bits) if value >> (bits - 1) else value


def computed(i: Instruction, operands: list[Known]) -> Known | None:
    """The result of an instruction; None where it is none of those that are known here."""
    compute = _function_of(i)
    if compute is None:
        return None
    threads = next((len(operand) for operand in operands if isinstance(operand, tuple)), 0)
    if not threads:
        return compute(*(o for o in operands if isinstance(o, int)))
    rows = [(o,) * threads if isinstance(o, int) else o for o in operands]
    return tuple(map(compute, *rows))


def _function_of(i: Instruction) -> Callable[..., int] | None:
    type, of = i.type, i.operands[0].type if i.operands else i.type
    if not isinstance(type, IntType) or (i.op != "select" and not isinstance(of, IntType)):
        return None
    every = (1 << type.bits) - 1
    name = i.op if i.op != "call" else (i.callee_name or "").rpartition(".")[0]
    if i.op == "select":
        return lambda c, a, b: a if c else b
    assert isinstance(of, IntType)
    bits = of.bits
    if name in _PLAIN:
        plain = _PLAIN[name]
        return lambda a, b: plain(a, b) & every
    if name in _SIGNED:
        with_sign = _SIGNED[name]
        return lambda a, b: with_sign(signed(a, bits), signed(b, bits)) & every
    if name == "shl":
        return lambda a, b: (a << b) & every if b < bits else 0
    if name == "lshr":
        return lambda a, b: a >> b if b < bits else 0
    if name == "ashr":
        return lambda a, b: (signed(a, bits) >> b) & every if b < bits else 0
    if name in ("zext", "trunc", "freeze"):
        return lambda a: a & every
    if name == "sext":
        return lambda a: signed(a, bits) & every
    if name == "llvm.abs":
        return lambda a, _: abs(signed(a, bits)) & every
    if name == "icmp":
        test = _TESTS[i.predicate[-2:]]
        if i.predicate.startswith("s"):
            return lambda a, b: int(test(signed(a, bits), signed(b, bits)))
        return lambda a, b: int(test(a, b))
    return None
