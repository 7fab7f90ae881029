"""Whether a number is always a multiple of a power of two.

Numbers that go around a loop are, if they begin as one and all that is added is one. Sums and products modulo 2^n keep
it, as the power divides 2^n.
"""

from __future__ import annotations

from math import gcd

from weft.ir import ConstInt, Instruction, Value
from weft.ir.constants import Poison, Undef

_Question = tuple[Value, int]


def is_multiple(number: Value, power: int) -> bool:
    """Whether all values of `number`, an integer, are multiples of `power`, a power of two."""
    asked: set[_Question] = set()
    work: list[_Question] = [(number, power)]
    while work:
        question = work.pop()
        if question in asked or question[1] <= 1:
            continue
        asked.add(question)
        needed = _needed(*question)
        if needed is None:
            return False
        work += needed
    return True


def _needed(number: Value, power: int) -> list[_Question] | None:
    """What has to be so for a number to be such a multiple; None where it cannot be told."""
    if isinstance(number, ConstInt):
        return [] if number.value % power == 0 else None
    if isinstance(number, (Undef, Poison)):
        return []
    if not isinstance(number, Instruction):
        return None
    operands = number.operands
    match number.op:
        case "add" | "sub" | "or" | "xor" | "phi":
            return [(o, power) for o in operands]
        case "select":
            return [(o, power) for o in operands[1:]]
        case "mul" if isinstance(operands[1], ConstInt):
            return [(operands[0], power // gcd(power, operands[1].value or power))]
        case "shl" if isinstance(operands[1], ConstInt):
            return [(operands[0], power >> operands[1].value)]
        case "and" if isinstance(operands[1], ConstInt):
            return [] if operands[1].value % power == 0 else [(operands[0], power)]
        case "zext" | "sext" | "trunc":
            return [(operands[0], power)]
        case _:
            return None
