"""Running a box of a nest's iterations lane group by lane group: strip mining in several dimensions (Moll, §11.6).

``void chunk(i64 begin, i64 end of each loop..., captured..., ptr results...)`` runs the iterations of an outlined nest
whose numbers are in these ranges. Lane groups are boxes, in the order of the loops; those beyond the last whole one
along some loop run under a mask. Where iterations may run twice, and there are as many as a box has along each loop,
the last box ends with the loop instead, and has iterations of the one before. Cells of reductions are as in
`weft.codegen.parallel.chunks`.

Precondition: functions of the body for whole lane groups and for corners of them; ranges begin at multiples of the
box's extents. Postcondition: the chunk runs each iteration of its ranges once, or at least once where it may run twice,
in no order that anybody may rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from weft.codegen.loops import counted_loop, two_arms
from weft.codegen.parallel.chunks import INLINED, Cells
from weft.codegen.parallel.combine import combine_lanes
from weft.codegen.parallel.panels import (
    Packed,
    build_free,
    build_is_worthwhile,
    build_memory,
    build_packing,
    build_rows,
)
from weft.codegen.widen.lanes import LaneSpace
from weft.ir import Builder, ConstInt, ConstNull, Function, Module, Value
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, I64, PTR, VOID, FunctionType
from weft.transform.loops.outline_nest import OutlinedNest


class NestBodies(Struct, frozen=True):
    """The functions of a nest's body.

    Parameters
    ----------
    lanes
        The box; each dimension runs along a loop.
    full, partial
        For whole lane groups, and for others, with a parameter more for each dimension of the box: how many lanes run
        along it. With one lane there is only `full`.
    careful
        For whole lane groups where iterations may not run twice, if `full` is not for these.
    packed
        For whole lane groups where what they read of rows has been packed, if that can be.
    """

    lanes: LaneSpace
    full: Function
    partial: Function | None
    careful: Function | None = None
    packed: Packed | None = None


def build_nest_chunk(module: Module, outlined: OutlinedNest, bodies: NestBodies, name: str) -> Function:
    """Add the function to `module`."""
    levels, lanes = len(outlined.levels), bodies.lanes
    reductions = outlined.parallel.reductions
    function = _declare(module, outlined, name)
    ranges, rest = function.args[: 2 * levels], function.args[2 * levels :]
    captured, results = rest[: len(outlined.captured)], rest[len(outlined.captured) :]
    builder = Builder(function.add_block("entry"))
    cells = [Cells.of(builder, r, lanes.width, module) for r in reductions]
    begins, ends = ranges[::2], ranges[1::2]
    extents = lanes.by_axis(levels)
    middles = [_whole_until(builder, *along) for along in zip(begins, ends, extents, strict=True)]
    smaller = module.declare("llvm.umin.i64", FunctionType(I64, (I64, I64)), PURE)

    def run_boxes(body: Function, stops: Sequence[Value], lasts: Sequence[Value] | None, name: str) -> None:
        with ExitStack() as loops:
            numbers = [
                loops.enter_context(counted_loop(builder, function, begin, stop, f"{name}{d}", extent))
                for d, (begin, stop, extent) in enumerate(zip(begins, stops, extents, strict=True))
            ]
            if lasts is not None:
                numbers = [
                    number if extent == 1 else builder.call(smaller, (number, last))
                    for number, last, extent in zip(numbers, lasts, extents, strict=True)
                ]
            builder.call(body, [*numbers, *captured, *(c.whole for c in cells)])

    def run_full(stops: Sequence[Value], lasts: Sequence[Value] | None) -> None:
        if bodies.packed is None:
            run_boxes(bodies.full, stops, lasts, "box")
            return
        with _packed_columns(
            builder, function, bodies, bodies.packed, (begins, stops, lasts), captured
        ) as otherwise:
            otherwise()
            run_boxes(bodies.full, stops, lasts, "box")

    if outlined.repeats is None:
        run_full(middles, None)
    else:
        allowed = captured[-1]
        overlap = _all_have_a_box(builder, allowed, begins, ends, extents)
        if bodies.careful is not None:
            kept = [builder.select(allowed, b, m) for b, m in zip(begins, middles, strict=True)]
            run_boxes(bodies.careful, kept, None, "careful")
        middles = [builder.select(overlap, end, m) for end, m in zip(ends, middles, strict=True)]
        stops = middles
        if bodies.careful is not None:
            stops = [builder.select(allowed, m, b) for b, m in zip(begins, middles, strict=True)]
        # Of a range with less than a box no whole box runs.
        lasts = [
            builder.binary("sub", end, ConstInt(I64, extent))
            for end, extent in zip(ends, extents, strict=True)
        ]
        run_full(stops, lasts)
    if bodies.partial is not None:
        for part in cells:
            part.hand_over(builder)
        for border in range(levels):
            if extents[border] == 1:
                continue
            # Whole along the loops around, beyond the last whole box along this one, anything along those inside.
            starts = [begins[d] if d != border else middles[d] for d in range(levels)]
            stops = [middles[d] if d < border else ends[d] for d in range(levels)]
            with ExitStack() as loops:
                numbers = [
                    loops.enter_context(
                        counted_loop(builder, function, *along, f"border{border}.{d}", extent)
                    )
                    for d, (along, extent) in enumerate(
                        zip(zip(starts, stops, strict=True), extents, strict=True)
                    )
                ]
                active: list[Value] = []
                for d, extent in enumerate(lanes.extents):
                    axis = lanes.along(d)
                    left = builder.binary("sub", ends[axis], numbers[axis], ("nuw", "nsw"))
                    some = builder.call(smaller, (left, ConstInt(I64, extent)))
                    active.append(builder.cast("trunc", some, I32))
                builder.call(bodies.partial, [*numbers, *captured, *(c.tail for c in cells), *active])
    for reduction, part, result in zip(reductions, cells, results, strict=True):
        last = part.whole if bodies.partial is None else part.tail
        vector = builder.load(part.type, last, align=part.align)
        builder.store(combine_lanes(module, builder, reduction.combination, vector), result)
    builder.ret()
    return function


@contextmanager
def _packed_columns(
    builder: Builder,
    function: Function,
    bodies: NestBodies,
    packed: Packed,
    ranges: tuple[Sequence[Value], Sequence[Value], Sequence[Value] | None],
    captured: Sequence[Value],
) -> Iterator[Callable[[], None]]:
    """Run the boxes of a nest column by column where panels are worth packing; what is built inside runs elsewhere."""
    module = function.module
    assert module is not None
    begins, stops, lasts = ranges
    high, wide = bodies.lanes.by_axis(2)
    rows = build_rows(packed, captured)
    row_bytes = wide * function.layout.size(packed.panel.load.accessed_type)
    smaller = module.declare("llvm.umin.i64", FunctionType(I64, (I64, I64)), PURE)

    def begin_at(number: Value, level: int) -> Value:
        return (
            number
            if lasts is None or (high, wide)[level] == 1
            else builder.call(smaller, (number, lasts[level]))
        )

    boxes = builder.binary("sdiv", builder.binary("sub", stops[0], begins[0]), ConstInt(I64, high))
    some = builder.icmp("slt", begins[1], stops[1])
    wanted = builder.binary("and", some, build_is_worthwhile(builder, rows, boxes, row_bytes))
    size = builder.select(wanted, rows, ConstInt(I64, 0))
    allocated, memory = build_memory(module, builder, size, row_bytes)
    there = builder.icmp("ne", allocated, ConstNull(PTR))
    with two_arms(builder, function, builder.binary("and", wanted, there)) as otherwise:
        with counted_loop(builder, function, begins[1], stops[1], "column", wide) as column:
            inner = begin_at(column, 1)
            build_packing(builder, function, packed, inner, captured, rows, memory, wide)
            with counted_loop(builder, function, begins[0], stops[0], "packed", high) as row:
                builder.call(packed.function, [begin_at(row, 0), inner, *captured, memory])
        yield otherwise
    build_free(module, builder, allocated)


def _whole_until(builder: Builder, begin: Value, end: Value, extent: int) -> Value:
    """Where the last whole box along a loop ends."""
    if extent == 1:
        return end
    count = builder.binary("sub", end, begin, ("nuw", "nsw"))
    whole = builder.binary("and", count, ConstInt(I64, -extent))
    return builder.binary("add", begin, whole, ("nuw", "nsw"))


def _all_have_a_box(
    builder: Builder, allowed: Value, begins: Sequence[Value], ends: Sequence[Value], extents: Sequence[int]
) -> Value:
    """Whether boxes may overlap, and there is a whole one along each loop."""
    for begin, end, extent in zip(begins, ends, extents, strict=True):
        if extent > 1:
            count = builder.binary("sub", end, begin, ("nuw", "nsw"))
            allowed = builder.binary("and", allowed, builder.icmp("uge", count, ConstInt(I64, extent)))
    return allowed


def _declare(module: Module, outlined: OutlinedNest, name: str) -> Function:
    levels = len(outlined.levels)
    carried = outlined.body.args[levels : levels + len(outlined.captured)]
    reductions = outlined.parallel.reductions
    types = [*[I64] * (2 * levels), *(a.type for a in carried), *(PTR for _ in reductions)]
    names = [f"{part}.{d}" for d in range(levels) for part in ("begin", "end")]
    names += [*(a.name for a in carried), *(f"{r.phi.name or 'r'}.result" for r in reductions)]
    function = Function(name, FunctionType(VOID, tuple(types)), tuple(names))
    function.linkage.linkage = "internal"
    function.attributes = INLINED
    for argument, origin in zip(function.args[2 * levels :], carried, strict=False):
        argument.attributes = origin.attributes
    return module.add_function(function)
