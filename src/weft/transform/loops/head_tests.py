"""Loops that are tested at their end, and known to have a round, are tested at their head.

    if 0 < n goto header                     goto head
    header: i = φ(0, i + 1); ...             header: i = φ(0, i + 1); if i < n goto body, else exit
    latch:  if i + 1 < n goto header         body:   ...
            else exit                        latch:  goto header

Compilers turn ``for (i = 0; i < n; i++)`` into the first form ("loop inversion"); passes know the second one, which is
that of the source. The test before the loop goes if it asks the same, and leads to the same. A test for inequality,
into which LLVM turns ``i < n``, becomes that again where the loop begins below n and counts by one: it asks what the
test before the loop asks. A search by halves that is known to have something to halve is turned, too:

    header: low, high = φ(...); ...          header: low, high = φ(...); if high - low > 1 goto body, else exit
    latch:  if high' - low' > 1 goto header  latch:  goto header

Precondition: canonical P-LLVM without predicates, shadows and guards. Postcondition: no loop is tested at its end by a
comparison of a number that it counts with what it does not change, or of two that it carries, if that is known to hold
before the first round.
Preserves the program under FR: the test stands behind the same round as before.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from weft.analysis.integers.intervals import INVERTED, SWAPPED, Interval
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.memory.far_steps import step_of
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import is_speculatable
from weft.transform.loops.last_tests import (
    HOLDS,
    LastTest,
    RangeTest,
    TestedLast,
    is_signed,
    last_test,
    range_test,
)
from weft.transform.loops.shared_rounds import share_rounds
from weft.transform.loops.simplify_loops import simplify_loops

_IMPLIED = {
    "slt": ("slt", "sle", "ne"),
    "sgt": ("sgt", "sge", "ne"),
    "sle": ("sle",),
    "sge": ("sge",),
    "ne": ("ne",),
}


def test_at_head(function: Function) -> list[BasicBlock]:
    """Bring the loops of a function into that form; the heads of those that were not."""
    found: list[BasicBlock] = []
    while (head := _turn_one(function)) is not None:
        found.append(head)
    if found:
        simplify_loops(function)
        remove_dead_instructions(function)
    return found


def _turn_one(function: Function) -> BasicBlock | None:
    view = cfg_of(function)
    forest = loop_forest(view.cfg).loops
    counted = [found for loop in forest if (found := last_test(view, loop)) is not None]
    carried = [found for loop in forest if (found := range_test(view, loop)) is not None]
    if not counted and not carried:
        return None
    ranges = ranges_of(function, view)
    for loop in counted:
        if (predicate := _head_test(loop, ranges)) is not None:
            return _turn_counted(function, replace(loop, predicate=predicate))
    for loop in carried:
        if _holds_first(loop, ranges):
            return _turn(function, loop, _asking(loop))
    return None


def _holds_first(loop: RangeTest, ranges: Ranges) -> bool:
    """Whether what a loop asks of two numbers is known to hold for what they are at first."""
    first, second = (
        _at(phi.incoming_value(loop.before), loop.before, ranges) for phi in (loop.first, loop.second)
    )
    if first is None or second is None:
        return False
    least, most = first.lo - second.hi, first.hi - second.lo
    limit = loop.limit.signed if loop.limit is not None else 0
    if loop.limit is not None and not (
        is_signed(least, loop.limit.type) and is_signed(most, loop.limit.type)
    ):
        return False
    match loop.predicate:
        case "sgt" | "sge":
            return HOLDS[loop.predicate](least, limit)
        case "slt" | "sle":
            return HOLDS[loop.predicate](most, limit)
        case "ne":
            return least > limit or most < limit
        case _:
            return False


def _at(value: Value, block: BasicBlock, ranges: Ranges) -> Interval | None:
    """The range of a number in a block, also by what is known there of the one that it is a constant more than."""
    known = ranges.at(value, block)
    if (
        isinstance(value, Instruction)
        and value.op == "add"
        and isinstance(more := value.operands[1], ConstInt)
    ):
        rest = ranges.at(value.operands[0], block)
        if rest is not None and all(is_signed(end + more.signed, value.type) for end in (rest.lo, rest.hi)):
            sum = Interval(rest.lo + more.signed, rest.hi + more.signed)
            return sum if known is None else Interval(max(sum.lo, known.lo), min(sum.hi, known.hi))
    return known


def _asking(loop: RangeTest) -> Callable[[Builder], Value]:
    """What asks in the head of a loop what its latch asked."""

    def ask(builder: Builder) -> Value:
        if loop.limit is None or loop.difference is None:
            return builder.icmp(loop.predicate, loop.first, loop.second)
        # Without signs the numbers before the first round may be in another order.
        flags = tuple(flag for flag in loop.difference.flags if flag != "nuw")
        apart = builder.binary("sub", loop.first, loop.second, flags)
        return builder.icmp(loop.predicate, apart, loop.limit)

    return ask


def _head_test(loop: LastTest, ranges: Ranges) -> str | None:
    """What the head asks, if that is known to hold for what the counter is at first."""
    first = loop.counter.incoming_value(loop.before)
    if isinstance(first, ConstInt) and isinstance(loop.bound, ConstInt):
        if not HOLDS[loop.predicate](first.signed, loop.bound.signed):
            return None
        return _until_met(loop, "slt" if first.signed < loop.bound.signed else "sgt")
    for value, other, turned in ((first, loop.bound, False), (loop.bound, first, True)):
        for known in ranges.bounds_of(value, loop.before):
            says = SWAPPED[known.predicate] if turned else known.predicate
            if known.other is other and loop.predicate in _IMPLIED.get(says, ()):
                return _until_met(loop, says)
    low, high = ranges.at(first, loop.before), ranges.at(loop.bound, loop.before)
    if low is None or high is None:
        return None
    ends = {
        "slt": low.hi < high.lo,
        "sle": low.hi <= high.lo,
        "sgt": low.lo > high.hi,
        "sge": low.lo >= high.hi,
    }
    if loop.predicate != "ne":
        return loop.predicate if ends.get(loop.predicate, False) else None
    says = next((p for p in ("slt", "sgt") if ends[p]), None)
    return says and _until_met(loop, says)


def _until_met(loop: LastTest, says: str) -> str:
    """What a loop asks that goes on until it meets its bound, with that and its first number compared so.

    A counter that moves by one meets it before it is beyond, so it may as well ask on which side it is.
    """
    step = step_of(loop.counter, loop.latch)
    towards = {"slt": 1, "sgt": -1}.get(says)
    if loop.predicate == "ne" and isinstance(step, ConstInt) and step.signed == towards:
        return says
    return loop.predicate


def _turn_counted(function: Function, loop: LastTest) -> BasicBlock:
    head = _turn(function, loop, lambda builder: builder.icmp(loop.predicate, loop.counter, loop.bound))
    asked = loop.counter.incoming_value(loop.before), loop.predicate, loop.bound
    share_rounds(head, loop.before, loop.latch, loop.counter, loop.blocks)
    drop_guard(head, loop.before, loop.exit, asked)
    return head


def _turn(function: Function, loop: TestedLast, ask: Callable[[Builder], Value]) -> BasicBlock:
    """Have a loop ask in a head of its own whether to go on; the head."""
    header, latch, before = loop.header, loop.latch, loop.before
    # The loop goes by the name that its source gave it.
    head = function.add_block(header.name, before)
    header.name = f"{header.name}.body"
    for phi in list(header.phis()):
        phi.detach()
        head.append(phi)
    builder = Builder(head)
    builder.loc = latch.terminator.loc
    builder.cond_br(ask(builder), header, loop.exit)
    nexts = {phi.incoming_value(latch): phi for phi in head.phis()}
    for phi in list(loop.exit.phis()):
        at = phi.blocks.index(latch)
        value = phi.operands[at]
        phi.remove_incoming(at)
        phi.add_incoming(nexts.get(value, value), head)
    before.terminator.replace_operand(header, head)
    loc, marks = latch.terminator.loc, latch.terminator.metadata
    latch.terminator.erase()
    back = Builder(latch).br(head)
    back.loc = loc
    for kind, node in marks.items():
        back.set_metadata(kind, node)
    return head


def drop_guard(
    head: BasicBlock, before: BasicBlock, exit: BasicBlock, asked: tuple[Value, str, Value]
) -> None:
    """Drop the test before a loop that says what its head asks first, and leads to where that does.

    Parameters
    ----------
    head, before, exit
        Where the loop begins, from where it is entered, and where the head leads if there is no round.
    asked
        What the head asks before the first round, the predicate between the numbers.
    """
    inside, after = before, exit
    while len(inside.predecessors) == 1 and len(inside.predecessors[0].successors) == 1:
        inside = inside.predecessors[0]
    if len(inside.predecessors) != 1:
        return
    guard = inside.predecessors[0].terminator
    way = _empty_way(after)
    others = [b for b in guard.successors if b is not inside]
    if guard.op != "br" or len(others) != 1 or others[0] not in way:
        return
    if not _asks(guard, inside, asked) or not _all_speculatable(inside, before):
        return
    join, source = others[0], guard.block
    assert source is not None
    last = way[way.index(join) - 1] if join is not after else head
    for phi in join.phis():
        end = phi.incoming_value(last)
        while isinstance(end, Instruction) and end.is_phi and end.block in way:
            end = end.incoming_value(way[way.index(end.block) - 1] if end.block is not after else head)
        if isinstance(end, Instruction) and end.is_phi and end.block is head:
            end = end.incoming_value(before)
        if phi.incoming_value(source) != end:
            return
    loc = guard.loc
    for phi in join.phis():
        phi.remove_incoming(phi.blocks.index(source))
    guard.erase()
    Builder(source).br(inside)
    source.terminator.loc = loc


def _empty_way(block: BasicBlock) -> list[BasicBlock]:
    """A block, and those behind it as long as nothing is done before them."""
    way = [block]
    while all(i.is_phi or i.is_terminator for i in block.instructions) and len(block.successors) == 1:
        block = block.successors[0]
        if block in way:
            break
        way.append(block)
    return way


def _all_speculatable(inside: BasicBlock, before: BasicBlock) -> bool:
    while True:
        if not all(is_speculatable(i) for i in inside.instructions if not i.is_terminator):
            return False
        if inside is before:
            return True
        inside = inside.successors[0]


def _asks(guard: Instruction, inside: BasicBlock, asked: tuple[Value, str, Value]) -> bool:
    """Whether a branch goes inside where that holds, and only then."""
    test = guard.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp":
        return False
    says = test.predicate if guard.successors[0] is inside else INVERTED[test.predicate]
    low, high = test.operands
    return any(
        _strict(a, p, b) == _strict(*asked) for a, p, b in ((low, says, high), (high, SWAPPED[says], low))
    )


def _strict(low: Value, predicate: str, high: Value) -> tuple[Value, str, Value]:
    """A comparison, of numbers with a constant without equality."""
    more = {"sle": ("slt", 1), "sge": ("sgt", -1)}.get(predicate)
    if more is None:
        return low, predicate, high
    if isinstance(high, ConstInt) and is_signed(high.signed + more[1], high.type):
        return low, more[0], const_int(high.signed + more[1], high.type)
    if isinstance(low, ConstInt) and is_signed(low.signed - more[1], low.type):
        return const_int(low.signed - more[1], low.type), more[0], high
    return low, predicate, high
