"""Versions of loops for counters that begin at no negative number: their indices do not count from the end.

``a[k]`` of the source language is the k-th element from the end where k is negative. In ``for k in range(s, e)`` no k
is where s is not negative, which is asked before the loop:

    for k in s..e: a[k < 0 ? k + n : k]      if s >= 0: for k in s..e: a[k]      else: the loop as it was

Precondition: a loop-closed function, without predicates, shadows and guards. Postcondition: the same; where such a
test holds, no innermost loop that was chosen asks for the sign of its counter. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import mark_scalar
from weft.transform.loops.version_loop import version_loop
from weft.transform.numbers.known_numbers import asks_for_sign, replace_known_numbers

LARGEST = 120
"""Instructions of a loop of which there are two versions."""

_RISING = frozenset(("slt", "sle", "ne"))


def count_from_zero(
    function: Function, chosen: Callable[[CountedLoop], bool] = lambda loop: True, *, entered: bool = False
) -> int:
    """Make two versions of each such loop that is `chosen`; return how many these were.

    Parameters
    ----------
    entered
        Whether the version with no negative numbers shall only run where it has an iteration.
    """
    done: set[BasicBlock] = set()
    count = 0
    while (found := _next(function, chosen, done)) is not None:
        view, own, loop = found
        copies = version_loop(function, view, own, lambda b, loop=loop: _test(b, loop, entered))
        done |= {loop.header, copies[loop.header]}
        # It hardly runs.
        mark_scalar(copies[loop.latch].terminator)
        count += 1
    if count:
        replace_known_numbers(function)
    return count


def _next(
    function: Function, chosen: Callable[[CountedLoop], bool], done: set[BasicBlock]
) -> tuple[CFGView, Loop, CountedLoop] | None:
    view = cfg_of(function)
    for found in loop_forest(view.cfg).loops:
        if found.children or view.blocks[found.header] in done:
            continue
        loop = counted_loop(view, found)
        if not isinstance(loop, str) and _asks(loop) and is_left_by_itself(loop) and chosen(loop):
            return view, found, loop
    return None


def _asks(loop: CountedLoop) -> bool:
    """Whether a small loop counts up, from a number that is not known, and asks for the sign of its counter."""
    counter = loop.counter
    if counter.step < 1 or isinstance(counter.start, ConstInt) or loop.predicate not in _RISING:
        return False
    if sum(len(block.instructions) for block in loop.blocks) > LARGEST:
        return False
    return any(
        asks_for_sign(i) and any(_without_casts(v) is counter.phi for v in i.operands)
        for block in loop.blocks
        for i in block.instructions
    )


def _test(builder: Builder, loop: CountedLoop, entered: bool) -> Value:
    start = loop.counter.start
    test: Value = builder.icmp("sge", start, const_int(0, loop.counter.type))
    if entered:
        test = builder.select(test, builder.icmp(loop.predicate, start, loop.bound), FALSE)
    return test


def _without_casts(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op in ("sext", "trunc"):
        value = value.operands[0]
    return value
