"""Division of numbers that grow along the lanes by what all lanes share: one division for all of them.

``x = i % w; y = i // w`` takes a flat number apart into a column and a row. Lanes have consecutive numbers, so a lane
group is in one row, or goes over into the next one. With q and r the quotient and remainder of lane 0's number a, and σ
what is added from lane to lane (Moll, §10.2):

    a + σ = q·w + (r + σ),   and if r + σ ≥ w,  (q + 1)·w + (r + σ - w)     for 0 ≤ a, 0 ≤ σ ≤ w

As r is less than w, r + σ is less than 2w, and there is no third case. Processors have no division of integers in
vectors, and divide those of 64 bits lane by lane; this takes one division, an addition, a comparison and a choice.

Postcondition: quotients or remainders of all active lanes. What is to hold of a and w is asked when the program runs;
where it does not, lanes divide as before. Nothing traps where no lane is active.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence.row_divisions import is_row_division
from weft.analysis.shapes.shape import ACTIVE, BASE
from weft.codegen.widen.context import Widening, broadcast
from weft.codegen.widen.neighbours import in_two_ways
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import IntType


def divide_along_rows(w: Widening, division: Instruction, otherwise: Callable[[], Value]) -> Value | None:
    """Return the quotients or remainders; None where it is no such division.

    Parameters
    ----------
    otherwise
        Divides lane by lane.
    """
    number, divisor = division.operands
    if not (is_row_division(w.divergence, division) and w.is_uniform(divisor) and w.is_scalar(number)):
        return None
    shape, type, b = w.divergence.shape(number), division.type, w.builder
    assert isinstance(type, IntType)
    everywhere = w.mask is None and not division.total
    exact = ACTIVE if everywhere else BASE
    is_signed = shape.nsw >= exact
    if not is_signed and (division.op[0] == "s" or shape.nuw < exact):
        return None
    offsets = w.lanes.offsets([s for s in shape.strides if isinstance(s, int)])
    if max(offsets) >= 1 << (type.bits - 1):
        return None
    first, by = w.scalar(number), w.scalar(divisor)
    if not everywhere:
        first, by = b.unary("freeze", first), b.unary("freeze", by)
    holds: Value = b.icmp("sge", by, ConstInt(type, max(offsets)))
    if is_signed:
        holds = b.binary("and", holds, b.icmp("sge", first, ConstInt(type, 0)))

    def together() -> Instruction:
        quotient = b.binary("udiv", first, by)
        rest = b.binary("sub", first, b.binary("mul", quotient, by))
        rests = b.binary("add", broadcast(b, rest, w.lanes), w.lanes.constant(type, offsets))
        divisors = broadcast(b, by, w.lanes)
        beyond = b.icmp("uge", rests, divisors)
        if division.op.endswith("rem"):
            return b.select(beyond, b.binary("sub", rests, divisors), rests)
        more = b.cast("zext", beyond, w.lanes.vector(type))
        return b.binary("add", broadcast(b, quotient, w.lanes), more)

    def apart() -> Instruction:
        result = otherwise()
        assert isinstance(result, Instruction)
        return result

    return in_two_ways(w, holds, together, apart)
