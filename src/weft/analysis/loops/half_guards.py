"""Loops that work in every other stretch of a distance only: ``if i ^ d > i``, ``if i & d == 0``.

    for i in range(s, n):
        q = i ^ d
        if q > i:
            ... i, q ...

Of a distance that is a power of two these are the numbers of which the bit d is clear, or of ``q < i`` those of which
it is set; between them ``i ^ d`` is a sum or a difference. The guard may be one of several conditions, and others may
come before it, as long as an iteration that does not pass it does nothing.

Precondition: canonical P-LLVM. What is said holds for natural counters, and distances that are powers of two.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.loops.idle_guards import Guard, conditions, is_plain
from weft.analysis.loops.loop_promises import MOST_LANES
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView

_GREATER, _LESS = ("sgt", "ugt"), ("slt", "ult")


class HalfLoop(Struct, frozen=True):
    """A loop that works only where a bit of its counter is clear, or set.

    Parameters
    ----------
    loop
        The loop; no iteration hands anything on but the counter.
    distance
        The bit, known before the loop.
    is_set
        Whether it has to be set.
    guards
        The conditions that say so.
    """

    loop: CountedLoop
    distance: Value
    is_set: bool
    guards: tuple[Guard, ...]


def half_loop(view: CFGView, loop: Loop) -> HalfLoop | None:
    """How a loop works in every other stretch, if it does."""
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or not is_plain(counted):
        return None
    asked = [(guard, _bit(guard, counted)) for guard in conditions(counted)]
    wanted = next((bit for _, bit in asked if bit is not None), None)
    if wanted is None:
        return None
    distance, is_set = wanted
    guards = {guard.condition: guard for guard, bit in asked if bit == wanted}
    return HalfLoop(counted, distance, is_set, tuple(guards.values()))


def _bit(guard: Guard, loop: CountedLoop) -> tuple[Value, bool] | None:
    """The bit of the counter that a condition asks for, and whether it has to be set."""
    condition, phi, inside = guard.condition, loop.counter.phi, set(loop.blocks)
    if condition.op != "icmp":
        return None
    predicate: str = condition.predicate if guard.holds else INVERTED[condition.predicate]
    a, b = condition.operands
    for one, other, asked in ((a, b, predicate), (b, a, SWAPPED[predicate])):
        if other is phi and asked in (*_GREATER, *_LESS):
            distance = partner(one, "xor", phi, inside)
            if distance is not None:
                return distance, asked in _LESS
        distance = partner(one, "and", phi, inside)
        if distance is not None and asked in ("eq", "ne") and not _is_short(distance):
            if other == const_int(0, loop.counter.type):
                return distance, asked == "ne"
            if other == distance:
                return distance, asked == "eq"
    return None


def _is_short(distance: Value) -> bool:
    """Whether a constant is less than the lanes may be: a lane group holds both halves, in vector accesses."""
    return isinstance(distance, ConstInt) and distance.value < MOST_LANES


def partner(value: Value, op: str, counter: Value, inside: Collection[BasicBlock]) -> Value | None:
    """What is known before the loop, and may be a power of two, and is combined with the counter by an operation."""
    if not isinstance(value, Instruction) or value.op != op or counter not in value.operands:
        return None
    other = next((o for o in value.operands if o is not counter), None)
    if isinstance(other, ConstInt) and (other.signed <= 0 or other.value & (other.value - 1)):
        return None
    return None if isinstance(other, Instruction) and other.block in inside else other
