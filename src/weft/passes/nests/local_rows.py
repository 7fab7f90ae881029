"""Rows that the iterations of a loop over ``prange`` have for themselves, and change in place, are copied to the stack.

Sorting networks and transforms of many short rows are written so: each iteration goes over its row again and again,
and accesses it at columns a distance apart. Lanes along the rows would gather and scatter all of it, so it was left to
LLVM, whose vectors along such rows are short, or none. What `weft.analysis.loops.rows_in_place` finds rests on
numbers: rows that are in the array and no longer than copies, arrays that lie apart. They are tested before the loop,
which runs as it was where a test fails, and where it has fewer iterations than there are lanes.

Precondition: canonical P-LLVM with marks on promised loops; whoever calls the function sees to it that arrays to which
it stores can be written (`WRITABLE_ATTRIBUTE`). Postcondition: the same, loop-closed. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from msgspec import Struct, field

from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.rows_in_place import RowInPlace, RowLoop, row_loop
from weft.analysis.sequential.scope import ArrayParameters
from weft.diag.remarks import RemarkKind
from weft.graph.block_index import block_index
from weft.graph.loops import Loop, loop_forest
from weft.ir import TRUE, BasicBlock, Builder, Function, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.intrinsics import WRITABLE_ATTRIBUTE
from weft.ir.locations import span_of
from weft.passes.declared import Pass
from weft.passes.find_loops import is_in_promised, promises_inside, promises_of
from weft.passes.loop_unit import LoopUnit
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.local_rows import copy_own_rows
from weft.transform.loops.rebuilt import rebuilt
from weft.transform.loops.version_loop import version_loop

MOST = 4
"""Loops of one function that have versions."""

NESTED = 3
"""Loops in each other, from the one over rows on."""


def copy_rows_of_loops(unit: LoopUnit, function: Function) -> int:
    """Let loops of a function work on copies of rows; how many."""
    if function.attribute(WRITABLE_ATTRIBUTE) is None or function is not unit.function:
        return 0
    seen: set[BasicBlock] = set()
    made = 0
    while made < MOST and _next(unit, function, seen) is not None:
        # What is found has to hold for the function as it is.
        close_loops(function)
        found = _next(unit, function, seen)
        if found is None:
            break
        view, loop, rows = found
        _copy(unit, function, view, loop, rows, seen)
        made += 1
    return made


def _next(unit: LoopUnit, function: Function, seen: set[BasicBlock]) -> tuple[CFGView, Loop, RowLoop] | None:
    view = cfg_of(function)
    candidates = [loop for loop in _candidates(view) if view.blocks[loop.header] not in seen]
    if not candidates:
        return None
    ranges = Ranges(function, view, block_index(view.cfg))
    for loop in candidates:
        found = row_loop(function, view, loop, unit.arrays, ranges)
        if found is not None:
            return view, loop, found
    return None


def _candidates(view: CFGView) -> Iterator[Loop]:
    """Promised loops with nests in them, in which nothing is promised."""
    loops = loop_forest(view.cfg).loops
    for loop in loops:
        if not promises_of(view, loop).parallel or promises_of(view, loop).in_step:
            continue
        depth = sum(1 for _ in loop.ancestors())
        if not any(loop.contains(x) and sum(1 for _ in x.ancestors()) >= depth + NESTED - 1 for x in loops):
            continue
        if not is_in_promised(view, loop) and not any(
            t.parallel or t.in_step for t in promises_inside(view, loop)
        ):
            yield loop


def _copy(
    unit: LoopUnit, function: Function, view: CFGView, loop: Loop, found: RowLoop, seen: set[BasicBlock]
) -> None:
    tests = _Tests(function, found)
    sizes = [unit.module.layout.store_size(row.type) for row in found.rows]
    lanes = max(2, unit.isa.vector_bits // (8 * min(sizes)))
    span = span_of(found.rows[0].accesses[0].instruction)
    copies = version_loop(function, view, loop, lambda builder: tests.build(builder, lanes))
    header = found.counted.header
    seen |= {header, copies[header]}
    copy_own_rows(function, found)
    close_loops(function)
    row = found.rows[0]
    what = "matrix" if row.pitch.is_of_matrices else "row"
    whole = any(row.is_whole for row in found.rows)
    fits = f", if it has no more than {row.length} elements" if whole else ""
    fits += "" if row.line is None else f", if its lines have {row.line[1]} elements"
    unit.remarks.add(
        RemarkKind.TRANSFORM,
        f"each iteration changes a {what} of its own here again and again: it works on a copy of it{fits}",
        span,
        pass_name=LOCAL_ROWS.name,
    )


class _Tests(Struct):
    """Builds what is tested before a loop: that all of some truth values hold."""

    function: Function
    found: RowLoop
    holds: list[Value] = field(default_factory=list)

    def build(self, builder: Builder, lanes: int) -> Value:
        """Whether there are as many iterations, and all is as rows say."""
        builder.loc = self.found.counted.header.terminator.loc
        iterations = build_iterations(self.found.counted, builder)
        self.holds.append(builder.icmp("uge", iterations, const_int(lanes)))
        for row in self.found.rows:
            self._fits(builder, row)
            self._in_array(builder, row, iterations)
            for array in row.others:
                self._apart(builder, self._range(builder, row.array), self._range(builder, array))
        whole = reduce(lambda a, b: builder.select(a, b, const_int(0, b.type)), self.holds, TRUE)
        return builder.unary("freeze", whole)

    def _fits(self, build: Builder, row: RowInPlace) -> None:
        length = const_int(row.length)
        if row.line is not None:
            extent, elements = row.line
            self.holds.append(build.icmp("eq", extent, const_int(elements)))
        if row.is_whole:
            self.holds.append(build.icmp("ule", row.pitch.build(build), length))
        elif row.pitch.extent is not None:
            self.holds.append(build.icmp("uge", row.pitch.build(build), length))

    def _in_array(self, build: Builder, row: RowInPlace, iterations: Value) -> None:
        """The first and the last row are in the array, and there are no more between them than it has."""
        counted = self.found.counted
        extents = [self.function.args[e] for e in row.array.extents]
        if row.pitch.extent in extents:
            extents.remove(row.pitch.extent)
        rows: Value = const_int(1)
        for extent in extents:
            rows = build.binary("mul", rows, extent)
        rows = build.binary("udiv", rows, const_int(row.pitch.times))
        known: dict[Value, Value] = {counted.counter.phi: counted.counter.start}
        first = rebuilt(build, row.number, known, set(counted.blocks), flags=False)
        behind = build.binary("sub", iterations, const_int(1))
        last = build.binary("add", first, behind)
        self.holds += [build.icmp("ult", number, rows) for number in (first, behind, last)]

    def _range(self, build: Builder, array: ArrayParameters) -> tuple[Value, Value]:
        """The bytes that an array lies in, whose strides are tested not to be negative."""
        args = self.function.args
        begin = build.cast("ptrtoint", args[array.data], const_int(0).type)
        if not array.strides:
            count: Value = const_int(array.itemsize)
            for extent in array.extents:
                count = build.binary("mul", count, args[extent])
            return begin, build.binary("add", begin, count)
        end: Value = build.binary("add", begin, const_int(array.itemsize))
        for extent, stride in zip(array.extents, array.strides, strict=True):
            self.holds.append(build.icmp("sge", args[stride], const_int(0)))
            behind = build.binary("sub", args[extent], const_int(1))
            end = build.binary("add", end, build.binary("mul", behind, args[stride]))
        return begin, end

    def _apart(self, build: Builder, one: tuple[Value, Value], other: tuple[Value, Value]) -> None:
        before, behind = build.icmp("ule", one[1], other[0]), build.icmp("ule", other[1], one[0])
        self.holds.append(build.binary("or", before, behind))


def _copy_rows(unit: LoopUnit) -> bool:
    return sum(copy_rows_of_loops(unit, function) for function in list(unit.module.definitions())) > 0


LOCAL_ROWS: Pass[LoopUnit] = Pass(
    "local rows",
    "rows that iterations of loops over prange change in place again and again are copied, where they are short",
    _copy_rows,
    optional=True,
)
