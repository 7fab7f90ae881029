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

from weft.codegen.widen.carried_places import ARITHMETIC, Algebra, CarriedPlace, UnknownError, Way
from weft.codegen.widen.context import Widening, any_lane
from weft.codegen.widen.lane_addresses import LaneNumbers, lane_numbers
from weft.codegen.widen.stack_objects import CACHE_LINE
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import I1, I32, I64, VOID, IntType, PointerType, int_type

FAR = 1 << 20
"""Bytes behind the beginning of an array from which on places are far away: most second caches have less."""

_MOST_WAYS = 4
_MOST_LINES = 2
_READ, _KEEP, _DATA = ConstInt(I32, 0), ConstInt(I32, 3), ConstInt(I32, 1)
_PROBES = 3
_FEW = 2
_LOW = (1 << 32) - 1


def ask_for_next(w: Widening, load: Instruction) -> None:
    """Ask for what `load`, a gather, loads in the next iteration, if that is one of two places."""
    if w.isa.mask_registers or len(w.lanes.extents) != 1:
        return
    location = w.addresses.location(load.pointer)
    asked = w.asked_next.setdefault((load.block, location.base, frozenset(location.terms.items())), [])
    if any(abs(location.offset - offset) < CACHE_LINE for offset in asked):
        return
    chain = CarriedPlace.of(w, load)
    ways = _ways(w, chain) if chain is not None else []
    numbers = lane_numbers(w, load) if ways else None
    if chain is None or numbers is None:
        return
    asked.append(location.offset)
    w.remark(load, "next places")
    for way in ways:
        _ask(w, chain, way, numbers)


def _ask(w: Widening, chain: CarriedPlace, way: Way, numbers: LaneNumbers) -> None:
    builder = w.builder

    def known(value: Value) -> Value:
        vector = w.vector(value)
        scalar = vector.type.scalar
        if not isinstance(scalar, IntType) or scalar == I1:
            raise UnknownError
        if scalar.bits == I32.bits:
            return vector
        return builder.cast("trunc" if scalar.bits > I32.bits else "sext", vector, w.lanes.vector(I32))

    algebra = Algebra[Value](
        known,
        lambda number: w.lanes.splat(ConstInt(I32, number & _LOW)),
        lambda op, one, other: builder.binary(op, one, other),
    )
    total = chain.place(algebra, way, numbers.unit)
    if w.mask is not None:
        total = builder.select(w.mask, total, w.lanes.splat(ConstInt(I32, 0)))
    far = w.lanes.splat(ConstInt(I32, -(FAR // numbers.unit) & _LOW))
    is_far = builder.icmp("ne", builder.binary("and", total, far), w.lanes.splat(ConstInt(I32, 0)))
    asking = w.new_block("ask")
    behind = w.target.add_block("asked", after=asking)
    builder.cond_br(any_lane(builder, is_far), asking, behind)
    builder.at_end(asking)
    type = numbers.base.type
    assert isinstance(type, PointerType)
    ask = w.intrinsic(f"llvm.prefetch.p{type.space}", VOID, (type, I32, I32, I32))
    for lane in range(w.lanes.width):
        number = builder.cast("zext", builder.extract_element(total, ConstInt(I64, lane)), I64)
        at = builder.gep(int_type(8 * numbers.unit), numbers.base, (number,))
        builder.call(ask, (at, _READ, _KEEP, _DATA))
    builder.br(behind)
    builder.at_end(behind)


def _ways(w: Widening, chain: CarriedPlace) -> list[Way]:
    """The ways that lead to places of their own, one for each line; none where there are not at least two.

    How far places are apart is found by numbers for what is there: that is no proof, and need be none.
    """

    def probed(way: Way) -> tuple[int, ...]:
        return tuple(chain.place(_probe(n, chain), way, 1) for n in range(_PROBES))

    here = probed((chain.carried, 0))
    found: dict[tuple[int, ...], Way] = {}
    for leaf in chain.leaves():
        for choice in (0, 1):
            try:
                found.setdefault(probed((leaf, choice)), (leaf, choice))
            except UnknownError:
                break
    found.pop(here, None)
    if not 1 < len(found) <= _MOST_WAYS:
        return []
    kept: list[tuple[int, ...]] = []
    for place in sorted(found):
        if not any(_is_near(place, other) for other in kept):
            kept.append(place)
    is_away = not any(_is_near(place, here) for place in kept)
    return [found[place] for place in kept] if is_away and len(kept) <= _MOST_LINES else []


def _is_near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(abs(a - b) < CACHE_LINE for a, b in zip(one, other, strict=True))


def _probe(number: int, chain: CarriedPlace) -> Algebra[int]:
    """Some number for each that is there, a multiple of 64; few of what the loop does not change, as of columns."""
    numbers: dict[Value, int] = {}

    def known(value: Value) -> int:
        if isinstance(value, ConstInt):
            return value.signed
        if not chain.is_of_loop(value):
            return _FEW
        return numbers.setdefault(value, 64 * (7 * len(numbers) + 5) * (number + 2))

    return Algebra(known, lambda n: n, lambda op, a, b: ARITHMETIC[op](a, b))
