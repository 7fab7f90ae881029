"""Which small numbers a butterfly is worth versions for (`weft.transform.numbers.aligned_versions`).

The elements ``2*t - (t & (distance - 1))`` of a lane group of W threads and those `distance` further on fill a window
of 2W, whatever power of two below W the distance is, in one of log2 W patterns. Which one it is follows from a number
that all threads share: the distance, its logarithm, or what else is masked or divided by. For each value of this number
for which all that is masked and divided by is a power of two below W, one less, or its logarithm, the pattern is known.

Only accesses whose place depends on the masked number in two ways are thought of, by the mask and without it, or by its
quotient times what it was divided by: ``t // d * 2 * d + t % d``. Places that depend on quotients and remainders
in another way, as rows and columns of a matrix do, are worth no further version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from weft.analysis.integers.bounds import to_signed
from weft.analysis.memory.computed_indices import MAX_STEPS
from weft.ir import ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.types import IntType
from weft.transform.numbers.meetings import KEEPING, Meeting
from weft.transform.numbers.versioned_parts import Part

MOST_COPIED = 80
"""Instructions of what is copied for each number."""


class SmallNumbers(Struct, frozen=True):
    """A number that all threads share, and the values for which there are versions.

    Parameters
    ----------
    number
        What is asked for its value.
    values
        The values.
    others
        For each of them, what each meeting masks or divides by.
    """

    number: Value
    values: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]


def find_small_numbers(part: Part, meetings: Sequence[Meeting], copied: int) -> SmallNumbers | None:
    """The number to ask for; None where there is none, or too many instructions would be copied."""
    if copied > MOST_COPIED or not _has_butterfly(part, meetings):
        return None
    roots = {root_of(meeting.other) for meeting in meetings}
    root = next(iter(roots))
    if len(roots) > 1 or root is None:
        return None
    most = max(meeting.block for meeting in meetings)
    # Of two numbers for which the same is divided by, one is a power of two (``d`` and ``d + 1`` of ``d >> 1``), or the
    # smaller one is 0: only the other is somebody's distance.
    found: dict[tuple[int, ...], int] = {}
    for value in range(2 * most):
        known: dict[Value, int | None] = {}
        others = [_evaluated(meeting.other, root, value, known) for meeting in meetings]
        if all(o is not None and _is_small(m, o) for m, o in zip(meetings, others, strict=True)):
            key = tuple(o for o in others if o is not None)
            if not _is_power(found.get(key, 0)) or _is_power(value):
                found[key] = value
    return SmallNumbers(root, tuple(found.values()), tuple(found)) if found else None


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _has_butterfly(part: Part, meetings: Sequence[Meeting]) -> bool:
    """Whether a place depends on a masked number by the mask and without it, or by its quotient times the divisor."""
    masks: dict[Value, Meeting] = {meeting.instruction: meeting for meeting in meetings}
    roots = {root_of(meeting.other) for meeting in meetings}
    for access in part.instructions():
        if access.op in ("load", "store"):
            pending, seen = [access.pointer], set[Value]()
            met: list[Meeting] = []
            while pending and len(seen) < MAX_STEPS:
                value = pending.pop()
                if value in seen:
                    continue
                seen.add(value)
                if value in masks:
                    met.append(masks[value])
                elif _is_quotient_times_divisor(value, masks, roots):
                    return True
                elif isinstance(value, Instruction) and value.op not in ("load", "call", "phi"):
                    pending += value.operands
            if any(meeting.number in seen for meeting in met):
                return True
    return False


def _is_quotient_times_divisor(
    value: Value, masks: Mapping[Value, Meeting], roots: Collection[Value | None]
) -> bool:
    """Whether a quotient, or a sum or choice of it, is multiplied by what follows from the number to ask for."""
    if not isinstance(value, Instruction) or value.op not in ("mul", "shl"):
        return False
    a, b = value.operands
    factors = ((a, b),) if value.op == "shl" else ((a, b), (b, a))
    return any(
        not isinstance(factor, ConstInt)
        and root_of(factor) in roots
        and _depends_on_quotient(quotient, masks)
        for quotient, factor in factors
    )


def _depends_on_quotient(value: Value, masks: Mapping[Value, Meeting]) -> bool:
    pending, seen = [value], set[Value]()
    while pending and len(seen) < MAX_STEPS:
        value = pending.pop()
        if value in seen or not isinstance(value, Instruction):
            continue
        seen.add(value)
        if value in masks and value.op not in KEEPING:
            return True
        if value.op not in ("load", "phi"):
            pending += value.operands
    return False


def _is_small(meeting: Meeting, other: int) -> bool:
    """Whether what is masked or divided by gives a pattern within a lane group that is no whole stretch."""
    op = meeting.instruction.op
    if op in ("lshr", "ashr"):
        return (1 << other) < meeting.block if other < meeting.type.bits else False
    size = (other & meeting.bits) + 1 if op == "and" else other
    return 0 < size < meeting.block and size & (size - 1) == 0


def root_of(value: Value) -> Value | None:
    """The one value, no constant, of which an early one is computed."""
    found: dict[Value, None] = {}
    pending, seen = [value], set[Value]()
    while pending:
        value = pending.pop()
        if isinstance(value, ConstInt) or value in seen:
            continue
        seen.add(value)
        if isinstance(value, Instruction) and _is_known_operation(value):
            pending += value.args if value.op == "call" else value.operands
        else:
            found[value] = None
    root = next(iter(found), None)
    return root if len(found) == 1 and root is not None and isinstance(root.type, IntType) else None


def known_by(root: Value, number: int, values: Iterable[Instruction]) -> dict[Value, Value]:
    """The values that are known where the root is a number, and no operation is needed for."""
    found: dict[Value, Value] = {}
    evaluated: dict[Value, int | None] = {}
    for value in values:
        if _is_known_operation(value) and root_of(value) is root:
            known = _evaluated(value, root, number, evaluated)
            if known is not None:
                found[value] = const_int(known, value.type)
    return found


_SUMS = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr")
_CASTS = ("zext", "sext", "trunc", "freeze")
_CHOICES = {"llvm.umax.": "ugt", "llvm.umin.": "ult", "llvm.smax.": "sgt", "llvm.smin.": "slt"}
_COMPARISONS = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")


def _is_known_operation(instruction: Instruction) -> bool:
    if instruction.op == "icmp":
        return instruction.predicate in _COMPARISONS and isinstance(instruction.operands[0].type, IntType)
    if instruction.op == "call":
        return (instruction.callee_name or "")[:10] in _CHOICES
    return instruction.op in (*_SUMS, *_CASTS, "select") and isinstance(instruction.type, IntType)


def _evaluated(value: Value, root: Value, number: int, known: dict[Value, int | None]) -> int | None:
    """What a value is where the root is a number, without its sign; None where it is nothing."""
    if value not in known:
        known[value] = _computed(value, root, number, known)
    return known[value]


def _computed(value: Value, root: Value, number: int, known: dict[Value, int | None]) -> int | None:
    if value is root:
        return number if number < 1 << _bits(value) else None
    if isinstance(value, ConstInt):
        return value.value % (1 << _bits(value))
    assert isinstance(value, Instruction)
    given = value.args if value.op == "call" else value.operands
    operands = [_evaluated(operand, root, number, known) for operand in given]
    a, b = operands[0], operands[1] if len(operands) > 1 else 0
    if value.op == "select":
        return None if a is None else operands[1 if a else 2]
    if a is None or b is None:
        return None
    bits = _bits(value)
    modulus = 1 << bits
    match value.op:
        case "zext" | "trunc" | "freeze":
            return a % modulus
        case "sext":
            return _signed(a, value.operands[0]) % modulus
        case "icmp":
            return int(_holds(value.predicate or "", a, b, value.operands[0]))
        case "call":
            return a if _holds(_CHOICES[(value.callee_name or "")[:10]], a, b, value) else b
        case "add":
            return (a + b) % modulus
        case "sub":
            return (a - b) % modulus
        case "mul":
            return a * b % modulus
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "shl" if b < bits:
            return (a << b) % modulus
        case "lshr" if b < bits:
            return a >> b
        case _:
            return None


def _holds(predicate: str, a: int, b: int, of: Value) -> bool:
    """Whether a comparison of numbers of a value's type holds."""
    if predicate.startswith("s"):
        a, b = _signed(a, of), _signed(b, of)
    order = predicate if predicate in ("eq", "ne") else predicate[1:]
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[order]


def _signed(number: int, of: Value) -> int:
    return to_signed(number, _bits(of))


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits
