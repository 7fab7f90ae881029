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
from weft.ir.constants import is_zero
from weft.ir.types import I1, IntType
from weft.transform.groups.row_values import limits_of
from weft.transform.numbers.known_numbers import answer


def replace_near_remainders(function: Function) -> int:
    """Replace such remainders; return how many there were."""
    asking = [i for i in function.instructions() if _may_be_near(i)]
    if not asking:
        return 0
    view = cfg_of(function)
    differences = Differences(ranges_of(function, view))
    for remainder in asking:
        _divide_by_itself(remainder, differences)
        _ask_one_for_its_sign(remainder, differences)
    # What is known is of the program as it is.
    known = [(i, made) for i in asking if (made := _how_near(i, differences)) is not None]
    for remainder, (times, is_negative) in known:
        number, divisor = remainder.operands
        totals = _totals(remainder) or []
        if times == 2:
            builder = Builder(before=remainder)
            builder.loc = remainder.loc
            beyond = builder.icmp("uge", number, divisor)
            number = builder.select(beyond, builder.binary("sub", number, divisor), number)
        for total in totals:
            _ask_for_no_sign(total)
        if not is_negative:
            _ask_for_no_sign(remainder)
        else:
            for total in totals:
                # The number may be the negated divisor, of which the remainder is 0: a sum on the way is another one.
                total.flags = tuple(flag for flag in total.flags if total.op == "add" and flag == "nsw")
        remainder.replace_all_uses(number)
        remainder.erase()
    return len(known)


def _may_be_near(instruction: Instruction) -> bool:
    if instruction.op not in ("urem", "srem") or not isinstance(instruction.type, IntType):
        return False
    return not isinstance(instruction.operands[1], ConstInt)


def _divide_by_itself(remainder: Instruction, differences: Differences) -> None:
    """Divide by n, not by 1 where n is 0 or -1, where the guard ``x < n`` says that n is positive."""
    number, divisor = remainder.operands
    if not isinstance(divisor, Instruction) or divisor.op != "select":
        return
    test, one, itself = divisor.operands
    if (
        isinstance(test, Instruction)
        and test.block is not None
        and _is_constant(one, 1)
        and _is_zero_or_less_by_one(test, itself)
        and differences.is_sum_not_negative(-1, ((itself, 1), (number, 1), (number, -1)), test.block)
    ):
        answer(test, 0)


def _is_zero_or_less_by_one(test: Instruction, number: Value) -> bool:
    """Whether it says that a number is 0 or -1, as LLVM asks for that: ``n + 1 < 2``."""
    if test.op != "icmp" or test.predicate != "ult" or not _is_constant(test.operands[1], 2):
        return False
    following = test.operands[0]
    if not isinstance(following, Instruction) or following.op != "add":
        return False
    return following.operands[0] is number and _is_constant(following.operands[1], 1)


def _is_constant(value: Value, number: int) -> bool:
    return isinstance(value, ConstInt) and value.value == number


def _ask_one_for_its_sign(remainder: Instruction, differences: Differences) -> None:
    """Write ``r != 0 and (r ^ n) < 0`` as ``r < 0``, where the guard ``x < n`` says that the divisor n is positive.

    So remainders of Python are written where it is not known of n itself, as of a number that is given.
    """
    number, divisor = remainder.operands
    both = [u for u in remainder.instruction_users() if u.op == "xor" and divisor in u.operands]
    tests = [test for user in both for test in user.instruction_users() if _asks(test, user)]
    block = remainder.block
    assert block is not None
    # What is divided is part of the sum so that what bounds it is seen.
    if not tests or not differences.is_sum_not_negative(0, ((divisor, 1), (number, 1), (number, -1)), block):
        return
    for test in tests:
        test.set_operand(0, remainder)
        for user in [u for u in test.instruction_users() if u.op == "and"]:
            asked = next((o for o in user.operands if _is_not_zero(o, remainder)), None)
            if isinstance(asked, Instruction):
                user.replace_all_uses(test)
                user.erase()
                if not asked.users:
                    asked.erase()
    for user in both:
        if not user.users:
            user.erase()


def _is_not_zero(condition: Value, number: Value) -> bool:
    """Whether it says that a number is not 0."""
    return (
        isinstance(condition, Instruction)
        and condition.op == "icmp"
        and condition.predicate == "ne"
        and condition.operands[0] is number
        and is_zero(condition.operands[1])
    )


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
    if remainder.op != "srem" or not is_less_than(1) or _totals(remainder) is None:
        return None
    return (1, True) if differences.is_sum_not_negative(0, ((number, 1), (divisor, 1)), block) else None


def _totals(remainder: Instruction) -> list[Instruction] | None:
    """The sums ``r + (r < 0 ? n : 0)``, if nothing else is made of a remainder r, nor of what is added to it.

    They are additions, or places in memory: LLVM adds first the one and then the other to an address, and chooses in
    32 bits where it knows the divisor to fit.
    """
    users = set(remainder.instruction_users())
    tests = {u for u in users if _asks(u, remainder)}
    added = _added(remainder, tests)
    if added is None:
        return None
    totals: set[Instruction] = set()
    for user in users - tests:
        found = _totals_of(user, remainder, added)
        if found is None:
            return None
        totals.update(found)
    if not totals or any(set(a.instruction_users()) - totals for a in added):
        return None
    return list(totals)


def _added(remainder: Instruction, tests: set[Instruction]) -> set[Instruction] | None:
    """What is n where the remainder is negative, and 0 elsewhere; None where anything else asks for that."""
    added: set[Instruction] = set()
    for choice in (u for test in tests for u in test.instruction_users()):
        if choice.op != "select" or choice.operands[0] not in tests or not is_zero(choice.operands[2]):
            return None
        divisor = choice.operands[1]
        if divisor is remainder.operands[1]:
            added.add(choice)
            continue
        extended = set(choice.instruction_users())
        if not _is_cut(divisor, remainder.operands[1]) or any(
            u.op != "zext" or u.type != remainder.type for u in extended
        ):
            return None
        added |= extended
    return added


def _is_cut(value: Value, number: Value) -> bool:
    """Whether a value is a number with fewer bits, into which it fits as it has no sign."""
    if not isinstance(value, Instruction) or value.op != "trunc" or value.operands[0] is not number:
        return False
    known = limits_of(number)
    assert isinstance(value.type, IntType)
    return known is not None and known.lo >= 0 and known.hi < 1 << value.type.bits


def _totals_of(user: Instruction, remainder: Instruction, added: set[Instruction]) -> set[Instruction] | None:
    """The sums that are made by a user of the remainder; None where it is more than a part of such."""
    if user.op == "add":
        return {user} if any(v in added for v in user.operands) else None
    if not _is_place(user, remainder):
        return None
    start = user.operands[0]
    if isinstance(start, Instruction) and any(_is_place(start, a, user) for a in added):
        others = [u for u in start.instruction_users() if not _is_place(u, remainder, user)]
        return None if others else {user, start}
    ends = set(user.instruction_users())
    if all(any(_is_place(end, a, user) for a in added) and end.operands[0] is user for end in ends):
        return {user, *ends}
    return None


def _is_place(value: Instruction, index: Value, like: Instruction | None = None) -> bool:
    """Whether a value is the address of the element at an index, and of one as large as another's."""
    return (
        value.op == "getelementptr"
        and len(value.operands) == 2
        and value.operands[1] is index
        and (like is None or value.source_type == like.source_type)
    )


def _asks(user: Instruction, number: Value) -> bool:
    """Whether it is asked whether a number is negative."""
    if user.op != "icmp" or user.predicate != "slt" or user.operands[0] is not number:
        return False
    return is_zero(user.operands[1])


def _ask_for_no_sign(number: Instruction) -> None:
    """Answer whether a number is negative that is not: as an index, which counts from the end then."""
    for test in [u for u in number.instruction_users() if _asks(u, number)]:
        for user in [u for u in test.instruction_users() if u.op == "select" and u.operands[0] is test]:
            user.replace_all_uses(user.operands[2])
            user.erase()
        test.replace_all_uses(ConstInt(I1, 0))
        test.erase()
