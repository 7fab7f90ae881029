"""Operations that have a shape where a lane group meets whole stretches (`weft.transform.numbers.aligned_versions`)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.memory.computed_indices import MAX_STEPS
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import IntType
from weft.transform.groups.row_values import limits_of
from weft.transform.numbers.versioned_parts import Part, parts_of

KEEPING = ("and", "urem", "srem")
"""Operations whose results keep the stride."""

DIVIDING = ("udiv", "sdiv", "urem", "srem")
"""Operations that may be by any number."""

_DROPPING = ("udiv", "sdiv", "lshr", "ashr")


class Meeting(Struct, frozen=True):
    """An instruction whose result has a shape where a lane group meets whole stretches.

    Parameters
    ----------
    instruction
        The operation.
    number, other
        Its strided operand, and the uniform one.
    stride
        Of the number; a power of two.
    block
        Of what x0 has to be a multiple: S.
    bits
        The bits that the number may have, whatever the mask has beside them.
    """

    instruction: Instruction
    number: Value
    other: Value
    stride: int
    block: int
    bits: int

    @property
    def type(self) -> IntType:
        """The type of all three."""
        assert isinstance(self.instruction.type, IntType)
        return self.instruction.type


def find_meetings(part: Part, divergence: Divergence, width: int) -> list[Meeting]:
    """The operations by which some address is computed that is not strided, and that could be."""
    found: dict[Instruction, Meeting] = {}
    for instruction in part.instructions():
        if instruction.op in ("load", "store") and not divergence.shape(instruction.pointer).is_strided:
            for value in computing(instruction.pointer, divergence):
                meeting = _meeting(value, part, divergence, width)
                if meeting is not None:
                    found[value] = meeting
    return _together(part, list(found.values()))


def may_meet(part: Part) -> bool:
    """Whether a part masks, shifts or divides anything, without which there is nothing to find."""
    return any(
        i.op in KEEPING or i.op in _DROPPING for b in (part.head, *part.blocks) for i in b.instructions
    )


def divides_into_stretches(divergence: Divergence, width: int) -> bool:
    """Whether some address has a shape where a lane group meets whole stretches of what its threads divide by."""
    return any(
        meeting.instruction.op in DIVIDING
        for part in parts_of(divergence.function)
        for meeting in find_meetings(part, divergence, width)
    )


def _together(part: Part, meetings: list[Meeting]) -> list[Meeting]:
    """Those that come behind the operands of all."""
    instructions, own = part.head.instructions, {part.head, *part.blocks}
    meetings = [m for m in meetings if m.instruction.block in own]
    while meetings:
        before = set(instructions[: instructions.index(behind_operands(part, meetings))])
        kept = [m for m in meetings if m.instruction not in before]
        if len(kept) == len(meetings):
            break
        meetings = kept
    return meetings


def computing(pointer: Value, divergence: Divergence) -> Iterator[Instruction]:
    """What an address that is not strided is computed by, as far as that is not strided either."""
    pending, seen = [pointer], set[Value]()
    while pending and len(seen) < MAX_STEPS:
        value = pending.pop()
        if value in seen or not isinstance(value, Instruction) or divergence.shape(value).is_strided:
            continue
        seen.add(value)
        yield value
        if value.op not in ("load", "call", "phi"):
            pending += value.operands


def _meeting(value: Instruction, part: Part, divergence: Divergence, width: int) -> Meeting | None:
    if not isinstance(value.type, IntType) or value.op not in (*KEEPING, *_DROPPING):
        return None
    number, other = value.operands
    # Behind a loop that lanes leave one by one they may have different values of what is the same in it.
    shape, of_other = (divergence.shape_in(v, part.head) for v in (number, other))
    if value.op == "and" and shape.is_uniform:
        number, other, shape, of_other = other, number, of_other, shape
    if not shape.is_strided or len(shape.strides) != 1 or not of_other.is_uniform:
        return None
    stride = shape.stride
    if not isinstance(stride, int) or stride <= 0 or stride & (stride - 1):
        return None
    if (stride * width).bit_length() >= value.type.bits:
        return None
    if isinstance(other, ConstInt) and not (
        _is_long(value, other.value, stride * width) or _is_whole(value.op, other.value, stride * width)
    ):
        return None
    if not all(map(part.is_early, (number, other))):
        return None
    return Meeting(value, number, other, stride, stride * width, _bits_of(number, value.type))


def _is_long(division: Instruction, divisor: int, block: int) -> bool:
    """Whether so many numbers are mostly in one stretch, of a length that the program says."""
    assert isinstance(division.type, IntType)
    return division.op in DIVIDING and 2 * block <= divisor < 1 << (division.type.bits - 1)


def is_whole(meeting: Meeting) -> bool:
    """Whether what is divided or masked by is known, and stretches of it are whole lane groups, from multiples on."""
    other = meeting.other
    return isinstance(other, ConstInt) and _is_whole(meeting.instruction.op, other.value, meeting.block)


def _is_whole(op: str, other: int, block: int) -> bool:
    if op == "and":
        return other & (block - 1) == block - 1
    if op in DIVIDING:
        return other > 0 and other % block == 0
    return other >= block.bit_length() - 1


def _bits_of(number: Value, type: IntType) -> int:
    limits = limits_of(number)
    least = type.bits if limits is None or limits.lo < 0 else limits.hi.bit_length()
    return (1 << min(least, type.bits)) - 1


def behind_operands(part: Part, meetings: list[Meeting]) -> Instruction:
    """The first instruction of the head before which the operands of all are there."""
    needed = {v for m in meetings for v in (m.number, m.other)}
    instructions = part.head.instructions
    last = max((k for k, i in enumerate(instructions) if i in needed or i.op == "alloca"), default=-1)
    return instructions[last + 1]
