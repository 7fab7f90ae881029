"""One iteration of a nest of parallel loops as a function: a kernel whose threads are points of a box (Moll, §11.2).

Precondition: canonical P-LLVM; a nest as `weft.analysis.loops.rectangular_nests` finds it. Postcondition: the nest is
unchanged and the module has a function more, for the thread of a lane group that is a box. Its parameters are, in this
order, for each loop the number of the iteration that lane 0 runs, counted from 0, what the nest uses from outside, and
for each reduction a pointer to as many cells as there are lanes, as of one loop (`outline_loop`)::

    body(i64 row, i64 column, ptr a, ptr cells):
        i = first_i + step_i * (row + coordinate along the dimension of i)
        j = first_j + step_j * (column + coordinate along the dimension of j)
        ...what is before the inner loop, one iteration of it, what is behind it...

What is around the inner loop is done by each of its iterations: it computes, and touches no memory. Under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import Counter
from weft.analysis.loops.parallel_loops import ParallelLoop, captured_by
from weft.ir import Argument, BasicBlock, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.constants import Constant
from weft.ir.intrinsics import declare
from weft.ir.types import I32, I64, PTR
from weft.transform.loops.outline_loop import (
    body_function,
    captured_attributes,
    counter_at,
    drop_flags,
    load_cell,
    store_cell,
)


class OutlinedNest(Struct, frozen=True):
    """A nest and the function of an iteration.

    Parameters
    ----------
    levels
        Its loops, outermost first.
    body
        The function.
    captured
        Values of the nest's function that are arguments of the body, behind the numbers.
    repeats
        One of them, which the body does not use: whether iterations may run twice. None where they may not.
    """

    levels: tuple[ParallelLoop, ...]
    body: Function
    captured: tuple[Value, ...]
    repeats: Value | None = None

    @property
    def parallel(self) -> ParallelLoop:
        """The outermost loop, which carries what all of them reduce."""
        return self.levels[0]


def outline_nest(
    module: Module,
    levels: Sequence[ParallelLoop],
    dimensions: Sequence[int | None],
    name: str,
    repeats: Value | None = None,
    bounds: Sequence[int] | None = None,
) -> OutlinedNest:
    """Add the function `name`.

    Parameters
    ----------
    dimensions
        For each loop the dimension of the lane space, None for no lanes.
    repeats
        Whether iterations may run twice, an i1 that is known before the nest.
    bounds
        What `iteration_bounds` gives, where it is known.
    """
    outer = levels[0]
    source = outer.loop.header.function
    assert source is not None
    used = _captured(outer)
    captured = used if repeats is None else (*used, repeats)
    reductions = outer.reductions
    params = [*(I64 for _ in levels), *(v.type for v in captured), *(PTR for _ in reductions)]
    names = [f"{level.loop.counter.phi.name or 'i'}.number" for level in levels]
    names += [v.name for v in captured] + [f"{r.phi.name or 'r'}.cells" for r in reductions]
    body, scopes = body_function(module, source, name, params, names)
    numbers, rest = body.args[: len(levels)], body.args[len(levels) :]
    values: ValueMap = {}
    for value, argument in zip(used, rest, strict=False):
        argument.attributes = captured_attributes(value, captured, module.layout)
        values[value] = argument
    entry, done = body.add_block("entry"), body.add_block("done")
    if bounds is None:
        bounds = iteration_bounds(levels)
    for bound, number in zip(bounds, numbers, strict=True):
        number.attributes = ("noundef", f"range(i64 0, {bound})")
    builder = Builder(entry)
    for alloca in outer.private:
        values[alloca] = builder.insert(alloca.clone())
    lane = builder.call(declare(module, "weft.lane.id"), ()) if reductions else None
    coordinates: list[Value | None] = [
        None if d is None else builder.call(declare(module, "weft.lane.coordinate"), (ConstInt(I32, d),))
        for d in dimensions
    ]
    cells = [
        load_cell(builder, r, base, lane) for r, base in zip(reductions, rest[len(captured) :], strict=True)
    ]
    carried: dict[Instruction, Value] = {
        r.phi: value for r, (_, value) in zip(reductions, cells, strict=True)
    }
    clone_blocks(outer.loop.blocks, body, values, scopes)
    for level, number, coordinate in zip(levels, numbers, coordinates, strict=True):
        at = (
            Builder(entry)
            if level is outer
            else Builder(before=_copy(values, level.loop.preheader).terminator)
        )
        for counter in level.counters:
            carried[counter.phi] = _counter(at, counter, values, number, coordinate)
        for reduction in level.reductions:
            if level is not outer:
                carried[reduction.phi] = values.get(reduction.start, reduction.start)
            drop_flags(reduction, values)
        _replace_phis(level, values, carried)
    body.blocks.remove(done)
    body.blocks.append(done)
    for level in reversed(levels):
        _make_one_pass(level, values, done if level is outer else _copy(values, level.loop.exit))
    Builder(entry).br(_copy(values, outer.loop.header))
    builder.at_end(done)
    for reduction, (cell, _) in zip(reductions, cells, strict=True):
        store_cell(builder, reduction, values.get(reduction.update, reduction.update), cell)
    builder.ret()
    remove_unreachable_blocks(body)
    remove_dead_instructions(body)
    return OutlinedNest(tuple(levels), body, captured, repeats)


def _captured(outer: ParallelLoop) -> tuple[Value, ...]:
    """What the nest uses from outside, the first values of its counters included."""
    found = dict.fromkeys(v for v in captured_by(outer.loop) if v not in outer.private)
    found |= dict.fromkeys(c.start for c in outer.counters if not isinstance(c.start, Constant))
    return tuple(found)


def iteration_bounds(levels: Sequence[ParallelLoop]) -> tuple[int, ...]:
    """What the number of an iteration of each loop is below, as far as is known."""
    source = levels[0].loop.header.function
    assert source is not None
    view = cfg_of(source)
    ranges = ranges_of(source, view)
    return tuple(_least_bound(level.loop.counter, ranges) for level in levels)


def _least_bound(counter: Counter, ranges: Ranges) -> int:
    """What the number of an iteration is below, as far as is known: as a number of 64 bits with a sign."""
    known, room = ranges.of(counter.phi), 1 << (counter.type.bits - 1)
    # Of values that are this near to each other, no step leads around the end of all numbers.
    if known is None or known.hi - known.lo >= room or abs(counter.step) >= room:
        return -(1 << 63)
    return (known.hi - known.lo) // abs(counter.step) + 1


def _copy(values: ValueMap, block: BasicBlock) -> BasicBlock:
    made = values[block]
    assert isinstance(made, BasicBlock)
    return made


def _counter(
    builder: Builder, counter: Counter, values: ValueMap, number: Argument, coordinate: Value | None
) -> Value:
    """The counter of an iteration: its first value, and a step for each iteration before lane 0's and from there."""
    type, steps = counter.type, number
    flags: tuple[str, ...] = ()
    if type.bits == I64.bits and counter.step == 1 and counter.following.op == "add":
        # The sum of as many steps of one is the first value and their number.
        flags = tuple(f for f in counter.following.flags if f in ("nsw", "nuw"))
    first = values.get(counter.start, counter.start)
    moved: Value = steps
    if type.bits != I64.bits:
        moved = builder.cast("trunc" if type.bits < I64.bits else "zext", number, type)
    if counter.step != 1:
        moved = builder.binary("mul", moved, ConstInt(type, counter.step))
    first = builder.binary("add", first, moved, flags)
    return first if coordinate is None else counter_at(builder, counter, first, coordinate)


def _replace_phis(level: ParallelLoop, values: ValueMap, carried: dict[Instruction, Value]) -> None:
    """Replace the copies of the φs of a loop's header by what they are in the iteration."""
    for phi in level.loop.header.phis():
        made = values[phi]
        assert isinstance(made, Instruction)
        made.replace_all_uses(carried[phi])
        # A reduction of an inner loop starts with what this one carries.
        values[phi] = carried[phi]
        made.erase()


def _make_one_pass(level: ParallelLoop, values: ValueMap, behind: BasicBlock) -> None:
    """Let the copy of a loop run its body once, and go on `behind` it."""
    loop = level.loop
    exiting, latch = _copy(values, loop.exiting), _copy(values, loop.latch)
    if level.loop.exit in values:
        for phi in behind.phis():
            for i, block in enumerate(list(phi.blocks)):
                if block is exiting:
                    phi.set_block(i, latch)
        for original in loop.exit.phis():
            made = values[original]
            taken = original.incoming_value(loop.exiting)
            update = next(r.update for r in level.reductions if taken in (r.phi, r.update))
            assert isinstance(made, Instruction)
            made.set_operand(made.blocks.index(latch), values.get(update, update))
    if exiting is not latch:
        inner = next(b for b in loop.exiting.successors if b is not loop.exit)
        exiting.terminator.erase()
        Builder(exiting).br(_copy(values, inner))
    latch.terminator.erase()
    Builder(latch).br(behind)
