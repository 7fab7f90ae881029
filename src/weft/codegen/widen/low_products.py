"""The low 32 bits of products of 64 that lanes compute from what they share and from their own places.

    a[off * (2*t + 1) - 1]        off is the same in all lanes, and 2*t + 1 known by the lane's number

An address in a small object takes the low half of its index (`weft.codegen.widen.lane_addresses`), and the low half of
a sum or product follows from those of its parts. Products of 64 bits in lanes take three instructions with AVX-512, and
eight below; LLVM does not shorten them, as what lanes share is a number of 64 bits. So what they share is cut short as
a scalar, and lanes multiply in 32 bits. Sums without products are left as they are, these cost the same, and so are
numbers that are used for something else, too.
"""

from __future__ import annotations

from weft.codegen.widen.context import Widening, broadcast
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.types import I32, I64

MOST_STEPS = 8
"""Sums and products of one index."""

_RING = ("add", "sub", "mul")


def low_product(w: Widening, index: Value, block: BasicBlock | None) -> Value | None:
    """The low halves of an index of 64 bits that a product of `block` is in, as a vector; None where it is no such."""
    parts = _parts(w, index, block)
    if parts is None or not any(part.op in ("mul", "shl") for part in parts):
        return None
    return _low(w, index, set(parts)) if _are_for_addresses(parts) else None


def _parts(w: Widening, index: Value, block: BasicBlock | None) -> list[Instruction] | None:
    """The sums and products it is made of, where all else is kept as scalars; None where it is not."""
    parts: list[Instruction] = []
    pending = [index]
    while pending:
        value = pending.pop()
        if value.type == I64 and w.is_scalar(value):
            continue
        if not isinstance(value, Instruction) or value.type != I64 or value.block is not block:
            return None
        if len(parts) == MOST_STEPS or not (value.op in _RING or _is_short_shift(w, value)):
            return None
        parts.append(value)
        pending += value.operands
    return parts


def _are_for_addresses(parts: list[Instruction]) -> bool:
    """Whether nothing is computed of them but addresses, be it by further sums."""
    pending, seen = list(parts), set(parts)
    while pending:
        for user in pending.pop().instruction_users():
            if user.op not in ("getelementptr", *_RING) or len(seen) > 2 * MOST_STEPS:
                return False
            if user.op != "getelementptr" and user not in seen:
                seen.add(user)
                pending.append(user)
    return True


def _is_short_shift(w: Widening, value: Instruction) -> bool:
    """Whether it shifts by less than 32, be it as far as lanes tell each other."""
    if value.op != "shl":
        return False
    ranges = w.divergence.engine.ranges
    known = ranges.at(value.operands[1], value.block) if ranges is not None else None
    return known is not None and known.lo >= 0 and known.hi < I32.bits


def _low(w: Widening, value: Value, parts: set[Instruction]) -> Value:
    """The low half: a scalar of what lanes share, else a vector."""
    if isinstance(value, ConstInt):
        return ConstInt(I32, value.value)
    if value in parts:
        assert isinstance(value, Instruction)
        a, b = (_low(w, operand, parts) for operand in value.operands)
        if a.type.is_vector or b.type.is_vector:
            a, b = (v if v.type.is_vector else broadcast(w.builder, v, w.lanes) for v in (a, b))
        return w.builder.binary(value.op, a, b)
    first = w.builder.cast("trunc", w.scalar(value), I32)
    if w.is_uniform(value):
        return first
    strides = [s for s in w.divergence.shape(value).strides if isinstance(s, int)]
    steps = w.lanes.constant(I32, w.lanes.offsets(strides))
    return w.builder.binary("add", broadcast(w.builder, first, w.lanes), steps)
