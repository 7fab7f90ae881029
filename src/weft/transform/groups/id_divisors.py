"""What flat numbers of threads are divided by, to be taken apart into columns, rows and planes.

Of ``x = i % w; y = i // w % h; z = i // (h * w)`` the divisors are w for columns, h for rows, and h·w for planes, in
whichever of these ways they are written; shifts and low bits are divisions by powers of two. That one divisor is a
multiple of another is what it looks like here: who relies on it asks when the program runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.ir import Argument, ConstInt, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.constants import is_zero
from weft.ir.types import I1, I64, IntType

LARGEST = 1 << 31
"""Divisors are smaller, so that products of two of them do not wrap."""

CASTS = ("trunc", "zext", "sext")
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
_FACTORS = 32
"""Steps of looking for the factors of a divisor."""


class Division(Struct, frozen=True):
    """An instruction that divides, shifts, or takes low bits.

    Parameters
    ----------
    number, divisor
        What is divided, by what.
    remainder
        Whether it is the remainder that it gives.
    """

    number: Value
    divisor: Value
    remainder: bool

    @classmethod
    def of(cls, i: Instruction) -> Division | None:
        """The instruction as a division; None where it is none."""
        if i.op in _DIVISIONS:
            return cls(i.operands[0], i.operands[1], i.op.endswith("rem"))
        if i.op not in ("and", "lshr", "ashr") or not isinstance(i.type, IntType) or i.type == I1:
            return None
        number, by = i.operands
        if not isinstance(by, ConstInt) or not 0 < by.value < LARGEST:
            return None
        if i.op != "and":
            return cls(number, ConstInt(I64, 1 << by.value), False) if by.value < 31 else None
        return cls(number, ConstInt(I64, by.value + 1), True) if not by.value & (by.value + 1) else None


class Divisors(Struct, frozen=True):
    """What flat numbers are divided by.

    Parameters
    ----------
    columns, rows, plane
        The columns, the rows of a plane, and their product, each as the program has it; None for what does not occur.
    depth, stack
        By what numbers of planes are divided again, and the product of it and a plane.
    """

    columns: Value
    rows: Value | None
    plane: Value | None
    depth: Value | None = None
    stack: Value | None = None

    @classmethod
    def of(cls, position: Argument, uniform: set[Instruction]) -> Divisors | None:
        """The divisors by which a position is taken apart; None where it is not."""
        flat = [
            d for d in _divisions(_derived([position], remainders=True)) if is_known(d[1].divisor, uniform)
        ]
        columns = _least([d.divisor for _, d in flat])
        if columns is None:
            return None
        larger = [d.divisor for _, d in flat if not is_same(d.divisor, columns)]
        plane = _least(larger)
        quotients: list[Value] = [i for i, d in flat if not d.remainder and is_same(d.divisor, columns)]
        again = [
            d for _, d in _divisions(_derived(quotients, remainders=True)) if is_known(d.divisor, uniform)
        ]
        rows = _least([d.divisor for d in again])
        if (larger and plane is None) or (again and rows is None):
            return None
        planes: list[Value] = [
            i
            for numbers, unit in (
                (_derived([position], remainders=True), plane),
                (_derived(quotients, remainders=True), rows),
            )
            for i, d in _divisions(numbers)
            if unit is not None and not d.remainder and is_same(d.divisor, unit)
        ]
        deep = [d for _, d in _divisions(_derived(planes, remainders=True)) if is_known(d.divisor, uniform)]
        stack = _least([v for v in larger if plane is not None and not is_same(v, plane)])
        return cls(columns, rows, plane, _least([d.divisor for d in deep]), stack)

    @property
    def has_planes(self) -> bool:
        """Whether numbers of rows are divided again."""
        return self.rows is not None or self.plane is not None


def is_known(value: Value, uniform: set[Instruction]) -> bool:
    """Whether all threads share a value, of which `uniform` has the instructions."""
    return isinstance(value, (ConstInt, Argument)) or value in uniform


def _derived(start: Sequence[Value], *, remainders: bool) -> set[Value]:
    """Values that may be those of `start`, or their remainders, but for what is added where signs differ."""
    found, work = set(start), list(start)
    while work:
        value = work.pop()
        for user in value.instruction_users():
            division = Division.of(user)
            passes = (
                user.op in CASTS or (user.op == "select" and value in user.operands[1:]) or user.op == "add"
            )
            passes = passes or (
                remainders and division is not None and division.remainder and division.number is value
            )
            if passes and isinstance(user.type, IntType) and user.type != I1 and user not in found:
                found.add(user)
                work.append(user)
    return found


def _divisions(numbers: set[Value]) -> Iterator[tuple[Instruction, Division]]:
    for number in numbers:
        for user in number.instruction_users():
            division = Division.of(user)
            if division is not None and division.number is number:
                yield user, division


def _least(divisors: Sequence[Value]) -> Value | None:
    """The one of which the others look like multiples."""
    factors = {d: factors_of(d) for d in divisors}
    for divisor, (number, parts) in factors.items():
        if all(n % number == 0 and parts <= more for n, more in factors.values()):
            return divisor
    return None


def factors_of(value: Value) -> tuple[int, Counter[Value]]:
    """What a divisor is the product of, if nothing wraps and it is not zero: a constant, and others."""
    constant, parts = 1, Counter[Value]()
    work = [value]
    for _ in range(_FACTORS):
        if not work:
            return constant, parts
        v = _stripped(work.pop())
        if isinstance(v, ConstInt):
            constant *= max(1, v.signed)
        elif isinstance(v, Instruction) and v.op == "mul":
            work.extend(v.operands)
        elif isinstance(v, Instruction) and v.op == "shl" and isinstance(v.operands[1], ConstInt):
            constant <<= min(64, v.operands[1].value)
            work.append(v.operands[0])
        else:
            parts[v] += 1
    return 1, Counter([value])


def is_multiple(by: Value, unit: Value) -> bool:
    """Whether a divisor looks like a multiple of another one."""
    (constant, parts), (least, few) = factors_of(by), factors_of(unit)
    return constant % least == 0 and few <= parts


def _stripped(value: Value) -> Value:
    """What is left of a divisor without what the source has against zero, and without its type."""
    while isinstance(value, Instruction):
        if value.op in CASTS:
            value = value.operands[0]
            continue
        arms = value.operands[1:] if value.op == "select" else []
        if (value.callee_name or "").startswith(("llvm.umax.", "llvm.smax.")):
            arms = value.operands[:2]
        rest = [v for v in arms if not isinstance(v, ConstInt)]
        if len(arms) != 2 or len(rest) != 1:
            break
        value = rest[0]
    return value


def is_same(a: Value, b: Value) -> bool:
    """Whether two divisors are the same number, whatever their types, as far as extents are asked for it."""
    a, b = (_without_casts(v) for v in (a, b))
    return a is b or (isinstance(a, ConstInt) and isinstance(b, ConstInt) and a.value == b.value)


def _without_casts(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op in ("zext", "sext"):
        value = value.operands[0]
    return value


def settle_least(position: Argument) -> None:
    """No quotient of a position is the least number of its type, which C may not divide by -1, whatever it is by."""
    found: set[Value] = {position}
    work: list[Value] = [position]
    while work:
        value = work.pop()
        for user in list(value.instruction_users()):
            if user.op == "icmp" and user.predicate == "eq" and _is_least(user.operands[1]):
                _settle(user)
            elif user not in found and (
                user.op == "sext"
                or (user.op == "trunc" and "nsw" in user.flags)
                or (user.op in ("sdiv", "srem") and user.operands[0] is value)
            ):
                found.add(user)
                work.append(user)


def _is_least(value: Value) -> bool:
    return isinstance(value, ConstInt) and value.signed < 0 and value.value & (value.value - 1) == 0


def _settle(condition: Instruction) -> None:
    """Let a condition be false, and what follows from that."""
    work = [condition]
    while work:
        i = work.pop()
        users = list(i.instruction_users())
        replace_and_erase(i, ConstInt(I1, 0))
        for user in users:
            if user.type != I1 or not any(map(is_zero, user.operands)):
                continue
            if user.op == "and":
                work.append(user)
            elif user.op == "or":
                replace_and_erase(user, user.operands[1 if is_zero(user.operands[0]) else 0])
