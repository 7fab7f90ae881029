"""Asking for what lanes look up next, where that is one of two places that are known before it is chosen.

    d = x[lane] - tree[node]                 ask for tree[2 * node + 1], and for tree[2 * node + 2]
    node = 2 * node + (1 if d < 0 else 2)    d = x[lane] - tree[node] ...

Of trees that lie in memory level by level both children have places that follow from their parent's. Which of them a
thread goes to depends on what it looks up, for which it waits as long as that is away; so what it looks up next has not
been asked for before. A request for both while it waits, which are one where they lie side by side, hides that.

An index qualifies if all that it has of the loop is one number that the loop carries, and if that comes, in two ways
that depend on what is not there yet, from numbers that are. Ways that look the number up count for nothing. Where the
next place does not depend on what is loaded, processors see it by themselves.

Requests cost a few instructions for each lane, for nothing where the tree is in a near cache. So they are made where
some lane's place is far behind the beginning of the array: of a small tree there is none. Measured on Zen 3, nearest
neighbours among points of the plane, 16 lanes: of 2^19 points and more 0.70 to 0.85 of the time, of 2^17 and less 0.97
to 1.05. Requests may be for any place: they have no effect but on caches. Where there are registers for masks this has
not been measured, and is not done.
"""

from __future__ import annotations

from math import gcd

from weft.analysis.loops.places_ahead import CACHE_LINE, Algebra, CarriedPlace, Way, ways_apart
from weft.codegen.widen.context import Widening, any_lane
from weft.codegen.widen.lane_addresses import MAX_UNIT, has_one_base
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import I32, I64, VOID, IntType, PointerType, int_type

FAR = 1 << 20
"""Bytes behind the beginning of an array from which on places are far away: most second caches have less."""

_READ, _KEEP, _DATA = ConstInt(I32, 0), ConstInt(I32, 3), ConstInt(I32, 1)
_LOW = (1 << 32) - 1


def ask_for_next(w: Widening, load: Instruction) -> None:
    """Ask for what `load`, a gather, loads in the next iteration, if that is one of two places."""
    if w.isa.mask_registers or len(w.lanes.extents) != 1:
        return
    location = w.addresses.location(load.pointer)
    asked = w.asked_next.setdefault((load.block, location.base, frozenset(location.terms.items())), [])
    if any(abs(location.offset - offset) < CACHE_LINE for offset in asked):
        return
    known = w.divergence.facts.probability

    def was_computed(value: Value) -> bool:
        return value in w.vectors or value in w.scalars

    chain = CarriedPlace.of(load, location, known.view, known.loops, was_computed)
    ways = ways_apart(chain) if chain is not None else []
    if chain is None or not ways or not has_one_base(w, load):
        return
    asked.append(location.offset)
    w.remark(load, "next places")
    unit = gcd(MAX_UNIT, location.offset, *location.terms.values())
    for way in ways:
        _ask(w, chain, way, w.scalar(location.base), unit)


def _ask(w: Widening, chain: CarriedPlace, way: Way, base: Value, unit: int) -> None:
    """Ask for places of lanes, as 32-bit numbers of units, of which low bits are enough where requests do no harm."""
    builder = w.builder

    def known(value: Value) -> Value:
        vector = w.vector(value)
        scalar = vector.type.scalar
        assert isinstance(scalar, IntType)
        if scalar.bits == I32.bits:
            return vector
        return builder.cast("trunc" if scalar.bits > I32.bits else "sext", vector, w.lanes.vector(I32))

    algebra = Algebra[Value](
        known,
        lambda number: w.lanes.splat(ConstInt(I32, number & _LOW)),
        lambda op, one, other: builder.binary(op, one, other),
    )
    total = chain.place(algebra, way, unit)
    if w.mask is not None:
        total = builder.select(w.mask, total, w.lanes.splat(ConstInt(I32, 0)))
    far = w.lanes.splat(ConstInt(I32, -(FAR // unit) & _LOW))
    is_far = builder.icmp("ne", builder.binary("and", total, far), w.lanes.splat(ConstInt(I32, 0)))
    asking = w.new_block("ask")
    behind = w.target.add_block("asked", after=asking)
    builder.cond_br(any_lane(builder, is_far), asking, behind)
    builder.at_end(asking)
    type = base.type
    assert isinstance(type, PointerType)
    ask = w.intrinsic(f"llvm.prefetch.p{type.space}", VOID, (type, I32, I32, I32))
    for lane in range(w.lanes.width):
        number = builder.cast("zext", builder.extract_element(total, ConstInt(I64, lane)), I64)
        at = builder.gep(int_type(8 * unit), base, (number,))
        builder.call(ask, (at, _READ, _KEEP, _DATA))
    builder.br(behind)
    builder.at_end(behind)
