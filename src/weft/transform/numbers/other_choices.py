"""The other one of two numbers, of which one is chosen: chosen the other way round.

Trees in arrays have children at ``2 n + 1`` and ``2 n + 2``. Who goes on to one of them may find the other one, which
waits on a stack, as what is left of their sum::

    near = select c, 2 n + 2, 2 n + 1               near = select c, 2 n + 2, 2 n + 1
    far = (4 n + 3) - near                   ==>    far = select c, 2 n + 1, 2 n + 2

The range of a difference knows nothing of how its two sides go together. So the far child could be a negative number,
and with it each node that comes from the stack: each is asked for its sign where it is an index, and has 64 bits. A
choice has the range of what it chooses from.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no difference of a sum of two numbers and a
choice between the two is left, as far as sums of a few terms show that it is one. Preserves the program under FR;
no-wrap flags of the two numbers are dropped, as either one counts now where the other one did.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.types import IntType

MOST_STEPS = 8
"""Sums, and products with constants, that a number is followed through."""

_FLAGS = frozenset(("nsw", "nuw"))


class _Sum(Struct):
    """A number as a sum of multiples of others, modulo 2 to the bits that it has."""

    terms: Counter[Value] = field(default_factory=Counter)
    constant: int = 0
    steps: list[Instruction] = field(default_factory=list)


def choose_others(function: Function) -> int:
    """Replace such differences; return how many they were."""
    found = [i for i in function.instructions() if i.op == "sub" and _choice(i.operands[1]) is not None]
    return sum(map(_replace, found))


def _choice(value: Value) -> Instruction | None:
    if isinstance(value, Instruction) and value.op == "select" and isinstance(value.type, IntType):
        return value
    return None


def _replace(difference: Instruction) -> bool:
    whole, chosen = difference.operands
    choice = _choice(chosen)
    assert choice is not None and isinstance(choice.type, IntType)
    condition, one, other = choice.operands
    if not isinstance(condition.type, IntType):
        return False
    wholly, first, second = (_sum(v, 1 << choice.type.bits) for v in (whole, one, other))
    if wholly is None or first is None or second is None:
        return False
    left = Counter(wholly.terms)
    for part in (first, second):
        left.subtract(part.terms)
        # What is no poison of the two must make none of what is chosen now.
        if not part.terms.keys() <= wholly.terms.keys():
            return False
    modulus = 1 << choice.type.bits
    constant = wholly.constant - first.constant - second.constant
    if constant % modulus or any(count % modulus for count in left.values()):
        return False
    for step in {*first.steps, *second.steps}:
        step.flags = tuple(flag for flag in step.flags if flag not in _FLAGS)
    builder = Builder(before=difference)
    builder.loc = difference.loc
    difference.replace_all_uses(builder.select(condition, other, one))
    difference.erase()
    return True


def _sum(value: Value, modulus: int) -> _Sum | None:
    """The sum that a number is; None if it has too many terms, or a step that may be poison for itself."""
    found = _Sum()
    work = [(value, 1)]
    while work:
        number, times = work.pop()
        if isinstance(number, ConstInt):
            found.constant += times * number.value
        elif isinstance(number, Instruction) and (parts := _parts(number)) is not None:
            found.steps.append(number)
            work += [(part, times * factor % modulus) for part, factor in parts]
        else:
            found.terms[number] += times
        if len(found.steps) > MOST_STEPS:
            return None
    return found


def _parts(number: Instruction) -> list[tuple[Value, int]] | None:
    """The numbers of which a number is the sum, and how often; None if it is none that can be told so."""
    if number.op not in ("add", "sub", "shl", "mul", "or"):
        return None
    first, second = number.operands
    if number.op in ("add", "sub"):
        return [(first, 1), (second, 1 if number.op == "add" else -1)]
    if not isinstance(second, ConstInt):
        return None
    assert isinstance(second.type, IntType)
    if number.op == "mul":
        return [(first, second.value)]
    if number.op == "shl":
        return [(first, 1 << second.value)] if second.value < second.type.bits else None
    shift = first.operands[1] if isinstance(first, Instruction) and first.op == "shl" else None
    # Bits that are shifted away from those of the constant.
    is_apart = isinstance(shift, ConstInt) and second.value < 1 << shift.value
    return [(first, 1), (second, 1)] if is_apart else None
