"""Counters of 32 bits that say where a stack object is accessed whenever they change: they are places of it.

    top = np.int32(0)                top is in [-32, 32]
    while True:
        if ...: nodes[top] = node; top += 1
        elif top == 0: break
        else: top -= 1; node = nodes[top]

An access is in bounds or the program has no meaning. So a number that is added to where the object is accessed at it is
a place of the object before, and one that the object is accessed at once it has been changed is a place behind that.
Places of Python count from the end where they are negative: the index is one of two then, and so is the number.

Counters of 64 bits are bounded by what years would add (`weft.analysis.integers.patience`); those of 32 would wrap
around in seconds.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import Interval, join
from weft.analysis.integers.patience import counter_sources, step_of
from weft.analysis.memory.alias import locate
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout
from weft.ir.types import I32

_MOST = 1 << 30
"""Counters of less than that do not wrap around."""


def heights(view: CFGView, layout: DataLayout) -> dict[Instruction, Interval]:
    """Bounds of the φs of loop headers that are such counters."""
    found: dict[Instruction, Interval] = {}
    for header in sorted({loop.header for loop in loop_forest(view.cfg).loops}):
        for phi in view.blocks[header].phis():
            if phi.type == I32 and (bounds := _bounds(phi, layout)) is not None:
                found[phi] = bounds
    return found


def _bounds(counter: Instruction, layout: DataLayout) -> Interval | None:
    found: Interval | None = None
    for value in counter_sources(counter, lambda _: None) or ():
        if isinstance(value, ConstInt):
            found = join(found, Interval(value.signed, value.signed))
        elif (bounds := _changed(value, layout)) is not None:
            found = join(found, bounds)
        else:
            return None
    return found


def _changed(value: Instruction, layout: DataLayout) -> Interval | None:
    """What a number is that has been changed by a constant, if it or what it was is a place of a stack object."""
    step = step_of(value)
    if step is None:
        return None
    before, change = step
    if (places := _places(before, value, layout)) is not None:
        places = Interval(places.lo + change, places.hi + change)
    else:
        places = _places(value, value, layout)
    return places if places is not None and places.lo > -_MOST and places.hi < _MOST else None


def _places(number: Value, change: Instruction, layout: DataLayout) -> Interval | None:
    """Where a stack object may be that is accessed at a number in the block of a change, which runs as a whole."""
    block = change.block
    assert block is not None
    if block.predicate is not None:
        return None
    for access in block.instructions:
        if not access.is_plain_access or access.guard is not None:
            continue
        location = locate(access.pointer, layout)
        base = location.base
        if (
            len(location.terms) != 1
            or not isinstance(base, Instruction)
            or base.op != "alloca"
            or not isinstance(base.operands[0], ConstInt)
        ):
            continue
        ((index, scale),) = location.terms.items()
        gaps = _gaps(index, number, {})
        if scale <= 0 or not gaps:
            continue
        size = layout.size(base.allocated_type) * base.operands[0].value
        last = (size - layout.store_size(access.accessed_type) - location.offset) // scale
        first = -(location.offset // scale)
        return Interval(first - max(gaps), last - min(gaps))
    return None


def _gaps(index: Value, number: Value, known: dict[Value, set[int]]) -> set[int]:
    """By how much an index is above a number; none if it may be something else."""
    if index not in known:
        known[index] = _found_gaps(index, number, known)
    return known[index]


def _found_gaps(index: Value, number: Value, known: dict[Value, set[int]]) -> set[int]:
    if index is number:
        return {0}
    if not isinstance(index, Instruction):
        return set()
    if index.op == "sext":
        return {0} if index.operands[0] is number else set()
    if index.op == "select":
        sides = [_gaps(side, number, known) for side in index.operands[1:]]
        return sides[0] | sides[1] if all(sides) else set()
    step = step_of(index)
    if step is None or abs(step[1]) > _MOST:
        return set()
    return {gap + step[1] for gap in _gaps(step[0], number, known)}
