"""Versions of loops for counters that begin at no negative number: their indices do not count from the end.

``a[k]`` of the source language is the k-th element from the end where k is negative. In ``for k in range(s, e)`` no k
is where s is not negative, which is asked before the loop:

    for k in s..e: a[k < 0 ? k + n : k]      if s >= 0: for k in s..e: a[k]      else: the loop as it was

So it is with ``a[k + d]`` where the loop does not change d, and nothing wraps around: ``s + d`` is asked. Where
``k + d - e`` of 64 bits may wrap around on the way, it is asked, too, whether neither the first one nor how far the
counter gets is 2⁶² or more: it is ``s + d - e`` and as much as the counter has gone on, whatever wraps.

Precondition: a loop-closed function, without predicates, shadows and guards. Postcondition: the same; where such a
test holds, no innermost loop that was chosen asks for the sign of its counter. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.integers.intervals import full
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import CountedLoop, counted_exit, counted_loop, is_left_by_itself
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import mark_seldom
from weft.ir.types import I64, IntType
from weft.transform.loops.version_loop import version_loop
from weft.transform.numbers.known_numbers import answer, asks_for_sign, replace_known_numbers

LARGEST = 120
"""Instructions of a loop of which there are two versions."""

_RISING = frozenset(("slt", "sle", "ne"))
_BELOW = frozenset(("slt", "sle"))

Numbers = list[Instruction]


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
        view, own, loop, moved, wrapping = found

        def test(b: Builder, loop: CountedLoop = loop, m: Numbers = moved, w: Numbers = wrapping) -> Value:
            return _test(b, loop, m, w, entered)

        copies = version_loop(function, view, own, test, seldom=True)
        done |= {loop.header, copies[loop.header]}
        mark_seldom(copies[loop.latch].terminator)
        for number in (*moved, *wrapping):
            _take_as_not_negative(number)
        count += 1
    if count:
        replace_known_numbers(function)
    return count


def _next(
    function: Function, chosen: Callable[[CountedLoop], bool], done: set[BasicBlock]
) -> tuple[CFGView, Loop, CountedLoop, Numbers, Numbers] | None:
    view = cfg_of(function)
    ranges: Ranges | None = None
    for found in loop_forest(view.cfg).loops:
        if found.children or view.blocks[found.header] in done:
            continue
        loop = _counted(view, found)
        if loop is None or not _may_be_copied(loop):
            continue
        asked = _asked(loop, view)
        if asked and ranges is None:
            ranges = ranges_of(function, view)
        moved = [number for number in asked if ranges is not None and _is_moved(number, loop, ranges)]
        wrapping = [number for number in asked if number not in moved and _may_wrap(number, loop)]
        if (
            (moved or wrapping or _asks(loop))
            and is_left_by_itself(loop, {view.blocks[exit] for exit in found.exits})
            and chosen(loop)
        ):
            return view, found, loop, moved, wrapping
    return None


def _counted(view: CFGView, found: Loop) -> CountedLoop | None:
    """How a loop counts, which may be left early, as where something has been found."""
    loop = counted_loop(view, found)
    if isinstance(loop, str):
        loop = counted_exit(view, found)
        if isinstance(loop, str) or loop.tests_next:
            return None
    return loop


def _may_be_copied(loop: CountedLoop) -> bool:
    """Whether a small loop counts up."""
    if loop.counter.step < 1 or loop.predicate not in _RISING:
        return False
    return sum(len(block.instructions) for block in loop.blocks) <= LARGEST


def _asks(loop: CountedLoop) -> bool:
    """Whether a loop counts from a number that is not known, and asks for the sign of its counter."""
    return not isinstance(loop.counter.start, ConstInt) and any(
        asks_for_sign(i) and any(_without_casts(v) is loop.counter.phi for v in i.operands)
        for block in loop.blocks
        for i in block.instructions
    )


def _asked(loop: CountedLoop, view: CFGView) -> list[Instruction]:
    """The sums of which each iteration asks whether they are negative."""
    found = [
        (block, i.operands[0]) for block in loop.blocks for i in block.instructions if _compares_with_zero(i)
    ]
    if not found:
        return []
    dominators, latch = dominator_tree(view.cfg), view.index[loop.latch]
    return list(
        dict.fromkeys(
            number
            for block, number in found
            if isinstance(number, Instruction)
            and number.op in ("add", "sub", "sext")
            and dominators.dominates(view.index[block], latch)
        )
    )


def _compares_with_zero(instruction: Instruction) -> bool:
    return instruction.op == "icmp" and asks_for_sign(instruction)


def _is_moved(number: Value, loop: CountedLoop, ranges: Ranges) -> bool:
    """Whether a number is the counter and what the loop does not change, and no sum on the way wraps around."""
    if number is loop.counter.phi:
        # One that stops at a bound that is less than where it begins wraps around.
        return loop.predicate != "ne" or "nsw" in loop.counter.following.flags
    if not isinstance(number, Instruction) or number.block not in loop.blocks:
        return False
    if number.op == "sext":
        return _is_moved(number.operands[0], loop, ranges)
    if number.op not in ("add", "sub") or not _stays_within(number, ranges):
        return False
    left, right = _parts(number, loop)
    return _is_from_outside(right, loop) and _is_moved(left, loop, ranges)


def _may_wrap(number: Value, loop: CountedLoop) -> bool:
    """Whether a number is the counter and what the loop does not change, all of 64 bits, whatever wraps around."""
    if number is loop.counter.phi:
        return number.type is I64 and loop.predicate in _BELOW
    if (
        not isinstance(number, Instruction)
        or number.block not in loop.blocks
        or number.op not in ("add", "sub")
    ):
        return False
    left, right = _parts(number, loop)
    return _is_from_outside(right, loop) and _may_wrap(left, loop)


def _parts(number: Instruction, loop: CountedLoop) -> tuple[Value, Value]:
    """Both operands, that from outside of the loop last, where the order does not matter."""
    left, right = number.operands
    return (right, left) if number.op == "add" and _is_from_outside(left, loop) else (left, right)


def _is_from_outside(value: Value, loop: CountedLoop) -> bool:
    return not isinstance(value, Instruction) or value.block not in loop.blocks


def _stays_within(number: Instruction, ranges: Ranges) -> bool:
    """Whether a sum, or difference, does not wrap around."""
    assert isinstance(number.type, IntType)
    if "nsw" in number.flags:
        return True
    whole = full(number.type.bits)
    left, right = (ranges.at(v, number.block) or whole for v in number.operands)
    if number.op == "add":
        return whole.lo <= left.lo + right.lo and left.hi + right.hi <= whole.hi
    return whole.lo <= left.lo - right.hi and left.hi - right.lo <= whole.hi


def _test(builder: Builder, loop: CountedLoop, moved: Numbers, wrapping: Numbers, entered: bool) -> Value:
    start = loop.counter.start
    first = [start] if _asks(loop) else []
    # Where the loop is not entered a sum may wrap around, or be poison, which decides nothing.
    first += [builder.unary("freeze", _first(builder, number, loop)) for number in moved]
    tests = [builder.icmp("sge", number, const_int(0, number.type)) for number in first]
    few = [builder.unary("freeze", _first(builder, number, loop)) for number in wrapping]
    if few:
        few.append(builder.unary("freeze", builder.binary("sub", loop.bound, start)))
    tests += [builder.icmp("ult", number, ConstInt(I64, 1 << 62)) for number in few]
    test: Value = tests[0]
    for other in tests[1:]:
        test = builder.select(test, other, FALSE)
    if entered:
        test = builder.select(test, builder.icmp(loop.predicate, start, loop.bound), FALSE)
    return test


def _first(builder: Builder, number: Value, loop: CountedLoop) -> Value:
    """A number that moves with the counter, as it is in the first iteration."""
    if number is loop.counter.phi:
        return loop.counter.start
    if not isinstance(number, Instruction) or number.block not in loop.blocks:
        return number
    first, *others = (_first(builder, v, loop) for v in number.operands)
    if number.op == "sext":
        return builder.cast("sext", first, number.type)
    return builder.binary(number.op, first, others[0])


def _take_as_not_negative(number: Instruction) -> None:
    """Answer what asks whether a number of the chosen version is negative."""
    for question in list(number.instruction_users()):
        if _compares_with_zero(question):
            answer(question)


def _without_casts(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op in ("sext", "trunc"):
        value = value.operands[0]
    return value
