"""Loops over rows of threads, for kernels without barriers (Karrenberg and Hack, §2.2).

A row is the threads of a work-group along the dimension of the lanes or, where the kernel cannot tell groups apart
(`weft.transform.groups.merge_groups`), of all groups of a run that stand side by side along it. Groups are
numbered so that these follow each other. Of a row those threads run that the kernel's guards let pass
(`weft.transform.groups.guard_splitting`).
Lane groups begin at multiples of the width; those whose threads all run get the full version, others the partial one,
of which there is one call::

    row:    x = first rounded down to a multiple of W
    next:   while first <= x and x + W <= last: full(x); x += W
            if x < last: partial(x, lanes from first - x to last - x); x += W; again from next

or, of kernels to which it makes no difference (`weft.codegen.order.row_starts`), with the first thread of the row.
Where a lane group of many registers under a mask costs much more than one without, the partial version has fewer
lanes, and there is a full version of as many, for what is left of W threads at the ends of a row.

Where the kernel is an iteration of a walk of the grid (`weft.transform.groups.grid_walks`), a row is run again and
again, so far on each time as its threads' elements are apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.loops import counted_loop, least, loop_below, most, two_arms
from weft.codegen.order.divided_rows import DividedRows, run_divided
from weft.codegen.order.run_unit import RunUnit
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram
from weft.codegen.work_groups.group_values import GroupValues
from weft.graph.loops import loop_forest
from weft.ir import Builder, ConstInt, Function, Module, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import mark_scalar
from weft.ir.types import I32, I64, FunctionType
from weft.transform.groups.merge_groups import GroupMerge

_ZERO = ConstInt(I64, 0)


class RowKernel(GroupProgram, frozen=True):
    """A kernel widened along a dimension.

    Parameters
    ----------
    width
        Threads of a lane group.
    full
        Runs as many threads, from the multiple of `width` on that is given as their position.
    partial
        Has two parameters more: the first lane of which the thread runs, and how many do. None with one lane.
    summary
        What became of the full version.
    dimension
        Along which the threads of a lane group are neighbours, 0 for x.
    merge
        Which groups rows go on beyond; the position then is that in the grid. None for none.
    bounds
        Says which threads of a row run; None where all do.
    steps
        Says by how much rows of a walk are moved, and where it ends; None where rows are run once.
    rest, rest_width
        Runs as many threads, fewer than `width`, at the ends of rows; `partial` has as few lanes then.
    anywhere
        Whether lane groups begin with the row (`weft.codegen.order.row_starts`), and not at multiples of `width`.
    divided
        What runs most of a row instead, where threads' numbers are divided into columns and rows; None for nothing.
    """

    width: int
    full: Function
    partial: Function | None
    summary: VectorizationSummary | None
    dimension: int = 0
    merge: GroupMerge | None = None
    bounds: Function | None = None
    steps: Function | None = None
    rest: Function | None = None
    rest_width: int = 0
    anywhere: bool = False
    divided: DividedRows | None = None

    @property
    def functions(self) -> list[Function]:
        own = [f for f in (self.full, self.rest, self.partial, self.bounds, self.steps) if f is not None]
        return own if self.divided is None else [*own, *self.divided.functions]

    def run(self, entry: GroupEntry) -> None:
        run_rows(entry.values, self, entry.begin, entry.end)

    @property
    def run_unit(self) -> RunUnit:
        """How groups are handed out so that lane groups are whole."""
        if self.merge is None:
            return RunUnit()
        return RunUnit(self.width, self.dimension, self.merge.size)


def run_rows(values: GroupValues, kernel: RowKernel, begin: Value, end: Value) -> None:
    """Run groups `begin` to ``end - 1``, of which `values` has all but the position in the grid."""
    order = [kernel.dimension, *(d for d in range(3) if d != kernel.dimension)]
    loop = _groups if kernel.merge is None else functools.partial(_runs_of_groups, kernel.merge)
    with loop(values, order, begin, end) as (group, first, last):
        builder, function, size = group.builder, group.function, group.local_size
        with (
            counted_loop(builder, function, _ZERO, size[order[2]], "outer") as c,
            counted_loop(builder, function, _ZERO, size[order[1]], "row") as b,
        ):
            _run_row(group, kernel, order, (b, c), first, last)


@contextmanager
def _groups(
    values: GroupValues, order: Sequence[int], begin: Value, end: Value
) -> Iterator[tuple[GroupValues, Value, Value]]:
    """Build the loop over groups; yields each with the ends of its rows."""
    builder = values.builder
    with counted_loop(builder, values.function, begin, end, "group") as index:
        group = replace(values, group=_position(builder, index, values.groups, order))
        yield group, _ZERO, values.local_size[order[0]]


@contextmanager
def _runs_of_groups(
    merge: GroupMerge, values: GroupValues, order: Sequence[int], begin: Value, end: Value
) -> Iterator[tuple[GroupValues, Value, Value]]:
    """Build the loop over runs of neighbouring groups; yields each, as a group, with the ends of its rows."""
    builder, function = values.builder, values.function
    along = order[0]
    with loop_below(builder, function, begin, end, "run") as (index, go_on):
        position = _position(builder, index, values.groups, order)
        start = position[along]
        left = builder.binary("sub", end, index)
        until_edge = builder.binary("sub", values.groups[along], start)
        count: Value = least(builder, left, until_edge)
        size = values.local_size[along]
        first: Value = builder.binary("mul", start, size, ("nuw", "nsw"))
        position[along] = _ZERO
        if merge.size is not None:
            # Groups of other sizes are run one by one.
            fits = builder.icmp("eq", size, ConstInt(I64, merge.size))
            count = builder.select(fits, count, ConstInt(I64, 1))
            first = builder.select(fits, first, _ZERO)
            position[along] = builder.select(fits, _ZERO, start)
        last = builder.binary(
            "add", first, builder.binary("mul", count, size, ("nuw", "nsw")), ("nuw", "nsw")
        )
        yield replace(values, group=position), first, last
        go_on(builder.binary("add", index, count, ("nuw", "nsw")))


def _position(builder: Builder, index: Value, groups: Sequence[Value], order: Sequence[int]) -> list[Value]:
    """Position in the grid of the group of a number that counts along the first dimension of `order` first."""
    position: list[Value] = [_ZERO] * 3
    position[order[0]] = builder.binary("urem", index, groups[order[0]])
    rest = builder.binary("udiv", index, groups[order[0]])
    position[order[1]] = builder.binary("urem", rest, groups[order[1]])
    position[order[2]] = builder.binary("udiv", rest, groups[order[1]])
    return position


def _run_row(
    group: GroupValues,
    kernel: RowKernel,
    order: Sequence[int],
    others: tuple[Value, Value],
    first: Value,
    last: Value,
) -> None:
    """Call the kernel for the lane groups of a row from `first` to ``last - 1``."""
    builder = group.builder

    def arguments(along: Value) -> list[Value]:
        tid: list[Value] = [_ZERO] * 3
        for dimension, value in zip(order, (along, *others), strict=True):
            tid[dimension] = value
        return group.thread_args(tid)

    if kernel.steps is None:
        _run_threads(group, kernel, arguments, first, last)
        return
    pair = builder.call(kernel.steps, arguments(_ZERO))
    step, end = (builder.extract_value(pair, (i,)) for i in range(2))
    with _moved_on(group, step, end, first, last) as (low, high):
        _run_threads(group, kernel, arguments, low, high)


@contextmanager
def _moved_on(
    group: GroupValues, step: Value, end: Value, first: Value, last: Value
) -> Iterator[tuple[Value, Value]]:
    """Build the loop over the rows of a walk; yields the ends of each."""
    builder, function = group.builder, group.function
    module = function.module
    assert module is not None
    length = builder.binary("sub", last, first, ("nuw", "nsw"))
    with loop_below(builder, function, first, end, "walk") as (low, go_on):
        yield low, least(builder, _added(builder, module, low, length), end)
        go_on(_added(builder, module, low, step))


def _added(builder: Builder, module: Module, a: Value, b: Value) -> Value:
    """A sum that is the greatest number instead of wrapping around."""
    return builder.call(module.declare("llvm.sadd.sat.i64", FunctionType(I64, (I64, I64))), (a, b))


def _run_threads(
    group: GroupValues,
    kernel: RowKernel,
    arguments: Callable[[Value], list[Value]],
    first: Value,
    last: Value,
) -> None:
    """Call the kernel for the threads from `first` to ``last - 1``, as far as guards let them pass."""
    if kernel.bounds is not None:
        pair = group.builder.call(kernel.bounds, [*arguments(_ZERO), first, last])
        first, last = (group.builder.extract_value(pair, (i,)) for i in range(2))
    if kernel.divided is None:
        run_part(group, kernel, arguments, first, last)
        return
    run_divided(
        group, kernel.divided, kernel.dimension, first, last,
        lambda low, until: run_part(group, kernel, arguments, low, until),
    )  # fmt: skip


def run_part(
    group: GroupValues,
    kernel: RowKernel,
    arguments: Callable[[Value], list[Value]],
    first: Value,
    last: Value,
) -> None:
    """Call the kernel for the threads from `first` to ``last - 1``, all of which guards let pass.

    Parameters
    ----------
    arguments
        Of the kernel's functions, for a position along the row.
    """
    builder, function = group.builder, group.function
    width = ConstInt(I64, kernel.width)
    if kernel.partial is None:
        with counted_loop(builder, function, first, last, "threads") as thread:
            builder.call(kernel.full, arguments(thread))
            back = builder.block
        if loop_forest(cfg_of(kernel.full).cfg).loops:
            # Inner loops are to be vectors. Where LLVM writes them out first, it would take threads together instead,
            # whose elements are whole rows apart.
            assert back is not None
            mark_scalar(back.terminator)
        return
    if kernel.anywhere:
        _run_from_first(group, kernel, arguments, first, last)
        return
    start = builder.binary("and", first, ConstInt(I64, -kernel.width))
    some, again, partial, done = (
        function.add_block(f"lanes.{name}") for name in ("some", "again", "partial", "finished")
    )
    builder.cond_br(builder.icmp("slt", first, last), some, done)
    builder.at_end(some)
    whole = builder.binary("and", last, ConstInt(I64, -kernel.width))
    builder.br(again)
    builder.at_end(again)
    resumed = builder.phi(I64, "x")
    resumed.add_incoming(start, some)
    # Only the first lane group of a row can begin before it.
    stop = builder.select(builder.icmp("sge", resumed, first), whole, resumed)
    with counted_loop(builder, function, resumed, stop, "lanes", kernel.width) as x:
        builder.call(kernel.full, arguments(x))
    builder.cond_br(builder.icmp("slt", x, last), partial, done)
    builder.at_end(partial)
    following = builder.binary("add", x, width, ("nuw", "nsw"))
    if kernel.rest is None:
        _run_partial(builder, kernel.partial, arguments, x, (first, last), width)
    else:
        _run_narrow(builder, kernel, arguments, most(builder, first, x), least(builder, last, following))
    assert builder.block is not None
    resumed.add_incoming(following, builder.block)
    builder.br(again)
    builder.at_end(done)


def _run_from_first(
    group: GroupValues,
    kernel: RowKernel,
    arguments: Callable[[Value], list[Value]],
    first: Value,
    last: Value,
) -> None:
    """Call the kernel for the threads from `first` to ``last - 1``, in lane groups that begin with the first."""
    assert kernel.partial is not None
    builder, function = group.builder, group.function
    # Guards may leave a first thread so great, and a last one so small, that their distance wraps around.
    some_run = builder.icmp("slt", first, last)
    left = builder.select(some_run, builder.binary("sub", last, first), _ZERO)
    bodies = [(kernel.full, kernel.width), (kernel.rest, kernel.rest_width)]
    for body, width in bodies:
        if body is not None:
            whole = builder.binary("and", left, ConstInt(I64, -width))
            end = builder.binary("add", first, whole, ("nuw", "nsw"))
            name = "lanes" if body is kernel.full else "narrow"
            with counted_loop(builder, function, first, end, name, width) as x:
                builder.call(body, arguments(x))
            first, left = end, builder.binary("sub", left, whole, ("nuw", "nsw"))
    some, done = (function.add_block(f"lanes.{name}") for name in ("partial", "finished"))
    builder.cond_br(builder.icmp("sgt", left, _ZERO), some, done)
    builder.at_end(some)
    builder.call(kernel.partial, [*arguments(first), ConstInt(I32, 0), builder.cast("trunc", left, I32)])
    builder.br(done)
    builder.at_end(done)


def _run_partial(
    builder: Builder,
    partial: Function,
    arguments: Callable[[Value], list[Value]],
    x: Value,
    ends: tuple[Value, Value],
    width: Value,
) -> None:
    """Call the kernel for those threads of the lane group at `x` that are between the ends."""
    first, last = ends
    before = most(builder, builder.binary("sub", first, x), _ZERO)
    behind = least(builder, builder.binary("sub", last, x), width)
    lanes = (builder.cast("trunc", n, I32) for n in (before, builder.binary("sub", behind, before)))
    builder.call(partial, [*arguments(x), *lanes])


def _run_narrow(
    builder: Builder,
    kernel: RowKernel,
    arguments: Callable[[Value], list[Value]],
    first: Value,
    last: Value,
) -> None:
    """Call the kernel for the threads from `first` to ``last - 1``, fewer than a lane group, in smaller ones."""
    assert kernel.rest is not None
    assert kernel.partial is not None
    assert builder.block is not None
    function, width = builder.block.function, ConstInt(I64, kernel.rest_width)
    assert function is not None
    start = builder.binary("and", first, ConstInt(I64, -kernel.rest_width))
    with counted_loop(builder, function, start, last, "narrow", kernel.rest_width) as x:
        end = builder.binary("add", x, width, ("nuw", "nsw"))
        whole = builder.binary("and", builder.icmp("sge", x, first), builder.icmp("sle", end, last))
        with two_arms(builder, function, whole) as otherwise:
            builder.call(kernel.rest, arguments(x))
            otherwise()
            _run_partial(builder, kernel.partial, arguments, x, (first, last), width)
