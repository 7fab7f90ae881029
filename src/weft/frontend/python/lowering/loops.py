"""``while`` and ``for``: counted loops, loops over tuples that are unrolled, and loops over points."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.frontend.python.lowering.arrays.heap import LoopFrame, holding
from weft.frontend.python.lowering.arrays.points import Points
from weft.frontend.python.lowering.arrays.whole_arrays import for_each
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.context import statement
from weft.frontend.python.lowering.facts import facts_for
from weft.frontend.python.lowering.iterables import constant_items, indexed, item_of_range, looped_over
from weft.frontend.python.lowering.numbers.conditions import jump
from weft.frontend.python.lowering.ranges import Range, range_length
from weft.frontend.python.lowering.statements import assign
from weft.frontend.python.scope import assigned_in, reads_of
from weft.frontend.python.types import pyint
from weft.ir.block import BasicBlock
from weft.ir.builder import const_int
from weft.ir.loop_metadata import mark_in_place, mark_parallel
from weft.ir.types import I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@statement(ast.While)
def _lower_while(low: Lowering, node: ast.While) -> None:
    _forget_assigned(low, node)
    head, body, orelse, end = _blocks(low, "while")
    frame = LoopFrame(low, low.builder.block)
    low.branch(head)
    low.start(head)
    low.at(node)
    jump(low, node.test, body, orelse if node.orelse else end)
    low.start(body)
    if not low.is_dead:
        with low.knowing(facts_for(low, node.test, True, node.body)):
            # One latch, also for `continue`: LLVM would take several back edges for nested loops.
            latch = low.new_block("while.next")
            _loop_body(low, node.body, end, latch)
        low.at(node)
        low.branch(latch)
        low.start(latch)
        if not low.is_dead:
            frame.end_iteration(low)
            low.branch(head)
    _else_and_end(low, node.orelse, orelse, end)


def _forget_assigned(low: Lowering, node: ast.While | ast.For) -> None:
    """Rely no more on what variables have held that the loop assigns to: it may be in a later iteration."""
    low.known.forget(low.variables.slots_of(assigned_in(node)))


def _blocks(low: Lowering, name: str) -> tuple[BasicBlock, BasicBlock, BasicBlock, BasicBlock]:
    head, body, orelse, end = (low.new_block(f"{name}.{part}") for part in ("cond", "body", "else", "end"))
    return head, body, orelse, end


def _loop_body(low: Lowering, body: list[ast.stmt], on_break: BasicBlock, on_continue: BasicBlock) -> None:
    low.loops.append((on_break, on_continue))
    low.body(body)
    low.loops.pop()


def _else_and_end(low: Lowering, statements: list[ast.stmt], orelse: BasicBlock, end: BasicBlock) -> None:
    if statements:
        low.start(orelse)
        if not low.is_dead:
            low.body(statements)
            low.branch(end)
    low.start(end)


@statement(ast.Break)
def _lower_break(low: Lowering, node: ast.Break) -> None:
    low.branch(low.loops[-1][0])


@statement(ast.Continue)
def _lower_continue(low: Lowering, node: ast.Continue) -> None:
    low.branch(low.loops[-1][1])


@statement(ast.For)
def _lower_for(low: Lowering, node: ast.For) -> None:
    iterable = low.expr(node.iter)
    _forget_assigned(low, node)
    low.at(node)
    source = iterable.static
    if isinstance(source, Range):
        first = _only_number(source)
        if first is not None:
            _unrolled(low, node, (first,))
        elif source.parallel and source.step.int_literal is None:
            _numbered(low, node, source)
        else:
            _counted(low, node, source, lambda counter: counter)
        return
    with holding(low, looped_over(iterable)):
        if isinstance(source, Points):
            _point_by_point(low, node, source)
            return
        items = constant_items(iterable)
        if items is not None:
            _unrolled(low, node, items)
            return
        length, item = indexed(low, iterable, node)
        counts = Range(literal(0), length, literal(1))
        _counted(low, node, counts, item)


def _only_number(source: Range) -> Typed | None:
    """The number of a range that is known to have one."""
    ends = source.start.int_literal, source.stop.int_literal, source.step.int_literal
    if source.parallel or None in ends:
        return None
    start, stop, step = (int(end) for end in ends if end is not None)
    return source.start if step and len(range(start, stop, step)) == 1 else None


def _point_by_point(low: Lowering, node: ast.For, points: Points) -> None:
    """Loops inside each other, the body in the innermost."""
    orelse, end = low.new_block("points.else"), low.new_block("points.end")
    frame = LoopFrame(low, low.builder.block)

    def body(indices: list[Typed]) -> None:
        following = low.new_block("points.next")
        assign(low, node.target, points.item(low, indices))
        _loop_body(low, node.body, end, following)
        low.branch(following)
        low.start(following)
        if not low.is_dead:
            frame.end_iteration(low)

    for_each(low, points.extents, body)
    if not low.is_dead:
        low.branch(orelse if node.orelse else end)
    _else_and_end(low, node.orelse, orelse, end)


def _unrolled(low: Lowering, node: ast.For, items: tuple[Typed, ...]) -> None:
    """One copy of the body for each item of a tuple."""
    end, orelse = low.new_block("unrolled.end"), low.new_block("unrolled.else")
    target = node.target
    # A name read only in the body can stand for the item itself, so literals stay literals.
    binds = (
        isinstance(target, ast.Name)
        and low.scope.is_bound_once(target.id)
        and reads_of(low.source.node, target.id) == sum(reads_of(s, target.id) for s in node.body)
    )
    low.unrolled += 1
    for item in items:
        following = low.new_block("unrolled.next")
        low.at(node)
        if binds and isinstance(target, ast.Name):
            low.variables.bind(target.id, item)
        else:
            assign(low, target, item)
        _loop_body(low, node.body, end, following)
        low.branch(following)
        low.start(following)
        if low.is_dead:
            break
    low.unrolled -= 1
    if not low.is_dead:
        low.branch(orelse if node.orelse else end)
    _else_and_end(low, node.orelse, orelse, end)


def _counted(low: Lowering, node: ast.For, source: Range, item: Callable[[Typed], Typed]) -> None:
    """A loop with a hidden counter, whose item is assigned to the target at the head of the body."""
    start, stop, step = source.ends(low)
    upwards = source.step.least is not None and source.step.least >= 1
    downwards = source.step.int_literal is not None and source.step.int_literal < 0
    bound = source.start.low if upwards else None
    sure = source.start.sure
    if downwards and source.stop.low is not None:
        bound, sure = source.stop.low + 1, source.stop.sure
    counter = low.alloca(I64, _counter_name(node))
    low.builder.store(start, counter)
    head, body, orelse, end = _blocks(low, "for")
    frame = LoopFrame(low, low.builder.block)
    low.branch(head)
    low.start(head)
    value = low.builder.load(I64, counter)
    test = _continues(low, value, stop, step, upwards, downwards)
    low.branch_if(test, body, orelse if node.orelse else end)
    low.start(body)
    increment = low.new_block("for.inc")
    if source.parallel:
        low.frame.failing.append(increment)
    assign(low, node.target, item(Typed(pyint, (value,), low=bound, sure=sure)))
    _loop_body(low, node.body, end, increment)
    low.branch(increment)
    if source.parallel:
        low.frame.failing.pop()
        frame.skip_after_error(low, head, body, increment)
    low.start(increment)
    if not low.is_dead:
        low.at(node)
        frame.end_iteration(low)
        flags = ("nuw", "nsw") if upwards and sure and bound is not None and bound >= 0 else ("nsw",)
        # The counter is loaded again: SSA construction makes one value of it.
        following = low.builder.binary("add", low.builder.load(I64, counter), step, flags)
        low.builder.store(following, counter)
        back = low.builder.br(head)
        if source.in_place:
            mark_in_place(back)
        elif source.parallel:
            mark_parallel(back)
        low.builder.block = None
    _else_and_end(low, node.orelse, orelse, end)
    if source.parallel and frame.allocates(low) and not low.is_dead:
        low.frame.fail_if_called_failed(low)


def _counter_name(node: ast.For) -> str:
    """What the counter is called: as the variable over a range, which is all that reports know it by."""
    iterated = node.iter.func if isinstance(node.iter, ast.Call) else None
    name = iterated.attr if isinstance(iterated, ast.Attribute) else getattr(iterated, "id", "")
    is_range = name in ("range", "prange")
    return f"{node.target.id}.counter" if is_range and isinstance(node.target, ast.Name) else "counter"


def _numbered(low: Lowering, node: ast.For, source: Range) -> None:
    """A parallel loop whose step is a run-time value: its iterations are counted from 0."""
    start, stop, step = source.ends(low)
    steps = range_length(low, start, stop, step)
    count = Range(literal(0), Typed(pyint, (steps,), low=0), literal(1))
    count.parallel = True
    _counted(low, node, count, lambda n: Typed(pyint, (item_of_range(low, start, step, n),)))


def _continues(
    low: Lowering, value: Value, stop: Value, step: Value, upwards: bool, downwards: bool
) -> Value:
    builder = low.builder
    if upwards:
        return builder.icmp("slt", value, stop)
    if downwards:
        return builder.icmp("sgt", value, stop)
    zero = const_int(0)
    rising = builder.binary("and", builder.icmp("sgt", step, zero), builder.icmp("slt", value, stop))
    falling = builder.binary("and", builder.icmp("slt", step, zero), builder.icmp("sgt", value, stop))
    return builder.binary("or", rising, falling)
