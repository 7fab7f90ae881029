"""The question of `weft.transform.numbers.aligned_versions`: whether a lane group meets whole stretches."""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.integers.bounds import trailing_zeros
from weft.ir import FALSE, Builder, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.clone import ValueMap
from weft.ir.intrinsics import PURE, declare
from weft.ir.types import I32, I64, FunctionType, IntType
from weft.transform.numbers.meetings import KEEPING, Meeting

UNSIGNED = {"srem": "urem", "sdiv": "udiv"}
"""Operations of numbers that are not negative."""

_SHIFTS = {"lshr", "ashr"}

_NATURAL_BITS = 61
"""Of so many bits are numbers whose sums do not wrap around."""


class StretchQuestion:
    """Whether a lane group lies in one stretch: what is computed to know it, and what is known where it does.

    Parameters
    ----------
    builder
        Builds in front of both versions.
    meetings
        What is asked for.
    divides
        Whether the lane group's first number is divided, and what is left of the stretch behind it has to be as long as
        the lane group; else whole stretches are to meet.
    natural
        Numbers that all lanes share of which it is asked, too, whether they are natural numbers that add up.
    """

    def __init__(
        self, builder: Builder, meetings: list[Meeting], natural: Sequence[Value], *, divides: bool
    ) -> None:
        self._builder = builder
        self._lane: Value | None = None
        self._steps: dict[Value, Value] = {}
        self._bases: dict[Value, Value] = {}
        self._others: dict[Meeting, Value] = {}
        self._divided: dict[tuple[Value, Value, bool], tuple[Value, Value]] = {}
        self._divides = divides
        self.meetings = meetings
        self.values: ValueMap = {}
        self.holds: Value | None = None
        self.begins: Value | None = None
        signed = {m.number for m in meetings if m.instruction.op in UNSIGNED}
        for meeting in meetings:
            if meeting.number not in self._bases:
                self._ask_number(meeting, meeting.number in signed)
        # Whether the lane group's numbers begin at multiples, whatever is masked or divided by.
        self.begins = self.holds
        if self._divides:
            for meeting in {m.number: m for m in meetings}.values():
                self.begins = self._both(
                    self.begins, self._begins_at_multiple(meeting, self._bases[meeting.number])
                )
        for meeting in meetings:
            self._ask_other(meeting)
        for number in natural:
            self.values.setdefault(number, self._ask_natural(builder.unary("freeze", number)))

    def _ask_natural(self, number: Value, *, least: bool = False) -> Value:
        """Ask for a number of 64 bits that is small enough to be added up with others; it is written as one.

        What is divided before it is known to be one is the `least` of it and the greatest: of a mask LLVM makes code
        for x86 that waits for the last division.
        """
        b = self._builder
        end = 1 << _NATURAL_BITS
        self._and(b.icmp("ult", number, ConstInt(I64, end)))
        return self._natural(number) if least else b.binary("and", number, ConstInt(I64, end - 1))

    def _natural(self, number: Value) -> Value:
        """A number that is not negative, nor great, written so that this can be seen."""
        assert isinstance(number.type, IntType)
        type = number.type
        name, greatest = f"llvm.umin.i{type.bits}", (1 << min(_NATURAL_BITS, type.bits - 1)) - 1
        umin = self._builder.module.declare(name, FunctionType(type, (type, type)), PURE)
        return self._builder.call(umin, (number, const_int(greatest, type)))

    def _ask_number(self, meeting: Meeting, signed: bool) -> None:
        b, type, number = self._builder, meeting.type, meeting.number
        step = self._steps[number] = self._step(meeting)
        base: Value = b.unary("freeze", b.binary("sub", number, step))
        if not self._divides:
            self._and(self._begins_at_multiple(meeting, base))
        if type == I64:
            # Sums of such numbers, as indices are, are known not to be negative.
            base, signed = self._ask_natural(base, least=self._divides), True
        elif self._divides:
            # The lanes' numbers do not wrap around.
            most = (1 << (type.bits - signed)) - meeting.block
            self._and(b.icmp("ule", base, const_int(most, type)))
        elif signed:
            self._and(b.icmp("sge", base, const_int(0, type)))
        if not self._divides or (signed and type != I64):
            base = b.binary("and", base, _multiples(1 if self._divides else meeting.block, type, signed))
        self._bases[number] = base
        self.values[number] = b.binary("add", base, step, flags=_no_wrap(signed))

    def _begins_at_multiple(self, meeting: Meeting, base: Value) -> Value:
        b, type = self._builder, meeting.type
        return b.icmp("eq", b.binary("and", base, const_int(meeting.block - 1, type)), const_int(0, type))

    def number_at_multiple(self, builder: Builder, number: Value) -> Value:
        """A number of the lanes, of which the first begins at a multiple, so that this can be seen."""
        meeting = next(m for m in self.meetings if m.number is number)
        if not self._divides:
            return self.values[number]
        natural = meeting.type == I64 or any(
            m.instruction.op in UNSIGNED for m in self.meetings if m.number is number
        )
        base = builder.binary("and", self._bases[number], _multiples(meeting.block, meeting.type, natural))
        return builder.binary("add", base, self._steps[number], flags=_no_wrap(natural))

    def _step(self, meeting: Meeting) -> Value:
        """How far the lane's number is from x0."""
        b, type = self._builder, meeting.type
        if self._lane is None:
            self._lane = b.call(declare(b.module, "weft.lane.id"), ())
        lane: Value = self._lane
        if type.bits != I32.bits:
            lane = b.cast("zext" if type.bits > I32.bits else "trunc", lane, type)
        return (
            lane
            if meeting.stride == 1
            else b.binary("shl", lane, const_int(trailing_zeros(meeting.stride), type))
        )

    def _ask_other(self, meeting: Meeting) -> None:
        b, type, op = self._builder, meeting.type, meeting.instruction.op
        if isinstance(meeting.other, ConstInt) and not self._divides:
            # It is known to be one.
            self._others[meeting] = meeting.other
            return
        if isinstance(meeting.other, ConstInt):
            self._ask_divisor(meeting, meeting.other, op in UNSIGNED)
            return
        other: Value = b.unary("freeze", meeting.other)
        low = const_int(meeting.block - 1, type)
        if op in _SHIFTS:
            self._and(b.icmp("uge", other, const_int(trailing_zeros(meeting.block), type)))
        elif op == "and":
            self._and(b.icmp("eq", b.binary("and", other, low), low))
            other = b.binary("or", other, low)
        else:
            other = self._ask_multiple(meeting, other)
            self._look_through(meeting.other, other, meeting.block)
        self._others[meeting] = other
        self.values.setdefault(meeting.other, other)

    def _ask_multiple(self, meeting: Meeting, other: Value) -> Value:
        """Ask for a multiple that is not 0; it is written as one."""
        b, type, signed = self._builder, meeting.type, meeting.instruction.op in UNSIGNED
        if self._divides:
            return self._ask_divisor(meeting, other, signed)
        low = b.binary("and", other, const_int(meeting.block - 1, type))
        self._and(b.icmp("eq", low, const_int(0, type)))
        self._and(b.icmp("sge" if signed else "uge", other, const_int(meeting.block, type)))
        return self._at_least(other, meeting.block, meeting.block, signed)

    def _ask_divisor(self, meeting: Meeting, other: Value, signed: bool) -> Value:
        """Ask whether what is left of the stretch behind the first number is long enough."""
        b, type = self._builder, meeting.type
        # A stretch of so many numbers is met by one place in it alone.
        span = meeting.block - meeting.stride
        least = const_int(span + 1, type)
        is_enough = b.icmp("sge" if signed else "uge", other, least)
        self._and(is_enough)
        key = meeting.number, meeting.other, signed
        if key not in self._divided:
            # It is divided before all is asked: by no 0. What is left is computed by another number than what it is
            # divided by, as LLVM would make two divisions of it where it is used behind a branch.
            base = self._bases[meeting.number]
            quotient = b.binary("udiv", base, b.select(is_enough, other, least))
            rest = b.binary("sub", base, b.binary("mul", quotient, other))
            self._and(b.icmp("ult", rest, b.binary("sub", other, const_int(span, type))))
            if signed or type == I64:
                rest = self._natural(rest)
            self._divided[key] = quotient, rest
        return self._at_least(other, span + 1, 1, signed)

    def _at_least(self, value: Value, least: int, block: int, signed: bool) -> Value:
        """The value, which is a multiple of a block and not less than a number, written so that this can be seen."""
        b, type = self._builder, value.type
        assert isinstance(type, IntType)
        if block == 1 and not signed:
            return value
        first = const_int(least, type)
        known = b.binary("and", b.binary("sub", value, first), _multiples(block, type, signed))
        return b.binary("add", known, first, flags=_no_wrap(signed))

    def _look_through(self, value: Value, known: Value, block: int) -> None:
        """What a divisor was made of: ``d if d is harmless else 1``, where 1 is no multiple, and d of fewer bits."""
        while isinstance(value, Instruction) and isinstance(value.type, IntType):
            if value.op == "select" and value.operands[1] == ConstInt(value.type, 1):
                self.values.setdefault(value.operands[0], FALSE)
                value = value.operands[2]
            elif value.op == "sext" and block.bit_length() < _bits(value.operands[0]) - 1:
                value = value.operands[0]
                least, multiple = (2, 1) if self._divides else (block, block)
                known = self._builder.cast("trunc", known, value.type)
                known = self._at_least(known, least, multiple, signed=True)
            else:
                break
            self.values.setdefault(value, known)

    def _and(self, condition: Value) -> None:
        self.holds = self._both(self.holds, condition)

    def _both(self, one: Value | None, other: Value) -> Value:
        return other if one is None else self._builder.binary("and", one, other)

    def replace(self, meeting: Meeting) -> None:
        """Give the copy of an operation its other form."""
        twin = self.values[meeting.instruction]
        assert isinstance(twin, Instruction)
        b = Builder(before=twin)
        b.loc = twin.loc
        op, signed = meeting.instruction.op, meeting.instruction.op in UNSIGNED
        if self._divides:
            quotient, rest = self._divided[meeting.number, meeting.other, signed]
            flags = _no_wrap(signed or meeting.type == I64)
            kept = (
                b.binary("add", rest, self._steps[meeting.number], flags=flags) if op in KEEPING else quotient
            )
            replace_and_erase(twin, kept)
            return
        whole = b.binary(UNSIGNED.get(op, op), self._bases[meeting.number], self._others[meeting])
        if op in KEEPING:
            known = b.binary("and", whole, _multiples(meeting.block, meeting.type, op in UNSIGNED))
            whole = b.binary("add", known, self._steps[meeting.number], flags=("nuw", "nsw"))
        replace_and_erase(twin, whole)


def _no_wrap(natural: bool) -> tuple[str, ...]:
    return ("nuw", "nsw") if natural else ("nuw",)


def _multiples(block: int, type: IntType, natural: bool) -> ConstInt:
    """A mask that changes no multiple of a block, none that is not negative if `natural`."""
    sign = 1 << (type.bits - 1)
    return const_int(((sign if natural else 2 * sign) - 1) & -block, type)


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits
