"""Loops over a window around a place of the thread's own, cut off at edges: ``range(max(c - 1, 0), min(c + 2, n))``.

Whoever is at no edge has as many iterations as everybody else, so a lane group hardly waits for its last thread there.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.graph.loops import Loop
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView

_CASTS = ("sext", "zext", "trunc", "freeze")
_EXTREMA = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.")
_DEEPEST = 4
"""Extrema in each other that are looked through."""

_LONGEST = 64
"""Iterations of a window; more are a stretch that a thread works on by itself. Guess."""


def is_clamped_window(loop: Loop, view: CFGView) -> bool:
    """Whether a loop counts from near a number to near the same one, each a constant away, but for edges."""
    if len(loop.exit_edges) != 1:
        return False
    branch = view.blocks[loop.exit_edges[0][0]].terminator
    test = branch.operands[0] if branch.operands else None
    if not isinstance(test, Instruction) or test.op != "icmp":
        return False
    inside = {view.blocks[n] for n in loop.blocks}
    for counter, bound in (test.operands, test.operands[::-1]):
        # Counted in 32 bits, and compared in 64.
        counter = _without_casts(counter)
        if isinstance(counter, Instruction) and counter.op == "add" and counter.block in inside:
            counter = _without_casts(counter.operands[0])
        if not (isinstance(counter, Instruction) and counter.is_phi):
            continue
        if counter.block is not view.blocks[loop.header]:
            continue
        ends = list(_near(bound, _DEEPEST))
        starts = [value for value, source in counter.incoming() if source not in inside]
        if starts and all(_is_close(start, ends) for start in starts):
            return True
    return False


def _is_close(start: Value, ends: list[tuple[Value, int]]) -> bool:
    return any(
        base is end and 0 < last - first <= _LONGEST
        for base, first in _near(start, _DEEPEST)
        for end, last in ends
    )


def _without_casts(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op in _CASTS:
        value = value.operands[0]
    return value


def _near(value: Value, depth: int, more: int = 0) -> Iterator[tuple[Value, int]]:
    """The numbers of which a value is the sum with a constant, or would be if it were not cut off; the constants."""
    value = _without_casts(value)
    if not isinstance(value, Instruction):
        yield value, more
        return
    step = value.operands[1] if value.op in ("add", "sub") else None
    if isinstance(step, ConstInt):
        yield from _near(
            value.operands[0], depth, more + (step.signed if value.op == "add" else -step.signed)
        )
        return
    yield value, more
    chosen = value.operands[1:] if value.op == "select" else ()
    if (value.callee_name or "").startswith(_EXTREMA):
        chosen = tuple(value.args)
    for each in chosen if depth else ():
        yield from _near(each, depth - 1, more)
