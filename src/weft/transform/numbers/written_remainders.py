"""Remainders that a compiler has written with the quotient it had anyway: ``x - x / w * w`` is ``x % w`` again.

What runs threads in boxes, and what knows how near numbers are, looks for remainders. In PTX a quotient by zero is all
ones, and that by -1 does not overflow, so that there are choices around the division, and another divisor in it:

    q = w == 0 ? -1 : w == -1 ? -x : x / (w in {0, -1} ? 1 : w)
    x - q·w = w == 0 ? x : w == -1 ? 0 : x % (w in {0, -1} ? 1 : w)

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no place in memory is computed from such a
difference of a division by a number, or by what it is but where another quotient is chosen. Preserves the program: both
are the same wherever neither division is undefined, which are divisions of the same numbers.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.constants import is_zero
from weft.ir.types import IntType

_MOST_CHOICES = 4
_MOST_USES = 64
_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "shl",
    "or",
    "udiv",
    "sdiv",
    "urem",
    "srem",
    "trunc",
    "zext",
    "sext",
    "select",
)
_REMAINDERS = {"sdiv": "srem", "udiv": "urem"}


class _Choice(Struct, frozen=True):
    """What a remainder is under a condition."""

    condition: Value
    value: Value


def find_written_remainders(function: Function) -> int:
    """Compute such differences as remainders; how many."""
    found = 0
    for difference in list(function.instructions()):
        if difference.op not in ("add", "sub") or not isinstance(difference.type, IntType):
            continue
        if not _is_place(difference):
            continue
        made = _remainder_by_constant(difference)
        if made is None and difference.op == "sub":
            made = _remainder(difference)
        if made is not None:
            replace_and_erase(difference, made)
            found += 1
    return found


def _is_place(difference: Instruction) -> bool:
    """Whether a place in memory is computed from it: of others, the difference takes less than a remainder."""
    seen: set[Instruction] = {difference}
    work = [difference]
    while work and len(seen) < _MOST_USES:
        for user in work.pop().instruction_users():
            if user.op == "getelementptr":
                return True
            if user not in seen and user.op in _ARITHMETIC:
                seen.add(user)
                work.append(user)
    return False


def _remainder_by_constant(difference: Instruction) -> Value | None:
    """The remainder by a constant that a difference is, of numbers or of their low bits; None if it is none."""
    assert isinstance(difference.type, IntType)
    bits = difference.type.bits
    first, second = difference.operands
    sums = ((first, second), (second, first)) if difference.op == "add" else ((first, second),)
    for number, product in sums:
        if not isinstance(product, Instruction) or product.op != "mul":
            continue
        quotient, by = _whole(product.operands[0], bits), product.operands[1]
        if (
            not isinstance(by, ConstInt)
            or not isinstance(quotient, Instruction)
            or quotient.op not in _REMAINDERS
        ):
            continue
        whole, divisor = quotient.operands
        times = by.signed if difference.op == "sub" else -by.signed
        if (
            _whole(whole, bits) is not _whole(number, bits)
            or not isinstance(divisor, ConstInt)
            or divisor.signed != times
            or times < 2
        ):
            continue
        builder = Builder(before=difference)
        builder.loc = difference.loc
        value = builder.binary(_REMAINDERS[quotient.op], whole, divisor)
        if value.type == difference.type:
            return value
        return builder.cast("trunc", value, difference.type, ("nsw",))
    return None


def _whole(value: Value, bits: int) -> Value:
    """What has so many low bits of a value, and is that number before it was cut, or extended from more than these."""
    while isinstance(value, Instruction) and value.op in ("trunc", "zext", "sext"):
        source = value.operands[0]
        if not isinstance(source.type, IntType) or source.type.bits < bits:
            break
        value = source
    return value


def _remainder(difference: Instruction) -> Value | None:
    """The remainder that a difference is; None if it is none."""
    number, product = difference.operands
    if not isinstance(product, Instruction) or product.op != "mul":
        return None
    for quotient, divisor in (product.operands, product.operands[::-1]):
        choices: list[_Choice] = []
        settled: set[int] = set()
        while isinstance(quotient, Instruction) and quotient.op == "select" and len(choices) < _MOST_CHOICES:
            condition, chosen, quotient = quotient.operands
            at = _where(condition, divisor)
            left = _left(number, chosen, at) if at else None
            if at is None or left is None:
                break
            settled |= at
            choices.append(_Choice(condition, left))
        if not isinstance(quotient, Instruction) or quotient.op not in _REMAINDERS:
            continue
        by = quotient.operands[1]
        other = _other(by, divisor)
        if quotient.operands[0] is not number or other is None or not other <= settled:
            continue
        builder = Builder(before=difference)
        builder.loc = difference.loc
        value: Value = builder.binary(_REMAINDERS[quotient.op], number, by)
        for choice in reversed(choices):
            value = builder.select(choice.condition, choice.value, value)
        return value
    return None


def _where(condition: Value, number: Value) -> set[int] | None:
    """For which numbers alone a condition holds; None if it may for others."""
    if not isinstance(condition, Instruction):
        return None
    if condition.op == "or":
        first, second = (_where(operand, number) for operand in condition.operands)
        return None if first is None or second is None else first | second
    if condition.op != "icmp":
        return None
    compared, bound = condition.operands
    if not isinstance(bound, ConstInt):
        return None
    if condition.predicate == "eq" and compared is number:
        return {bound.signed}
    # LLVM asks so whether a number is 0 or -1.
    if condition.predicate != "ult" or bound.value != 2 or not isinstance(compared, Instruction):
        return None
    is_next = compared.op == "add" and compared.operands[0] is number
    by = compared.operands[1] if is_next else None
    return {0, -1} if isinstance(by, ConstInt) and by.signed == 1 else None


def _left(number: Value, quotient: Value, divisors: set[int]) -> Value | None:
    """What is left of a number if a quotient is taken off as often as each of some divisors says."""
    if divisors == {0}:
        return number
    is_negated = (
        isinstance(quotient, Instruction)
        and quotient.op == "sub"
        and is_zero(quotient.operands[0])
        and quotient.operands[1] is number
    )
    if divisors == {-1} and is_negated and isinstance(number.type, IntType):
        return ConstInt(number.type, 0)
    return None


def _other(value: Value, number: Value) -> set[int] | None:
    """For which numbers a value may be another one; None if that is not known."""
    if value is number:
        return set()
    if not isinstance(value, Instruction):
        return None
    if value.op == "call" and (value.callee_name or "").startswith("llvm.umax."):
        inner, least = value.args
        other = _other(inner, number)
        return other | {0} if other is not None and isinstance(least, ConstInt) and least.value == 1 else None
    if value.op != "select":
        return None
    condition, _, otherwise = value.operands
    at, other = _where(condition, number), _other(otherwise, number)
    return None if at is None or other is None else at | other
