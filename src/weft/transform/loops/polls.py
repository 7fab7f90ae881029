"""Polls in loops, so that an interrupt ends compiled code soon, wherever it is.

Precondition: a function in canonical form, as scalar code or after widening. Postcondition: its loops poll, unless they
are known to end soon: those that count to a constant, with all loops inside of them. How often depends on the loop:

* in each iteration, where nobody knows how many there are;
* in every `AROUND`-th, where a loop counts and has loops inside: LLVM optimizes a nest better without the poll;
* behind `STRIP` iterations, where it counts, has none, is in no other, and its function is called from no loop.
  LLVM unrolls and vectorizes such loops only without other exits. Innermost loops elsewhere, which are many and
  short, do not poll: the loops around them do.

Preserves what the program does as long as nobody interrupts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.ir.polls import insert_poll
from weft.transform.loops.strips import can_be_cut, cut_into_strips

SOON = 1 << 16
"""So many iterations take less than a tenth of a second, whatever they do."""

AROUND = 16

STRIP = 1 << 20
"""Iterations that take milliseconds."""

_PROMISES = ("willreturn", "nosync", "memory(")
"""Attributes that a function which may be left at a poll does not have."""


def insert_polls(module: Module, functions: Iterable[Function]) -> int:
    """Insert polls into the loops of some functions; how many there are."""
    forests = {f.name: forest for f in module.definitions() if (forest := loop_forest(cfg_of(f).cfg)).loops}
    called = {
        name for f in module.definitions() if f.name in forests for name in _called_in(f, forests[f.name])
    }
    return sum(_insert(module, f, forests, f.name in called) for f in functions if f.name in forests)


def insert_polls_in_rounds(module: Module, entry: Function) -> int:
    """Insert polls into the loops of an entry point that count nothing: the rounds of a kernel with barriers.

    Its other loops are over the threads of a work-group, or over groups, between which the pool looks.
    """
    view = cfg_of(entry)
    rounds = [x for x in loop_forest(view.cfg).loops if not isinstance(counted_loop(view, x), CountedLoop)]
    latches = [view.blocks[latch] for loop in rounds for latch in loop.latches]
    for latch in latches:
        insert_poll(module, latch.instructions[latch.first_insertion])
    return len(latches)


def _insert(module: Module, function: Function, forests: Mapping[str, LoopForest], called: bool) -> int:
    view = cfg_of(function)
    polled: list[BasicBlock] = []
    cut: list[tuple[CountedLoop, int]] = []
    iterations: dict[Loop, int | None] = {}
    for loop in reversed(forests[function.name].loops):
        counted = counted_loop(view, loop)
        times = _times(counted) if isinstance(counted, CountedLoop) else None
        bounds = [iterations[child] for child in loop.children]
        known = [n for n in bounds if n is not None]
        total = times * max(1, sum(known)) if times is not None and len(known) == len(bounds) else None
        iterations[loop] = total if total is not None and total <= SOON else None
        if iterations[loop] is not None:
            continue
        blocks = [view.blocks[b] for b in loop.blocks]
        inner = bool(loop.children) or any(
            i.callee_name in forests for b in blocks for i in b if i.op == "call"
        )
        length = AROUND if inner else STRIP
        if isinstance(counted, CountedLoop) and not inner and (called or loop.parent is not None):
            continue
        if isinstance(counted, CountedLoop) and can_be_cut(counted, length):
            cut.append((counted, length))
        else:
            polled.extend(view.blocks[latch] for latch in loop.latches)
    for each, length in cut:
        cut_into_strips(module, each, length)
    for latch in polled:
        insert_poll(module, latch.instructions[latch.first_insertion])
    if polled or cut:
        function.attributes = tuple(a for a in function.attributes if not a.startswith(_PROMISES))
    return len(polled) + len(cut)


def _called_in(function: Function, forest: LoopForest) -> Iterator[str | None]:
    """What the function calls in its loops."""
    view = cfg_of(function)
    for loop in forest.roots:
        for block in loop.blocks:
            yield from (i.callee_name for i in view.blocks[block] if i.op == "call")


def _times(loop: CountedLoop) -> int | None:
    """How often a loop with constant bounds runs, at most."""
    start, bound = loop.counter.start, loop.bound
    if not (isinstance(start, ConstInt) and isinstance(bound, ConstInt)):
        return None
    return abs(bound.signed - start.signed) // abs(loop.counter.step) + 1
