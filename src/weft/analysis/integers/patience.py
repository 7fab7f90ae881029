"""Counters of 64 bits that are raised and lowered by small constants: they do not wrap around before years have passed.

    top = 0                          top is in [-2^56, 2^56]
    while True:
        if ...: top += 1
        elif top == 0: break
        else: top -= 1

Nobody knows how often such a loop goes round, so a fixed point over intervals lets the counter rise until it wraps
around to negative numbers. But an instruction that is executed once a nanosecond has been executed 2^56 times after
two years. So an addition of a constant changes what comes of it by no more than 2^56 times the constant, and a φ that
sees results of some such additions only is within the sum of these of what it began as. With that, conditions like the
one above say where the counter really is: it is never negative.

What begins a counter is a constant, or a number of at most 32 bits that was extended.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import Interval, full, join
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import I64, IntType

EXECUTIONS = 1 << 56
"""How often a thread executes one instruction at most."""

MAX_SOURCES = 32
"""Instructions that one counter is followed to."""

_EXTENDED = 32


def patient_bounds(view: CFGView) -> dict[Instruction, Interval]:
    """Bounds of the φs of loop headers that are such counters."""
    headers = {loop.header for loop in loop_forest(view.cfg).loops}
    found: dict[Instruction, Interval] = {}
    for header in sorted(headers):
        for phi in view.blocks[header].phis():
            if phi.type == I64 and (bounds := _bounds(phi)) is not None:
                found[phi] = bounds
    return found


def _bounds(counter: Instruction) -> Interval | None:
    start: Interval | None = None
    below = above = 0
    seen: set[Value] = set()
    work: list[Value] = [counter]
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if len(seen) > MAX_SOURCES:
            return None
        if isinstance(value, ConstInt):
            start = join(start, Interval(value.signed, value.signed))
        elif not isinstance(value, Instruction) or value.shadow is not None:
            return None
        elif value.op == "phi":
            work += value.operands
        elif value.op == "select":
            work += value.operands[1:]
        elif value.op in ("sext", "zext"):
            start = join(start, _extended(value))
        elif (step := _step(value)) is not None:
            before, change = step
            below, above = below + min(0, change), above + max(0, change)
            work.append(before)
        else:
            return None
    if start is None:
        return None
    found, whole = Interval(start.lo + EXECUTIONS * below, start.hi + EXECUTIONS * above), full(64)
    return found if whole.lo < found.lo and found.hi < whole.hi else None


def _extended(value: Instruction) -> Interval:
    source = value.operands[0].type
    if not isinstance(source, IntType) or source.bits > _EXTENDED:
        return full(64)
    return full(source.bits) if value.op == "sext" else Interval(0, (1 << source.bits) - 1)


def _step(value: Instruction) -> tuple[Value, int] | None:
    """What a constant is added to, and the constant."""
    if value.op not in ("add", "sub"):
        return None
    first, second = value.operands
    if isinstance(second, ConstInt):
        return first, second.signed if value.op == "add" else -second.signed
    return (second, first.signed) if isinstance(first, ConstInt) and value.op == "add" else None
