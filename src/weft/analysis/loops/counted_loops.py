"""Loops that count: which value counts, from where, by how much, and how often the loop runs.

A counted loop has one latch and one exit edge, at its header (tested at the top) or at its latch (tested at the
bottom), whose condition compares the counter, or the counter's next value, with a value from outside the loop.
The number of iterations is then known before the first: a parallel loop needs no more to be cut into chunks
(Moll, §3.1). Facts are about one function in canonical form; the numbers hold in machine integers: a counter that
could wrap around before the test fails is no counter.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.slices import slice_of
from weft.ir.types import I1, I64, IntType

_ARITHMETIC = {"add", "sub", "mul", "sext", "zext", "trunc"}
_RISING = {"slt", "sle", "ult", "ule"}
_FALLING = {"sgt", "sge", "ugt", "uge"}
_REACHES = {"slt": 0, "ult": 0, "ne": 0, "sle": 1, "ule": 1}
"""How far behind its bound a rising counter stops, by ones."""

LEFT_TWICE = "is left in more than one way"
"""Why a loop does not count of which an iteration may be the last."""


class Counter(Struct, frozen=True):
    """A φ of a loop's header that grows by the same number in each iteration.

    Parameters
    ----------
    phi, following
        The φ, and the value it takes in the next iteration.
    start
        Its first value.
    step
        What is added.
    """

    phi: Instruction
    following: Instruction
    start: Value
    step: int

    @property
    def type(self) -> IntType:
        assert isinstance(self.phi.type, IntType)
        return self.phi.type


class CountedLoop(Struct, frozen=True):
    """A loop with a number of iterations that is known when it is entered.

    Parameters
    ----------
    header, preheader, latch
        Its blocks; the preheader has no other successor.
    blocks
        All of them, the header first.
    exiting, exit
        The exit edge.
    counter
        What is tested.
    tests_next
        Whether the counter's next value is tested, not the present one.
    predicate, bound
        The loop goes on while ``tested predicate bound``.
    """

    header: BasicBlock
    preheader: BasicBlock
    latch: BasicBlock
    blocks: tuple[BasicBlock, ...]
    exiting: BasicBlock
    exit: BasicBlock
    counter: Counter
    tests_next: bool
    predicate: str
    bound: Value

    @property
    def top_tested(self) -> bool:
        """Whether the loop may run its body no time at all."""
        return self.exiting is self.header and self.header is not self.latch


def counters_of(header: BasicBlock, preheader: BasicBlock, latch: BasicBlock) -> list[Counter]:
    """The counters among the φs of a loop's header."""
    found: list[Counter] = []
    for phi in header.phis():
        if not isinstance(phi.type, IntType) or set(phi.blocks) != {preheader, latch}:
            continue
        following = phi.incoming_value(latch)
        if not isinstance(following, Instruction) or following.op not in ("add", "sub"):
            continue
        a, b = following.operands
        if following.op == "add" and b is phi:
            a, b = b, a
        if a is phi and isinstance(b, ConstInt) and b.signed:
            step = b.signed if following.op == "add" else -b.signed
            found.append(Counter(phi, following, phi.incoming_value(preheader), step))
    return found


def counted_loop(
    view: CFGView, loop: Loop, *, early: bool = False, computed: bool = False
) -> CountedLoop | str:
    """How `loop` counts, or why it does not, in words that end the sentence "the loop ...".

    Parameters
    ----------
    view, loop
        A loop of a function in canonical form.
    early
        Whether the next value of the counter may be tested before the body, which nobody who transforms loops expects.
    computed
        Whether the bound may be computed in the loop, of what is known before it: the same in each iteration.
    """
    header = view.blocks[loop.header]
    outside = [view.blocks[p] for p in view.cfg.preds[loop.header] if p not in loop.blocks]
    if loop.is_irreducible or len(loop.latches) != 1 or len(outside) != 1:
        return "is entered or repeated in more than one way"
    if len(loop.exit_edges) != 1:
        return LEFT_TWICE
    (source, target), latch, preheader = loop.exit_edges[0], view.blocks[loop.latches[0]], outside[0]
    if len(preheader.successors) != 1:
        return "has no block of its own before it"
    exiting = view.blocks[source]
    if exiting is not header and exiting is not latch:
        return "is left from the middle of its body"
    blocks = (header, *(view.blocks[b] for b in sorted(loop.blocks) if b != loop.header))
    test = _test(exiting, view.blocks[target], set(blocks), counters_of(header, preheader, latch), computed)
    if test is None:
        return "does not count up or down to a bound that is known when it begins"
    counter, tests_next, predicate, bound = test
    if tests_next and exiting is not latch and not early:
        return "tests the next value of its counter before its body"
    return CountedLoop(
        header, preheader, latch, blocks, exiting, view.blocks[target], counter, tests_next, predicate, bound
    )


def counted_exit(view: CFGView, loop: Loop, *, computed: bool = False) -> CountedLoop | str:
    """How a loop counts that may be left early, too: by the test in its header; or why it does not.

    Parameters
    ----------
    view, loop
        A loop of a function in canonical form.
    computed
        Whether the bound may be computed in the loop, of what is known before it: the same in each iteration.
    """
    header = view.blocks[loop.header]
    outside = [view.blocks[p] for p in view.cfg.preds[loop.header] if p not in loop.blocks]
    if loop.is_irreducible or len(loop.latches) != 1 or len(outside) != 1:
        return "is entered or repeated in more than one way"
    (preheader,), latch = outside, view.blocks[loop.latches[0]]
    targets = [view.blocks[x] for e, x in loop.exit_edges if e == loop.header]
    if len(preheader.successors) != 1 or len(targets) != 1 or header is latch:
        return "has no test at its top"
    blocks = (header, *(view.blocks[b] for b in sorted(loop.blocks) if b != loop.header))
    test = _test(header, targets[0], set(blocks), counters_of(header, preheader, latch), computed)
    if test is None:
        return "does not count up or down to a bound that is known when it begins"
    counter, tests_next, predicate, bound = test
    return CountedLoop(
        header, preheader, latch, blocks, header, targets[0], counter, tests_next, predicate, bound
    )


def _test(
    exiting: BasicBlock,
    exit_block: BasicBlock,
    inside: set[BasicBlock],
    counters: list[Counter],
    computed: bool = False,
) -> tuple[Counter, bool, str, Value] | None:
    branch = exiting.terminator
    if branch.op != "br" or not branch.operands:
        return None
    condition = branch.operands[0]
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return None
    predicate: str = condition.predicate
    if branch.blocks[0] is exit_block:
        predicate = INVERTED[predicate]
    for tested, bound, swapped in (
        (condition.operands[0], condition.operands[1], False),
        (condition.operands[1], condition.operands[0], True),
    ):
        if not (is_computed_before(bound, inside) if computed else _is_before(bound, inside)):
            continue
        for counter in counters:
            if tested is counter.phi or tested is counter.following:
                goes_on = SWAPPED[predicate] if swapped else predicate
                if _ends(counter, goes_on):
                    return counter, tested is counter.following, goes_on, bound
    return None


def _is_before(value: Value, inside: set[BasicBlock]) -> bool:
    return not isinstance(value, Instruction) or value.block not in inside


def is_computed_before(value: Value, inside: set[BasicBlock]) -> bool:
    """Whether a value of a loop could be computed before it, by sums, products and casts."""
    return all(
        not isinstance(part, Instruction) or part.block not in inside or part.op in _ARITHMETIC
        for part in slice_of(value, lambda i: i.block in inside and i.op in _ARITHMETIC)
    )


def _ends(counter: Counter, predicate: str) -> bool:
    """Whether the test fails before the counter wraps around, so that distance and step tell the iterations."""
    step, flags = counter.step, counter.following.flags
    if predicate == "ne":
        return abs(step) == 1
    if not ((predicate in _RISING and step > 0) or (predicate in _FALLING and step < 0)):
        return False
    if predicate.endswith("t") and abs(step) == 1:
        return True
    if predicate.startswith("s"):
        return "nsw" in flags
    # An unsigned counter falls by adding a number that wraps: no flag says that it stops at zero.
    return step > 0 and "nuw" in flags


def is_left_by_itself(loop: CountedLoop, others: Collection[BasicBlock] = ()) -> bool:
    """Whether only the loop goes to its exit, and to `others` that it has, and what is used there goes through φs."""
    inside, exits = set(loop.blocks), {loop.exit, *others}
    if any(p not in inside for exit in exits for p in exit.predecessors):
        return False
    return all(
        user.block in inside or (user.is_phi and user.block in exits)
        for block in loop.blocks
        for i in block.instructions
        for user in i.instruction_users()
    )


def known_iterations(loop: CountedLoop) -> int | None:
    """How often the body runs, where numbers say so; counters stay below 2³¹, and do not wrap around as signed numbers.

    Where they start below 0, they do as numbers without a sign.
    """
    counter, bound, more = loop.counter, loop.bound, _REACHES.get(loop.predicate)
    if not isinstance(counter.start, ConstInt) or not isinstance(bound, ConstInt) or more is None:
        return None
    start, last, step = counter.start.signed, bound.signed + more, counter.step
    tested = start + step if loop.tests_next else start
    lowest = -1 << 31 if loop.predicate in ("slt", "sle", "ne") else 0
    if step < 1 or start < lowest or tested > last or last >= 1 << 31:
        return None
    if loop.predicate == "ne" and (last - tested) % step:
        return None
    tests = -(-(last - tested) // step)
    return tests if loop.top_tested else tests + 1


def build_iterations(loop: CountedLoop, builder: Builder) -> Value:
    """Compute at `builder`, before the loop, how often its body runs, as an i64."""
    counter = loop.counter
    start: Value = counter.start
    if loop.tests_next:
        start = builder.binary("add", start, ConstInt(counter.type, counter.step))
    count = _count(builder, start, loop.bound, counter, loop.predicate)
    if loop.top_tested:
        return count
    # The test at the bottom counts the iterations behind the first.
    return builder.binary("add", count, ConstInt(I64, 1), ("nuw",))


def _count(builder: Builder, start: Value, bound: Value, counter: Counter, predicate: str) -> Value:
    type, step = counter.type, counter.step
    low, high = (start, bound) if step > 0 else (bound, start)
    distance = builder.binary("sub", high, low)
    if predicate == "ne":
        return _as_i64(builder, distance)
    empty = builder.icmp(INVERTED[predicate], start, bound)
    if predicate.endswith("t"):
        distance = builder.binary("sub", distance, ConstInt(type, 1))
    steps = distance if abs(step) == 1 else builder.binary("udiv", distance, ConstInt(type, abs(step)))
    whole = _as_i64(builder, steps)
    return builder.select(empty, ConstInt(I64, 0), builder.binary("add", whole, ConstInt(I64, 1)))


def _as_i64(builder: Builder, value: Value) -> Value:
    """An unsigned number of iterations, of which there are fewer than 2⁶³ in any run that ends."""
    assert isinstance(value.type, IntType) and value.type is not I1
    if value.type.bits == I64.bits:
        return value
    return builder.cast("zext" if value.type.bits < I64.bits else "trunc", value, I64)
