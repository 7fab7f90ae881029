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

That is so of loops that really go round: LLVM finds out what a loop computes whose rounds it can count, so that 2^60 of
them take no time. It cannot where a way out of the loop depends on what rounds load from places of their own, or on
choices that depend on that.

A counter that is raised behind an access of a stack object at its place is not above the end of the object, as
accesses are in bounds or the program has no meaning: the height of a stack of 32 places is 32 at most. That holds if
the place is the counter over the integers, of which years of additions are too few to wrap an address around.

What begins a counter is a constant, or a number of at most 32 bits that was extended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.analysis.integers.intervals import Interval, full, join
from weft.analysis.memory.alias import locate
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout
from weft.ir.types import I64, IntType

EXECUTIONS = 1 << 56
"""How often a thread executes one instruction at most."""

MAX_SOURCES = 32
"""Instructions that one counter is followed to."""

_EXTENDED = 32

_NEAR, _LARGEST_ELEMENT = 1 << 58, 16
"""Counters of less than that, times elements of so many bytes, do not wrap around."""


def patient_bounds(view: CFGView, layout: DataLayout) -> dict[Instruction, Interval]:
    """Bounds of the φs of loop headers that are such counters."""
    loops = loop_forest(view.cfg)
    uncounted = {loop for loop in loops.loops if _goes_round(loop, view)}
    found: dict[Instruction, Interval] = {}
    if not uncounted:
        return found

    def takes_time(step: Instruction) -> bool:
        assert step.block is not None
        return loops.innermost[view.index[step.block]] in uncounted

    for header in sorted({loop.header for loop in loops.loops}):
        for phi in view.blocks[header].phis():
            if phi.type == I64 and (bounds := _bounds(phi, takes_time, layout)) is not None:
                found[phi] = bounds
    return found


def _goes_round(loop: Loop, view: CFGView) -> bool:
    """Whether a way out of a loop depends on what rounds load from places of their own."""
    inside = {view.blocks[b] for b in loop.blocks}
    header = view.blocks[loop.header]
    asked = [v for source in loop.exiting for v in view.blocks[source].terminator.operands]
    found = _computing(asked, inside)
    if any(i.is_phi and i.block is not header for i in found):
        # What branches choose depends on what they ask.
        found |= _computing([v for block in inside for v in block.terminator.operands], inside)
    loads = [i for i in found if i.op == "load"]
    return any(i.is_phi for load in loads for i in _computing([load.pointer], inside))


def _computing(values: Sequence[Value], inside: set[BasicBlock]) -> set[Instruction]:
    """What values are computed of in some blocks, in all rounds."""
    found: set[Instruction] = set()
    work = list(values)
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.block in inside and value not in found:
            found.add(value)
            work += value.operands
    return found


def counter_sources(
    counter: Instruction, before: Callable[[Instruction], Value | None]
) -> list[ConstInt | Instruction] | None:
    """The numbers that φs and choices hand on to a counter, and what was `before` those; None if these are too many."""
    seen: set[Value] = set()
    sources: list[ConstInt | Instruction] = []
    work: list[Value] = [counter]
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if len(seen) > MAX_SOURCES:
            return None
        if isinstance(value, ConstInt):
            sources.append(value)
        elif not isinstance(value, Instruction) or value.shadow is not None:
            return None
        elif value.op == "phi":
            work += value.operands
        elif value.op == "select":
            work += value.operands[1:]
        else:
            sources.append(value)
            if (more := before(value)) is not None:
                work.append(more)
    return sources


def _bounds(
    counter: Instruction, takes_time: Callable[[Instruction], bool], layout: DataLayout
) -> Interval | None:
    start: Interval | None = None
    ends: list[int] | None = []
    below = above = 0
    sources = counter_sources(counter, lambda i: step[0] if (step := step_of(i)) and takes_time(i) else None)
    for value in sources or ():
        if isinstance(value, ConstInt):
            start = join(start, Interval(value.signed, value.signed))
        elif value.op in ("sext", "zext"):
            start = join(start, _extended(value))
        elif (step := step_of(value)) is not None and takes_time(value):
            before, change = step
            below, above = below + min(0, change), above + max(0, change)
            if change > 0 and ends is not None:
                end = _end_of_object(value, before, layout)
                ends = None if end is None else [*ends, end + change]
        else:
            return None
    if start is None:
        return None
    found, whole = Interval(start.lo + EXECUTIONS * below, start.hi + EXECUTIONS * above), full(64)
    if not (whole.lo < found.lo and found.hi < whole.hi):
        return None
    if ends and found.lo > -_NEAR and found.hi < _NEAR:
        return Interval(found.lo, min(found.hi, max(start.hi, *ends)))
    return found


def _end_of_object(step: Instruction, counter: Value, layout: DataLayout) -> int | None:
    """The last place of a stack object that is accessed in the block before `step`, where a counter says."""
    block = step.block
    assert block is not None
    if block.predicate is not None:
        return None
    for access in block.instructions[: block.instructions.index(step)]:
        if not access.is_plain_access:
            continue
        location = locate(access.pointer, layout)
        scale = location.terms.get(counter, 0)
        if len(location.terms) != 1 or not 0 < scale <= _LARGEST_ELEMENT:
            continue
        base = location.base
        if (
            not isinstance(base, Instruction)
            or base.op != "alloca"
            or not isinstance(base.operands[0], ConstInt)
        ):
            continue
        size = layout.size(base.allocated_type) * base.operands[0].value
        return (size - layout.store_size(access.accessed_type) - location.offset) // scale
    return None


def _extended(value: Instruction) -> Interval:
    source = value.operands[0].type
    if not isinstance(source, IntType) or source.bits > _EXTENDED:
        return full(64)
    return full(source.bits) if value.op == "sext" else Interval(0, (1 << source.bits) - 1)


def step_of(value: Instruction) -> tuple[Value, int] | None:
    """What a constant is added to, and the constant."""
    if value.op not in ("add", "sub"):
        return None
    first, second = value.operands
    if isinstance(second, ConstInt):
        return first, second.signed if value.op == "add" else -second.signed
    return (second, first.signed) if isinstance(first, ConstInt) and value.op == "add" else None
