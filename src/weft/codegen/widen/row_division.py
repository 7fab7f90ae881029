"""Division of numbers that grow along the lanes by what all lanes share: one division for all of them.

``x = i % w; y = i // w`` takes a flat number apart into a column and a row. Lanes have consecutive numbers, so a lane
group is in one row, or goes over into the next one. With q and r the quotient and remainder of lane 0's number a, and σ
what is added from lane to lane (Moll, §10.2):

    a + σ = q·w + (r + σ),   and if r + σ ≥ w,  (q + 1)·w + (r + σ - w)     for 0 ≤ a, 0 ≤ σ ≤ w

As r is less than w, r + σ is less than 2w, and there is no third case. Processors have no division of integers in
vectors, and divide those of 64 bits lane by lane; this takes one division, an addition, a comparison and a choice.

The quotients are divided again in ``i // w % h``. Where they are made so they are that of lane 0 or one more, or what
all lanes have instead of them: with 0 or 1 for σ the same holds of them.

Postcondition: quotients or remainders of all active lanes. What is to hold of a and w is asked when the program runs;
where it does not, lanes divide as before. Nothing traps where no lane is active.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence.row_divisions import divided_quotient, is_row_division
from weft.analysis.shapes.shape import ACTIVE, BASE
from weft.codegen.widen.context import Widening, broadcast
from weft.codegen.widen.neighbours import in_two_ways
from weft.ir import ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.types import I32, IntType


def divide_along_rows(w: Widening, division: Instruction, otherwise: Callable[[], Value]) -> Value | None:
    """Return the quotients or remainders; None where it is no such division.

    Parameters
    ----------
    otherwise
        Divides lane by lane.
    """
    quotient = divided_quotient(w.divergence, division)
    if quotient is not None:
        return _divide_quotients(w, division, quotient, otherwise)
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

    w.near_quotients[division] = holds

    def together() -> Instruction:
        return _divided_once(w, division, first, by, w.lanes.constant(type, offsets))

    return in_two_ways(w, holds, together, lambda: _instruction(otherwise()))


def _divided_once(w: Widening, division: Instruction, first: Value, by: Value, offsets: Value) -> Instruction:
    """The results of numbers that are so far from the first one, none further than what they are divided by."""
    b = w.builder
    quotient = b.binary("udiv", first, by)
    rest = b.binary("sub", first, b.binary("mul", quotient, by))
    rests = b.binary("add", broadcast(b, rest, w.lanes), offsets)
    divisors = broadcast(b, by, w.lanes)
    beyond = b.icmp("uge", rests, divisors)
    if division.op.endswith("rem"):
        return b.select(beyond, b.binary("sub", rests, divisors), rests)
    more = b.cast("zext", beyond, offsets.type)
    return b.binary("add", broadcast(b, quotient, w.lanes), more)


def _divide_quotients(
    w: Widening, division: Instruction, quotient: Instruction, otherwise: Callable[[], Value]
) -> Value | None:
    """The same of quotients, which are the first lane's or one more where they were made together."""
    number, divisor = division.operands
    near = w.near_quotients.get(quotient)
    if near is None or not w.is_uniform(divisor):
        return None
    b, type = w.builder, division.type
    assert isinstance(type, IntType)
    # All lanes may be passive.
    own, by = b.unary("freeze", w.vector(number)), b.unary("freeze", w.scalar(divisor))
    first = b.extract_element(own, ConstInt(I32, 0))
    offsets = b.binary("sub", own, broadcast(b, first, w.lanes))
    is_signed = division.op[0] == "s"
    greatest = (1 << (type.bits - is_signed)) - 1
    # One more than the first is no negative number, nor 0.
    small = b.icmp("ult", first, const_int(greatest, type))
    divides = b.icmp("sgt" if is_signed else "ugt", by, ConstInt(type, 0))
    holds = b.binary("and", near, b.binary("and", small, divides))
    w.near_quotients[division] = holds
    return in_two_ways(
        w,
        holds,
        lambda: _divided_once(w, division, first, by, offsets),
        lambda: _instruction(otherwise()),
    )


def _instruction(value: Value) -> Instruction:
    assert isinstance(value, Instruction)
    return value
