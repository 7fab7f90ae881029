"""Remainders of numbers that are near the divisor: the neighbours in arrays that go on at their other end.

    right = (x + 1) % n            x + 1 >= n ? x + 1 - n : x + 1       as x < n
    left = (x + n - 1) % n         x + n - 1 >= n ? x - 1 : x + n - 1
    left = (x - 1) % n             x - 1 < 0 ? x - 1 + n : x - 1        of Python, where the sign is the divisor's

A division takes ten times as long as a choice, in lanes even more, and hides that the places of lanes are neighbours
but for one of them. What x is compared with where the remainder is computed tells how near it is
(`weft.analysis.integers.differences`). Divisors that are constants are left to LLVM.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no number is divided for its remainder that
is known to be from zero to less than twice the divisor, or from the negated divisor to less than it where the sign of
the remainder is set right afterwards. Preserves the program under FR: what is known of a number holds wherever it is
not poison.
"""

from __future__ import annotations

from weft.analysis.integers.differences import Differences
from weft.analysis.integers.kept_ranges import ranges_of
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I1, IntType


def replace_near_remainders(function: Function) -> int:
    """Replace such remainders; return how many there were."""
    asking = [i for i in function.instructions() if _may_be_near(i)]
    if not asking:
        return 0
    view = cfg_of(function)
    differences = Differences(ranges_of(function, view))
    # What is known is of the program as it is.
    known = [(i, made) for i in asking if (made := _how_near(i, differences)) is not None]
    for remainder, (times, is_negative) in known:
        number, divisor = remainder.operands
        right = _with_the_sign_of_the_divisor(remainder)
        if times == 2:
            builder = Builder(before=remainder)
            builder.loc = remainder.loc
            beyond = builder.icmp("uge", number, divisor)
            number = builder.select(beyond, builder.binary("sub", number, divisor), number)
        if right is not None:
            _ask_for_no_sign(right)
        if not is_negative:
            _ask_for_no_sign(remainder)
        remainder.replace_all_uses(number)
        remainder.erase()
    return len(known)


def _may_be_near(instruction: Instruction) -> bool:
    if instruction.op not in ("urem", "srem") or not isinstance(instruction.type, IntType):
        return False
    return not isinstance(instruction.operands[1], ConstInt)


def _how_near(remainder: Instruction, differences: Differences) -> tuple[int, bool] | None:
    """Within how many times the divisor a number is, and whether it may be negative; None where it may be anything."""
    number, divisor = remainder.operands
    block = remainder.block
    assert block is not None

    def is_less_than(times: int) -> bool:
        return differences.is_sum_not_negative(-1, ((divisor, times), (number, -1)), block)

    if not is_less_than(2):
        return None
    if differences.is_sum_not_negative(0, ((number, 1),), block):
        return (1 if is_less_than(1) else 2), False
    if remainder.op != "srem" or not is_less_than(1) or _with_the_sign_of_the_divisor(remainder) is None:
        return None
    return (1, True) if differences.is_sum_not_negative(0, ((number, 1), (divisor, 1)), block) else None


def _with_the_sign_of_the_divisor(remainder: Instruction) -> Instruction | None:
    """``r + (r < 0 ? n : 0)``, if nothing else is made of a remainder r."""
    users = set(remainder.instruction_users())
    tests = {u for u in users if _asks(u, remainder)}
    sums = {u for u in users if u.op == "add" and _adds(u, remainder, tests)}
    if len(sums) != 1 or users != tests | sums:
        return None
    choices = {v for v in next(iter(sums)).operands if v is not remainder}
    if any(set(test.instruction_users()) - choices for test in tests):
        return None
    return next(iter(sums))


def _adds(total: Instruction, remainder: Instruction, tests: set[Instruction]) -> bool:
    choice = next((v for v in total.operands if v is not remainder), None)
    if not isinstance(choice, Instruction) or choice.op != "select" or choice.operands[0] not in tests:
        return False
    zero = choice.operands[2]
    return choice.operands[1] is remainder.operands[1] and isinstance(zero, ConstInt) and zero.value == 0


def _asks(user: Instruction, number: Value) -> bool:
    """Whether it is asked whether a number is negative."""
    if user.op != "icmp" or user.predicate != "slt" or user.operands[0] is not number:
        return False
    zero = user.operands[1]
    return isinstance(zero, ConstInt) and zero.value == 0


def _ask_for_no_sign(number: Instruction) -> None:
    """Answer whether a number is negative that is not: as an index, which counts from the end then."""
    for test in [u for u in number.instruction_users() if _asks(u, number)]:
        for user in [u for u in test.instruction_users() if u.op == "select" and u.operands[0] is test]:
            user.replace_all_uses(user.operands[2])
            user.erase()
        test.replace_all_uses(ConstInt(I1, 0))
        test.erase()
