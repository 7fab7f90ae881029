"""Polls in loops, so that an interrupt ends compiled code soon, wherever it is.

Precondition: a function in canonical form, as scalar code or after widening. Postcondition: each loop polls once in an
iteration unless it counts to a constant and is known to end soon, with all loops inside of it, or is an *innermost*
loop that counts to a bound that is known when it begins: LLVM unrolls and vectorizes these only without other exits.
Preserves what the program does as long as nobody interrupts it.
"""

from __future__ import annotations

from weft.analysis.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.ir.polls import insert_poll

SOON = 1 << 16
"""So many iterations take less than a tenth of a second, whatever they do."""

_PROMISES = ("willreturn", "nosync", "memory(")
"""Attributes that a function which may be left at a poll does not have."""


def insert_polls(module: Module, function: Function) -> int:
    """Insert polls into the loops of a function; how many there are."""
    view = cfg_of(function)
    polled: list[BasicBlock] = []
    iterations: dict[Loop, int | None] = {}
    for loop in reversed(loop_forest(view.cfg).loops):
        counted = counted_loop(view, loop)
        times = _times(counted) if isinstance(counted, CountedLoop) else None
        inner = [iterations[child] for child in loop.children]
        bounds = [n for n in inner if n is not None]
        total = times * max(1, sum(bounds)) if times is not None and len(bounds) == len(inner) else None
        iterations[loop] = total if total is not None and total <= SOON else None
        if iterations[loop] is not None:
            continue
        blocks = [view.blocks[b] for b in loop.blocks]
        if isinstance(counted, CountedLoop) and not loop.children and not _calls_loops(module, blocks):
            continue
        polled.extend(view.blocks[latch] for latch in loop.latches)
    for latch in polled:
        insert_poll(module, latch.instructions[latch.first_insertion])
    if polled:
        function.attributes = tuple(a for a in function.attributes if not a.startswith(_PROMISES))
    return len(polled)


def _times(loop: CountedLoop) -> int | None:
    """How often a loop with constant bounds runs, at most."""
    start, bound = loop.counter.start, loop.bound
    if not (isinstance(start, ConstInt) and isinstance(bound, ConstInt)):
        return None
    return abs(bound.signed - start.signed) // abs(loop.counter.step) + 1


def _calls_loops(module: Module, blocks: list[BasicBlock]) -> bool:
    """Whether one of the blocks calls a function with loops."""
    for block in blocks:
        for instruction in block:
            callee = module.functions.get(instruction.callee_name or "")
            if callee is not None and callee.blocks and loop_forest(cfg_of(callee).cfg).loops:
                return True
    return False
