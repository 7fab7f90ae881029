"""Running an outlined loop on all cores: the loop becomes a job of the thread pool.

The iterations are cut into *grains* of a length that depends on their number alone, so that a float sum is formed in
the same order whatever the number of threads. The pool hands runs of grains to threads through
``i32 grains(ptr record, i64 begin, i64 end, i32 worker)``, as it does groups of a kernel. The record, on the stack of
the function with the loop, holds in 8-byte slots the number of iterations, the length of a grain, the counters' first
values, what the loop captures, and for each reduction where the results of grains go.

Precondition: a loop that has been strip-mined (`weft.codegen.parallel.parallel_loops`). Postcondition: its function
calls the pool in its place. Preserves the program under FR, but for the order of iterations and of what reductions
combine.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.loops.reductions import Reduction
from weft.codegen.loops import counted_loop
from weft.codegen.parallel.combine import combine
from weft.codegen.parallel.parallel_loops import StripMinedLoop, values_behind
from weft.codegen.parallel.parallel_nests import StripMinedNest, Tiling
from weft.codegen.stack import ENTRY_ATTRIBUTES
from weft.codegen.trials import run_better
from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.constants import ConstNull, zero_of
from weft.ir.function import GlobalVariable
from weft.ir.intrinsics import PURE
from weft.ir.types import I1, I8, I32, I64, PTR, VOID, ArrayType, FunctionType, Type
from weft.transform.loops.outline_loop import cell_type
from weft.transform.loops.replace_loop import open_preheader, replace_loop

LAUNCH = "weft_pool_launch"
SETTINGS = "weft_parallel_settings"
"""What a module with parallel loops imports: the pool's entry point, and ``{ ptr pool, i64 threads }``."""

MOST_GRAINS = 256
"""Into how many grains a loop is cut at most: enough to balance uneven iterations over many cores."""

_LAUNCHER = "weft.parallel"

GRAIN_INSTRUCTIONS = 8192
"""How many instructions a grain runs at least, by a rough count: a few microseconds, what it takes to wake a thread. A
loop of one grain runs on the thread that calls."""


class Record(Struct, frozen=True):
    """The slots of a record: the type of each value."""

    types: tuple[Type, ...]

    def store(self, builder: Builder, record: Value, values: list[Value]) -> None:
        for index, (type, value) in enumerate(zip(self.types, values, strict=True)):
            stored = builder.cast("zext", value, I8) if type is I1 else value
            builder.store(stored, self._slot(builder, record, index), align=8)

    def load(self, builder: Builder, record: Value) -> list[Value]:
        values: list[Value] = []
        for index, type in enumerate(self.types):
            slot = self._slot(builder, record, index)
            value = builder.load(I8 if type is I1 else type, slot, align=8)
            values.append(builder.cast("trunc", value, I1) if type is I1 else value)
        return values

    @staticmethod
    def _slot(builder: Builder, record: Value, index: int) -> Value:
        return builder.gep(I64, record, (const_int(index),), ("inbounds", "nuw"))


def run_in_parallel(
    module: Module,
    mined: StripMinedLoop,
    name: str,
    nest: StripMinedNest | None = None,
    alone: StripMinedLoop | None = None,
) -> None:
    """Let the loop's function hand the loop to the thread pool instead of running it.

    In a tiled `nest`, of which it is the outer loop, a grain is a tile: so many iterations of both loops. The same loop
    may be there `alone`, too, for iterations one by one: grains run either way then (`weft.codegen.trials`).
    """
    parallel, captured = mined.outlined.parallel, mined.outlined.captured
    loop, reductions = parallel.loop, parallel.reductions
    starts = [c.start for c in parallel.counters]
    tiling = nest.tiling if nest is not None else None
    carried = [*starts, *(v for v in captured if not _is_placeholder(v, tiling))]
    sizes = [I64] * (5 if tiling else 2)
    record = Record((*sizes, *(v.type for v in carried), *(PTR for _ in reductions)))
    grains = _build_grains(module, mined, record, name, tiling)
    if alone is not None and mined.plan.open_choice is not None:
        other = _build_grains(module, alone, record, f"{name}.alone", tiling)
        first, second = (other, grains) if mined.plan.open_choice.alone_first else (grains, other)
        grains = run_better(module, first, second, f"{name}.either")
        grains.linkage.linkage = "internal"
    builder = open_preheader(loop)
    count = build_iterations(loop, builder)
    if nest is None or tiling is None:
        shape = [grain_length(module, builder, count, mined)]
        number = quotient(builder, count, shape[0])
    else:
        shape, number = _tile_shape(module, builder, count, tiling, nest.inner)
    run_as_job(module, builder, parallel, record, [count, *shape, *carried], grains, number, count)


def run_as_job(
    module: Module,
    builder: Builder,
    parallel: ParallelLoop,
    record: Record,
    values: list[Value],
    grains: Function,
    number: Value,
    count: Value,
) -> None:
    """Call the pool for a `number` of `grains` in the place of a loop of `count` iterations, and combine their results.

    The record is filled with `values`; where the results of grains go follows.
    """
    loop, reductions = parallel.loop, parallel.reductions
    function = loop.header.function
    assert function is not None
    entry = Builder(before=function.entry.instructions[0])
    memory = entry.alloca(ArrayType(I64, len(record.types)), align=8, name="record")
    parts = [entry.alloca(ArrayType(cell_type(r), MOST_GRAINS), align=64, name="parts") for r in reductions]
    totals = [entry.alloca(cell_type(r), name="total") for r in reductions]
    record.store(builder, memory, [*values, *parts])
    launch(module, builder, grains, memory, number)
    begin_totals(builder, reductions, totals)
    if reductions:
        with counted_loop(builder, function, const_int(0), number, "grain") as index:
            for reduction, total, results in zip(reductions, totals, parts, strict=True):
                place = builder.gep(cell_type(reduction), results, (index,), ("inbounds", "nuw"))
                add_part(module, builder, reduction, total, place)
    finals = finished_totals(builder, reductions, totals)
    replace_loop(loop, builder, values_behind(builder, parallel, count, finals))


def begin_totals(builder: Builder, reductions: Sequence[Reduction], totals: Sequence[Value]) -> None:
    """Store what reductions start with, each where its total is to be."""
    for reduction, total in zip(reductions, totals, strict=True):
        start: Value = reduction.start
        builder.store(builder.cast("zext", start, I8) if reduction.type is I1 else start, total)


def add_part(module: Module, builder: Builder, reduction: Reduction, total: Value, place: Value) -> None:
    """Combine a total with the result of a grain, which is at `place`."""
    type = cell_type(reduction)
    part, known = builder.load(type, place), builder.load(type, total)
    builder.store(combine(module, builder, reduction.combination, part, known), total)


def finished_totals(
    builder: Builder, reductions: Sequence[Reduction], totals: Sequence[Value]
) -> list[Value]:
    """The values of reductions behind a loop."""
    values = [builder.load(cell_type(r), total) for r, total in zip(reductions, totals, strict=True)]
    return [
        builder.cast("trunc", v, I1) if r.type is I1 else v for r, v in zip(reductions, values, strict=True)
    ]


def grain_length(module: Module, builder: Builder, count: Value, mined: StripMinedLoop) -> Value:
    """Iterations of a grain: whole lane groups, `least_groups` or more, and `MOST_GRAINS` grains or fewer."""
    width = mined.width
    shared = builder.binary(
        "udiv", builder.binary("add", count, const_int(MOST_GRAINS - 1)), const_int(MOST_GRAINS)
    )
    umax = module.declare("llvm.umax.i64", FunctionType(I64, (I64, I64)), PURE)
    length = builder.call(umax, (shared, const_int(least_groups(mined) * width)))
    rounded = builder.binary("add", length, const_int(width - 1))
    return builder.binary("and", rounded, const_int(-width))


def least_groups(mined: StripMinedLoop) -> int:
    """How many lane groups are worth a grain: one where the body has loops, as nobody knows how long they run."""
    if mined.width == 1 or mined.has_loops:
        return 1
    return max(1, GRAIN_INSTRUCTIONS // (mined.instructions + 1))


def quotient(builder: Builder, a: Value, b: Value) -> Value:
    """``a / b``, rounded up."""
    return builder.binary("udiv", builder.binary("add", a, builder.binary("sub", b, const_int(1))), b)


def _tile_shape(
    module: Module, builder: Builder, rows: Value, tiling: Tiling, inner: StripMinedLoop
) -> tuple[list[Value], Value]:
    """Rows of a tile, columns of the nest, columns of a tile, tiles side by side; and the number of tiles.

    Tiles are whole rows where there are many, and else parts of one.
    """
    umax = module.declare("llvm.umax.i64", FunctionType(I64, (I64, I64)), PURE)

    def most(a: Value, b: Value) -> Value:
        return builder.call(umax, (a, b))

    one, grains, width = const_int(1), const_int(MOST_GRAINS), inner.width
    least = const_int(least_groups(inner) * width)
    height = most(quotient(builder, rows, grains), quotient(builder, least, most(tiling.count, one)))
    down = quotient(builder, rows, height)
    beside = most(builder.binary("udiv", grains, most(down, one)), one)
    length = most(quotient(builder, tiling.count, beside), least)
    length = builder.binary("and", builder.binary("add", length, const_int(width - 1)), const_int(-width))
    across = quotient(builder, tiling.count, length)
    return [height, tiling.count, length, across], builder.binary("mul", down, across)


def _is_placeholder(value: Value, tiling: Tiling | None) -> bool:
    return tiling is not None and value in (tiling.begin, tiling.end)


def declare_grains(module: Module, name: str) -> Function:
    """Add the function that the pool calls for a run of grains, without its body."""
    function = Function(name, FunctionType(I32, (PTR, I64, I64, I32)), ("record", "begin", "end", "worker"))
    function.linkage.linkage = "internal"
    function.attributes = ENTRY_ATTRIBUTES
    return module.add_function(function)


def _build_grains(
    module: Module, mined: StripMinedLoop, record: Record, name: str, tiling: Tiling | None
) -> Function:
    """The function that the pool calls for a run of grains."""
    function = declare_grains(module, name)
    memory, begin, end, _ = function.args
    builder = Builder(function.add_block("entry"))
    count, length, *values = record.load(builder, memory)
    columns, width, across = values[:3] if tiling else (None, None, None)
    values = values[3:] if tiling else values
    carried = len(values) - len(mined.outlined.parallel.reductions)
    smaller = module.declare("llvm.umin.i64", FunctionType(I64, (I64, I64)), PURE)
    with counted_loop(builder, function, begin, end, "grain") as grain:
        row: Value = grain
        arguments = iter(values[:carried])
        place: dict[Value, Value] = {}
        if tiling and columns and width and across:
            row = builder.binary("udiv", grain, across)
            place[tiling.begin], place[tiling.end] = part_of(
                builder, smaller, builder.binary("urem", grain, across), width, columns
            )
        first, last = part_of(builder, smaller, row, length, count)
        starts = [next(arguments) for _ in mined.outlined.parallel.counters]
        captured = [place.get(v) or next(arguments) for v in mined.outlined.captured]
        results = [
            builder.gep(cell_type(r), parts, (grain,), ("inbounds", "nuw"))
            for r, parts in zip(mined.outlined.parallel.reductions, values[carried:], strict=True)
        ]
        builder.call(mined.chunk, [first, last, *starts, *captured, *results])
    builder.ret(const_int(0, I32))
    return function


def part_of(
    builder: Builder, smaller: Function, number: Value, length: Value, count: Value
) -> tuple[Value, Value]:
    """Where a part of a range begins and ends."""
    first = builder.binary("mul", number, length, ("nuw", "nsw"))
    return first, builder.call(smaller, (builder.binary("add", first, length, ("nuw", "nsw")), count))


def run_alone(module: Module) -> None:
    """Let parallel loops of a module run on the thread that calls: it has no pool, whatever there is."""
    pair = ArrayType(I64, 2)
    settings = GlobalVariable(SETTINGS, pair, zero_of(pair), is_constant=True)
    settings.linkage.linkage = "internal"
    module.add_global(settings)


def launch(module: Module, builder: Builder, grains: Function, record: Value, number: Value) -> None:
    """Have a `number` of grains run on all cores."""
    builder.call(_launcher(module), (grains, record, number))


def thread_count(module: Module, builder: Builder) -> Value:
    """How many threads may run grains; 0 where there is no pool."""
    settings = _settings(module)
    pool = builder.load(PTR, settings, align=8)
    threads = builder.load(I64, builder.gep(I64, settings, (const_int(1),)), align=8)
    return builder.select(builder.icmp("eq", pool, ConstNull(PTR)), const_int(0), threads)


def _settings(module: Module) -> GlobalVariable:
    found = module.globals.get(SETTINGS)
    return found or module.add_global(GlobalVariable(SETTINGS, ArrayType(I64, 2)))


def _launcher(module: Module) -> Function:
    """``void weft.parallel(ptr grains, ptr record, i64 number)``: one job of the pool; without one, on this thread."""
    found = module.functions.get(_LAUNCHER)
    if found is not None:
        return found
    settings = _settings(module)
    function = Function(_LAUNCHER, FunctionType(VOID, (PTR, PTR, I64)), ("grains", "record", "number"))
    function.linkage.linkage = "internal"
    function.attributes = ("nounwind", "noinline")
    module.add_function(function)
    grains, record, number = function.args
    builder = Builder(function.add_block("entry"))
    run = FunctionType(I32, (PTR, I64, I64, I32))
    if settings.initializer is not None:
        builder.call(grains, (record, const_int(0), number, const_int(0, I32)), run)
        builder.ret()
        return function
    enter = module.declare(LAUNCH, FunctionType(I32, (PTR, PTR)))
    memory = builder.alloca(ArrayType(I64, 5), align=8, name="job")
    pool = builder.load(PTR, settings, align=8)
    threads = builder.load(I64, builder.gep(I64, settings, (const_int(1),)), align=8)
    job = Record((PTR, PTR, I64, I64, I64))
    shared, alone, done = (function.add_block(name) for name in ("shared", "alone", "done"))
    builder.cond_br(builder.icmp("eq", pool, ConstNull(PTR)), alone, shared)
    builder.at_end(shared)
    job.store(builder, memory, [grains, record, number, threads, const_int(1)])
    builder.call(enter, (pool, memory))
    builder.br(done)
    builder.at_end(alone)
    # Inlined, the loop would be compiled twice, for where there are no threads to make.
    call = builder.call(grains, (record, const_int(0), number, const_int(0, I32)), run)
    call.attrs["fn_attrs"] = ("noinline",)
    builder.br(done)
    builder.at_end(done)
    builder.ret()
    return function
