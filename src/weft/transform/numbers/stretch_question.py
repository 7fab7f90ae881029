"""The question of `weft.transform.numbers.aligned_versions`: whether a lane group meets whole stretches."""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.integers.bounds import trailing_zeros
from weft.ir import FALSE, Builder, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.clone import ValueMap
from weft.ir.intrinsics import declare
from weft.ir.types import I32, I64, IntType
from weft.transform.numbers.meetings import KEEPING, Meeting

UNSIGNED = {"srem": "urem", "sdiv": "udiv"}
"""Operations of numbers that are not negative."""

_SHIFTS = {"lshr", "ashr"}

_NATURAL_BITS = 61
"""Of so many bits are numbers whose sums do not wrap around."""


class StretchQuestion:
    """Whether a lane group meets whole stretches: what is computed to know it, and what is known where it does.

    Parameters
    ----------
    builder
        Builds in front of both versions.
    meetings
        What is asked for.
    natural
        Numbers that all lanes share of which it is asked, too, whether they are natural numbers that add up.
    """

    def __init__(self, builder: Builder, meetings: list[Meeting], natural: Sequence[Value]) -> None:
        self._builder = builder
        self._lane: Value | None = None
        self._steps: dict[Value, Value] = {}
        self._bases: dict[Value, Value] = {}
        self._others: dict[Meeting, Value] = {}
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
        for meeting in meetings:
            self._ask_other(meeting)
        for number in natural:
            self.values.setdefault(number, self._ask_natural(builder.unary("freeze", number)))

    def _ask_natural(self, number: Value) -> Value:
        """Ask for a number of 64 bits that is small enough to be added up with others; it is written as one."""
        b = self._builder
        self._and(b.icmp("ult", number, ConstInt(I64, 1 << _NATURAL_BITS)))
        return b.binary("and", number, ConstInt(I64, (1 << _NATURAL_BITS) - 1))

    def _ask_number(self, meeting: Meeting, signed: bool) -> None:
        b, type, number = self._builder, meeting.type, meeting.number
        step = self._steps[number] = self._step(meeting)
        base = b.unary("freeze", b.binary("sub", number, step))
        self._and(b.icmp("eq", b.binary("and", base, const_int(meeting.block - 1, type)), const_int(0, type)))
        if type == I64:
            # Sums of such numbers, as indices are, are known not to be negative.
            base, signed = self._ask_natural(base), True
        elif signed:
            self._and(b.icmp("sge", base, const_int(0, type)))
        known = self._bases[number] = b.binary("and", base, _multiples(meeting.block, type, signed))
        self.values[number] = b.binary("add", known, step, flags=("nuw", "nsw") if signed else ("nuw",))

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
        low = b.binary("and", other, const_int(meeting.block - 1, type))
        self._and(b.icmp("eq", low, const_int(0, type)))
        self._and(b.icmp("sge" if signed else "uge", other, const_int(meeting.block, type)))
        return self._multiple(other, meeting.block, signed)

    def _multiple(self, value: Value, block: int, signed: bool) -> Value:
        """The value, which is a multiple that is not 0, written so that this can be seen."""
        b, type = self._builder, value.type
        assert isinstance(type, IntType)
        least = const_int(block, type)
        known = b.binary("and", b.binary("sub", value, least), _multiples(block, type, signed))
        return b.binary("add", known, least, flags=("nuw", "nsw") if signed else ("nuw",))

    def _look_through(self, value: Value, known: Value, block: int) -> None:
        """What a divisor was made of: ``d if d is harmless else 1``, where 1 is no multiple, and d of fewer bits."""
        while isinstance(value, Instruction) and isinstance(value.type, IntType):
            if value.op == "select" and value.operands[1] == ConstInt(value.type, 1):
                self.values.setdefault(value.operands[0], FALSE)
                value = value.operands[2]
            elif value.op == "sext" and block.bit_length() < _bits(value.operands[0]) - 1:
                value = value.operands[0]
                known = self._multiple(self._builder.cast("trunc", known, value.type), block, signed=True)
            else:
                break
            self.values.setdefault(value, known)

    def _and(self, condition: Value) -> None:
        self.holds = condition if self.holds is None else self._builder.binary("and", self.holds, condition)

    def replace(self, meeting: Meeting) -> None:
        """Give the copy of an operation its other form."""
        twin = self.values[meeting.instruction]
        assert isinstance(twin, Instruction)
        b = Builder(before=twin)
        b.loc = twin.loc
        op = meeting.instruction.op
        whole = b.binary(UNSIGNED.get(op, op), self._bases[meeting.number], self._others[meeting])
        if op in KEEPING:
            known = b.binary("and", whole, _multiples(meeting.block, meeting.type, op in UNSIGNED))
            whole = b.binary("add", known, self._steps[meeting.number], flags=("nuw", "nsw"))
        replace_and_erase(twin, whole)


def _multiples(block: int, type: IntType, natural: bool) -> ConstInt:
    """A mask that changes no multiple of a block, none that is not negative if `natural`."""
    sign = 1 << (type.bits - 1)
    return const_int(((sign if natural else 2 * sign) - 1) & -block, type)


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits
