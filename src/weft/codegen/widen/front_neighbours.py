"""Lanes that are neighbours unless they count from the end, which is asked of the first one of each row.

``values[start + lane]`` of the source language is ``x + (x < 0 ? n : 0)`` with ``x = start + lane``. Where `start` is
loaded nobody knows the sign of x, and what is added is no number of a shape. But x itself is one place further in each
lane, so that none is negative if the first one is not, and does not wrap around within the row: one comparison of
scalars, where comparing numbers of all lanes takes several instructions for each register of them. Then all lanes
access neighbours, from the first one's x on.

Precondition: an access of which all lanes count from one base. Postcondition: where the question holds, each active
lane accesses as many elements behind its row's address as it is behind the first lane; None where an index is no
number of a shape for another reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_addresses import has_one_base
from weft.codegen.widen.runs import lane_value
from weft.ir import ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.constants import is_zero
from weft.ir.types import I8, I64, IntType
from weft.transform.numbers.known_numbers import number_asked_for_sign

MOST_ROWS = 4
"""Rows of a lane group of each of which it is asked."""


def by_fronts(
    w: Widening, access: Instruction, size: int, along: int, row: int
) -> tuple[Value, Sequence[Value]] | None:
    """Whether no lane counts from the end, and where each row begins then; None if addresses are otherwise."""
    location = w.addresses.location(access.pointer)
    if w.lanes.width > MOST_ROWS * row or not has_one_base(w, access):
        return None
    numbers: list[Value] = []
    terms: list[tuple[Value, int]] = []
    step = 0
    for index, scale in location.terms.items():
        number = _number_of(index)
        if w.is_uniform(index) or w.is_scalar(index):
            stride = _stride(w, index, access, along, row)
            if stride is None:
                return None
            step += scale * stride
            terms.append((index, scale))
        elif number is None or not w.is_scalar(number) or not _rises(w, number, along):
            return None
        else:
            numbers.append(number)
    if not numbers or step != size:
        return None
    hold: Value | None = None
    addresses: list[Value] = []
    for lane in range(0, w.lanes.width, row):
        for number in numbers:
            asked = _is_natural(w, number, along, row, lane)
            hold = asked if hold is None else w.builder.binary("and", hold, asked)
        addresses.append(_address(w, location.base, location.offset, terms, lane))
    assert hold is not None
    # Of lanes that are all passive a number may be poison.
    return w.builder.unary("freeze", hold) if w.mask is not None else hold, addresses


def _number_of(index: Value) -> Value | None:
    """The x of ``x < 0 ? n : 0``."""
    if not isinstance(index, Instruction) or index.op != "select" or not is_zero(index.operands[2]):
        return None
    question = index.operands[0]
    if not isinstance(question, Instruction) or question.op != "icmp":
        return None
    return number_asked_for_sign(question)


def _stride(w: Widening, index: Value, access: Instruction, along: int, row: int) -> int | None:
    """How far the next lane of a row is; None if that is not known, or an index of less than 64 bits may wrap."""
    if w.is_uniform(index):
        return 0
    type, stride = index.type, w.divergence.shape(index).strides[along]
    if not isinstance(type, IntType) or not isinstance(stride, int) or type == I64:
        return stride if isinstance(stride, int) else None
    ranges, reach, half = w.divergence.engine.ranges, abs(stride) * row, 1 << (type.bits - 1)
    known = ranges.at(index, access.block) if ranges is not None else None
    return stride if known is not None and reach - half <= known.lo and known.hi < half - reach else None


def _rises(w: Widening, number: Value, along: int) -> bool:
    stride = w.divergence.shape(number).strides[along]
    return isinstance(stride, int) and stride >= 0


def _is_natural(w: Widening, number: Value, along: int, row: int, lane: int) -> Value:
    """Whether neither the first lane of a row nor any behind it has a negative number."""
    type, stride = number.type, w.divergence.shape(number).strides[along]
    assert isinstance(type, IntType) and isinstance(stride, int)
    last = (1 << (type.bits - 1)) - 1 - stride * (row - 1)
    return w.builder.icmp("ule", lane_value(w, number, lane), const_int(last, type))


def _address(w: Widening, base: Value, offset: int, terms: Sequence[tuple[Value, int]], lane: int) -> Value:
    """The address of a lane that does not count from the end."""
    b, address = w.builder, w.scalar(base)
    for index, scale in terms:
        value = lane_value(w, index, lane)
        wide = b.cast("sext", value, I64) if value.type != I64 else value
        address = b.gep(I8, address, (b.binary("mul", wide, ConstInt(I64, scale)) if scale != 1 else wide,))
    return b.gep(I8, address, (ConstInt(I64, offset),)) if offset else address
