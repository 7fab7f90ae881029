"""Butterflies: loops over pairs of elements at a distance known when they run, as loops that lanes can run along.

What `weft.analysis.loops.butterflies` finds rests on numbers: a distance that is a power of two, half of the step of
the loop around, counters that are natural, arrays that lie apart. They are tested before the loops, which run as they
were where a test fails. A nest becomes one loop over all pairs (`weft.transform.loops.merge_butterflies`); a single
loop, whose distance is at least its number of iterations, stays what it is. Both are marked as parallel where they are
in a loop over `prange`, or all loops are looked at; elsewhere lanes run along the one loop of a nest where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from msgspec import Struct, field

from weft.analysis.loops.butterflies import Butterflies, Row, nest_of_butterflies, row_of_butterflies
from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.loop_promises import MOST_LANES
from weft.analysis.memory.alias import are_apart
from weft.analysis.sequential.scope import ArrayParameters
from weft.codegen.order.width import one_register
from weft.diag.remarks import RemarkKind
from weft.graph.loops import Loop, loop_forest
from weft.ir import TRUE, Argument, BasicBlock, Builder, Constant, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import mark_in_step, mark_parallel
from weft.ir.types import I64, IntType
from weft.passes.declared import Pass
from weft.passes.find_loops import is_in_promised, promises_inside, promises_of
from weft.passes.loop_unit import LoopUnit
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.merge_butterflies import answer_signs, count_of_pairs, merge_butterflies
from weft.transform.loops.version_loop import version_loop
from weft.transform.numbers.small_numbers import MOST_COPIED

MOST = 8
"""Loops of one function that have versions."""

_WHAT = "the butterflies of this loop may run in any order"
_NEST = "this loop and the one in it go over pairs of elements: one loop goes over all pairs"


def find_butterflies(unit: LoopUnit, *, everywhere: bool) -> bool:
    """Give the butterflies of all functions versions for lanes; whether there were any.

    With `everywhere` all loops are looked at, and those found may be shared by cores.
    """
    return sum(_in_function(unit, f, everywhere=everywhere) for f in list(unit.module.definitions())) > 0


def _in_function(unit: LoopUnit, function: Function, *, everywhere: bool) -> int:
    arrays = unit.arrays if function is unit.function else ()
    seen: set[BasicBlock] = set()
    made = 0
    while made < MOST:
        view = cfg_of(function)
        found = next(_candidates(unit, view, arrays, seen, everywhere=everywhere), None)
        if found is None:
            break
        if not made:
            close_loops(function)
            view = cfg_of(function)
        loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is found.header)
        _run_in_lanes(unit, function, view, loop, found, seen)
        made += 1
    return made


class _Found(Struct, frozen=True):
    """Butterflies, and what is to become of them.

    Parameters
    ----------
    butterflies
        The loops.
    extents
        Where arrays end that they read elsewhere.
    shared
        Whether cores may share the loop.
    """

    butterflies: Butterflies
    extents: dict[Value, ArrayParameters]
    shared: bool

    @property
    def header(self) -> BasicBlock:
        """The header of the outer loop."""
        outer = self.butterflies.outer
        return self.butterflies.inner.header if outer is None else outer.header


def _candidates(
    unit: LoopUnit,
    view: CFGView,
    arrays: tuple[ArrayParameters, ...],
    seen: set[BasicBlock],
    *,
    everywhere: bool,
) -> Iterator[_Found]:
    for loop in loop_forest(view.cfg).loops:
        header = view.blocks[loop.header]
        if header in seen or _is_settled(view, loop):
            continue
        promised = is_in_promised(view, loop)
        nest = nest_of_butterflies(view, loop, unit.module.layout)
        found = nest
        if found is None and (promised or everywhere):
            found = row_of_butterflies(view, loop, unit.module.layout)
        if found is None or (promised and _is_in_own_objects(found)):
            continue
        extents = _extents(view.blocks[0].function, found, arrays)
        if extents is not None:
            yield _Found(found, extents, promised or everywhere)


def _is_in_own_objects(found: Butterflies) -> bool:
    """Whether all that butterflies write is in small objects: lanes along a loop around have theirs side by side."""
    written = [row.base for row in found.rows if row.is_written]
    return all(isinstance(base, Instruction) and base.op == "alloca" for base in written)


def _is_settled(view: CFGView, loop: Loop) -> bool:
    """Whether a loop, or one in it, is marked already."""
    return any(t.parallel or t.in_step for t in (promises_of(view, loop), *promises_inside(view, loop)))


def _extents(
    function: Function | None, found: Butterflies, arrays: tuple[ArrayParameters, ...]
) -> dict[Value, ArrayParameters] | None:
    """The arrays of what is read elsewhere and not known to be apart from all that is written; None if not known."""
    assert function is not None
    written = [row.base for row in found.rows if row.is_written]
    extents: dict[Value, ArrayParameters] = {}
    for base in found.others:
        if all(are_apart(base, other) for other in written):
            continue
        known = next((a for a in arrays if function.args[a.data] is base), None)
        if not isinstance(base, Argument) or known is None or base in written:
            return None
        extents[base] = known
    return extents


class _Tests(Struct):
    """Builds what is tested before loops: that all of some truth values hold."""

    builder: Builder
    found: Butterflies
    holds: list[Value] = field(default_factory=list)

    def small(self, value: Value, *, positive: bool = False) -> Value:
        """A value, frozen, that is tested to be natural and small."""
        if not isinstance(value, Constant):
            value = self.builder.unary("freeze", value)
        type = self.found.type
        number = self.builder.binary("sub", value, const_int(1, type)) if positive else value
        self.holds.append(self.builder.icmp("ult", number, const_int(self.found.limit, type)))
        return value

    @property
    def whole(self) -> Value:
        """Whether all hold; poison does not matter behind it."""
        return reduce(lambda a, b: self.builder.select(a, b, const_int(0, b.type)), self.holds, TRUE)


def _run_in_lanes(
    unit: LoopUnit, function: Function, view: CFGView, loop: Loop, found: _Found, seen: set[BasicBlock]
) -> None:
    butterflies, outer = found.butterflies, found.butterflies.outer
    made: list[Value] = []

    def test(builder: Builder) -> Value:
        tests = _Tests(builder, butterflies)
        for value in butterflies.naturals:
            tests.small(value)
        made.extend(_nest_tests(tests, unit) if outer is not None else _loop_tests(tests, unit))
        _test_apart(tests, found, made[-1])
        return builder.unary("freeze", tests.whole)

    span = span_of(found.header.terminator)
    copies = version_loop(function, view, loop, test)
    seen |= {found.header, *copies.values()}
    (preheader,) = (p for p in found.header.predecessors if p not in copies)
    if outer is None:
        answer_signs(butterflies)
        back = butterflies.inner.latch.terminator
    else:
        distance, pairs, _ = made
        merge_butterflies(butterflies, preheader, distance, pairs)
        back = outer.latch.terminator
    close_loops(function)
    if found.shared:
        mark_parallel(back, proved=True)
    else:
        mark_in_step(back, MOST_LANES)
    unit.remarks.add(
        RemarkKind.TRANSFORM,
        f"{_NEST if outer is not None else _WHAT}, {_under(butterflies)}",
        span,
        pass_name="butterflies",
    )


def _under(found: Butterflies) -> str:
    apart = " and arrays lie apart" if len(found.rows) > 1 or found.others else ""
    if found.outer is None:
        return f"if their distance is not less than its iterations{apart}"
    return f"if their distance is a power of two{apart}"


def _nest_tests(tests: _Tests, unit: LoopUnit) -> list[Value]:
    """Test the numbers of a nest; its distance, how many pairs it has, and how many elements lie in its range."""
    found, b, outer = tests.found, tests.builder, tests.found.outer
    assert outer is not None
    type = found.type
    distance = tests.small(found.distance, positive=True)
    mask = b.binary("sub", distance, const_int(1, type))
    tests.holds.append(b.icmp("eq", b.binary("and", distance, mask), const_int(0, type)))
    tests.holds.append(b.icmp("eq", outer.step, b.binary("shl", distance, const_int(1, type))))
    tests.small(outer.start)
    tests.small(outer.bound)
    tests.holds += outer.holds
    tests.holds += [b.icmp("eq", value, const_int(0, value.type)) for value in outer.fails]
    pairs = b.unary("freeze", count_of_pairs(b, found, distance))
    tests.holds.append(b.icmp("slt", outer.start, outer.bound))
    # Lanes that are mostly idle gain nothing, and large bodies have no versions for distances within lanes.
    lanes = one_register(unit.isa)
    tests.holds.append(b.icmp("uge", pairs, const_int(lanes, type)))
    if sum(len(block.instructions) for block in outer.blocks) > MOST_COPIED:
        tests.holds.append(b.icmp("uge", distance, const_int(2 * lanes, type)))
    return [distance, pairs, b.binary("shl", pairs, const_int(1, type))]


def _loop_tests(tests: _Tests, unit: LoopUnit) -> list[Value]:
    """Test the numbers of a single loop; how many elements lie in its range."""
    found, b = tests.found, tests.builder
    type, counter = found.type, found.inner.counter
    distance = tests.small(found.distance, positive=True)
    tests.small(counter.start)
    tests.small(found.inner.bound)
    trips: Value = b.unary("freeze", build_iterations(found.inner, b))
    if trips.type != type:
        trips = b.cast("trunc", trips, type)
    tests.holds.append(b.icmp("ule", trips, distance))
    tests.holds.append(b.icmp("uge", trips, const_int(one_register(unit.isa), type)))
    return [b.binary("add", trips, distance)]


def _test_apart(tests: _Tests, found: _Found, length: Value) -> None:
    """Test that what is written lies apart from other rows, and from the arrays that are read elsewhere."""
    b = tests.builder
    rows = found.butterflies.rows
    ranges: dict[int, tuple[Value, Value]] = {}

    def range_of(number: int) -> tuple[Value, Value]:
        if number not in ranges:
            ranges[number] = _range_of_row(b, found.butterflies, rows[number], length)
        return ranges[number]

    def test(one: tuple[Value, Value], other: tuple[Value, Value]) -> None:
        before, behind = b.icmp("ule", one[1], other[0]), b.icmp("ule", other[1], one[0])
        tests.holds.append(b.binary("or", before, behind))

    for number, row in enumerate(rows):
        for second, other in enumerate(rows[:number]):
            if (row.is_written or other.is_written) and not are_apart(row.base, other.base):
                test(range_of(number), range_of(second))
        for base, array in found.extents.items():
            if row.is_written and not are_apart(row.base, base):
                test(range_of(number), _range_of_array(tests, base, array))


def _range_of_row(b: Builder, found: Butterflies, row: Row, length: Value) -> tuple[Value, Value]:
    """The bytes that a row's elements lie in: where they begin, and where they end."""
    begin = b.cast("ptrtoint", row.base, I64)
    parts = [*row.terms, (found.distance, row.size * row.shift)]
    if found.outer is not None:
        parts.append((found.outer.start, row.size))
    for value, scale in parts:
        if scale:
            begin = b.binary("add", begin, b.binary("mul", _wide(b, value), const_int(scale)))
    begin = b.binary("add", begin, const_int(row.offset))
    return begin, b.binary("add", begin, b.binary("mul", _wide(b, length), const_int(row.size)))


def _range_of_array(tests: _Tests, base: Value, array: ArrayParameters) -> tuple[Value, Value]:
    """The bytes that an array lies in, whose strides are tested not to be negative."""
    b = tests.builder
    function = tests.builder.block.function if tests.builder.block is not None else None
    assert function is not None
    begin = b.cast("ptrtoint", base, I64)
    if not array.strides:
        count: Value = const_int(array.itemsize)
        for extent in array.extents:
            count = b.binary("mul", count, function.args[extent])
        return begin, b.binary("add", begin, count)
    end: Value = b.binary("add", begin, const_int(array.itemsize))
    for extent, stride in zip(array.extents, array.strides, strict=True):
        tests.holds.append(b.icmp("sge", function.args[stride], const_int(0)))
        last = b.binary("sub", function.args[extent], const_int(1))
        end = b.binary("add", end, b.binary("mul", last, function.args[stride]))
    return begin, end


def _wide(b: Builder, value: Value) -> Value:
    assert isinstance(value.type, IntType)
    return value if value.type.bits == 64 else b.cast("sext", value, I64)


BUTTERFLIES: Pass[LoopUnit] = Pass(
    "butterflies",
    "loops over pairs of elements at a distance known when they run have versions for lanes, behind tests of it",
    lambda unit: find_butterflies(unit, everywhere=unit.plain_loops),
    optional=True,
)
