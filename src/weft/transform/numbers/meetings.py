"""Operations that have a shape where a lane group meets whole stretches (`weft.transform.numbers.aligned_versions`)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.memory.computed_indices import MAX_STEPS
from weft.ir import Constant, ConstInt, Function, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.ir.types import IntType

KEEPING = ("and", "urem", "srem")
"""Operations whose results keep the stride."""

_DROPPING = ("udiv", "sdiv", "lshr", "ashr")

_FEW = 6
"""How many steps a value may be computed in, to be computed earlier."""


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
    """

    instruction: Instruction
    number: Value
    other: Value
    stride: int
    block: int

    @property
    def type(self) -> IntType:
        """The type of all three."""
        assert isinstance(self.instruction.type, IntType)
        return self.instruction.type


def find_meetings(function: Function, divergence: Divergence, width: int) -> list[Meeting]:
    """The operations by which some address is computed that is not strided, and that could be."""
    found: dict[Instruction, Meeting] = {}
    for block in function.blocks:
        for instruction in block:
            if instruction.op in ("load", "store") and not divergence.shape(instruction.pointer).is_strided:
                for value in computing(instruction.pointer, divergence):
                    meeting = _meeting(value, function, divergence, width)
                    if meeting is not None:
                        found[value] = meeting
    return _together(function, list(found.values()))


def _together(function: Function, meetings: list[Meeting]) -> list[Meeting]:
    """Those that come behind the operands of all."""
    instructions = function.entry.instructions
    while meetings:
        before = set(instructions[: instructions.index(behind_operands(function, meetings))])
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


def _meeting(value: Instruction, function: Function, divergence: Divergence, width: int) -> Meeting | None:
    if not isinstance(value.type, IntType) or value.op not in (*KEEPING, *_DROPPING):
        return None
    number, other = value.operands
    if value.op == "and" and divergence.is_uniform(number):
        number, other = other, number
    shape = divergence.shape(number)
    if not shape.is_strided or len(shape.strides) != 1 or not divergence.is_uniform(other):
        return None
    stride = shape.stride
    if not isinstance(stride, int) or stride <= 0 or stride & (stride - 1):
        return None
    if (stride * width).bit_length() >= value.type.bits:
        return None
    if isinstance(other, ConstInt) or not all(_is_early(v, function) for v in (number, other)):
        return None
    return Meeting(value, number, other, stride, stride * width)


def _is_early(value: Value, function: Function, steps: int = _FEW) -> bool:
    """Whether the value is there before the first branch, or may be computed there."""
    if not isinstance(value, Instruction) or value.block is function.entry:
        return not isinstance(value, Constant) or isinstance(value, ConstInt)
    if not steps or not is_speculatable(value):
        return False
    return all(_is_early(operand, function, steps - 1) for operand in value.operands)


def behind_operands(function: Function, meetings: list[Meeting]) -> Instruction:
    """The first instruction before which the operands of all are there."""
    needed = {v for m in meetings for v in (m.number, m.other)}
    instructions = function.entry.instructions
    last = max((k for k, i in enumerate(instructions) if i in needed or i.op == "alloca"), default=-1)
    return instructions[last + 1]
