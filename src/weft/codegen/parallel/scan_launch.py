"""Scans and compactions on all cores: two passes over grains of a loop that lanes run in lock step.

What such a loop hands on is in cells (`weft.transform.loops.carry_in_lanes`): each lane group reads a cell, combines it
with something that does not depend on it, and writes it. So the groups of a grain together combine it with one value,
their *total*, and

1. one core runs the first iterations, the *head*, as the loop does; meanwhile the others compute the totals of all
   grains behind it, by the body without its other stores;
2. the cells with which each grain begins are combined from these, in order, on one core;
3. all cores run the grains behind the head as the loop does, each in its own copy of the cells.

This is the scan by chunks of Blelloch (*Prefix sums and their applications*, 1990, §1.3), but for the head. It is so
long that step 1 takes all cores equally long: a p-th of the loop on p cores, if totals cost as much as the loop. With
one thread, or where there are few grains, the loop runs in order, in one pass.

Precondition: a loop whose iterations hand on nothing but the cells (`weft.ir.loop_metadata.IN_GRAINS`), strip-mined.
Postcondition: its function calls the pool, or the chunk, in its place. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.loops.reductions import Combination
from weft.codegen.loops import counted_loop, two_arms
from weft.codegen.parallel.chunks import LoopBodies, build_chunk
from weft.codegen.parallel.combine import combine, neutral_value
from weft.codegen.parallel.parallel_launch import (
    MOST_GRAINS,
    Record,
    add_part,
    begin_totals,
    declare_grains,
    finished_totals,
    grain_length,
    launch,
    part_of,
    quotient,
    thread_count,
)
from weft.codegen.parallel.parallel_loops import StripMinedLoop, values_behind
from weft.codegen.simd_functions.entry_guard import guard_by_lane
from weft.ir import Argument, Builder, Function, Instruction, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.clone import clone_function
from weft.ir.effects import may_not_return, may_write
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, I64, PTR, ArrayType, FunctionType, Type
from weft.transform.loops.outline_loop import OutlinedLoop, cell_type
from weft.transform.loops.replace_loop import open_preheader, replace_loop

LEAST_GRAINS = 8
"""Fewer are not worth two jobs of the pool, and computing totals."""

_CHOICE = FunctionType(I64, (I64, I64))

_COMBINATIONS = {c.value: c for c in Combination}


class Carried(Struct, frozen=True):
    """A cell: the stack object, its type, and how grains are combined."""

    cell: Instruction
    type: Type
    combination: Combination


class Totals(Struct, frozen=True):
    """The pass that computes what each grain combines with the cells.

    Parameters
    ----------
    mined
        A loop with the same iterations.
    carried
        The cells.
    """

    mined: StripMinedLoop
    carried: tuple[Carried, ...]


def totals_of(module: Module, mined: StripMinedLoop) -> Totals | None:
    """Add the pass for totals of a loop that is strip-mined and not yet in lanes; None where grains have none."""
    if not mined.lane_functions or not isinstance(mined.outlined, OutlinedLoop):
        return None
    outlined = mined.outlined
    first = len(outlined.parallel.counters)
    body = clone_function(outlined.body, f"{outlined.body.name}.totals")
    cells = {
        body.args[first + place]: value
        for place, value in enumerate(outlined.captured)
        if isinstance(value, Instruction) and value.op == "alloca" and _is_stored_to(body.args[first + place])
    }
    for block in body.blocks:
        for instruction in list(block.instructions):
            if instruction.op == "store" and instruction.pointer not in cells:
                instruction.erase()
    remove_dead_instructions(body)
    carried = _separable(body, cells)
    if not carried:
        del module.functions[body.name]
        return None
    partial = clone_function(body, f"{body.name}.partial")
    guard_by_lane(module, partial)
    alike = OutlinedLoop(outlined.parallel, body, outlined.captured)
    chunk = build_chunk(module, alike, LoopBodies(mined.width, body, partial), f"{body.name}.chunk")
    instructions = sum(1 for _ in body.instructions())
    made = StripMinedLoop(
        alike, chunk, mined.plan, (body, partial), mined.has_loops, instructions, mined.lanes
    )
    return Totals(made, carried)


def _is_stored_to(cell: Argument) -> bool:
    users = list(cell.instruction_users())
    return any(u.op == "store" and u.pointer is cell for u in users)


def _separable(body: Function, cells: Mapping[Argument, Instruction]) -> tuple[Carried, ...] | None:
    """The cells of a body, if each is only combined with what depends on none of them; None where that is not so."""
    carried: list[Carried] = []
    inside: dict[Instruction, None] = {}
    for cell, origin in cells.items():
        users = list(cell.instruction_users())
        loads = [u for u in users if u.op == "load"]
        stores = [u for u in users if u.op == "store" and u.stored_value is not cell]
        if len(users) != 2 or len(loads) != 1 or len(stores) != 1 or not loads[0].is_plain_access:
            return None
        (load,), (store,) = loads, stores
        update = store.stored_value
        if (
            not isinstance(update, Instruction)
            or list(load.instruction_users()) != [update]
            or list(update.instruction_users()) != [store]
            or load.type != origin.attrs["allocated_type"]
        ):
            return None
        combination = _combination(update)
        if combination is None or [v is load for v in _combined(update)].count(True) != 1:
            return None
        carried.append(Carried(origin, load.type, combination))
        inside |= dict.fromkeys((load, update, store))
    for instruction in body.instructions():
        if instruction not in inside and (may_write(instruction) or may_not_return(instruction)):
            return None
    return tuple(carried)


def _combination(update: Instruction) -> Combination | None:
    name = (update.callee_name or "").split(".")[1] if update.op == "call" else update.op
    return _COMBINATIONS.get(name)


def _combined(update: Instruction) -> list[Value]:
    return list(update.args if update.op == "call" else update.operands)


def run_scans_in_parallel(module: Module, mined: StripMinedLoop, totals: Totals, name: str) -> None:
    """Let the loop's function hand the loop to the thread pool, in two passes, or run its chunk."""
    parallel, captured = mined.outlined.parallel, mined.outlined.captured
    loop, reductions, carried = parallel.loop, parallel.reductions, totals.carried
    function = loop.header.function
    assert function is not None
    own = {c.cell for c in carried}
    given = [*(c.start for c in parallel.counters), *(v for v in captured if v not in own)]
    record = Record((I64, I64, I64, *(v.type for v in given), *(PTR for _ in (*carried, *reductions))))
    first = _build_first_pass(module, mined, totals, record, name)
    second = _build_second_pass(module, mined, totals, record, name)
    entry = Builder(before=function.entry.instructions[0])
    memory = entry.alloca(ArrayType(I64, len(record.types)), align=8, name="record")
    size = MOST_GRAINS + 1
    cells = [entry.alloca(ArrayType(c.type, size), align=64, name="cells") for c in carried]
    parts = [entry.alloca(ArrayType(cell_type(r), size), align=64, name="parts") for r in reductions]
    slots = [entry.alloca(cell_type(r), name="total") for r in reductions]
    results = [entry.alloca(cell_type(r)) for r in reductions]
    builder = open_preheader(loop)
    count = build_iterations(loop, builder)
    begin_totals(builder, reductions, slots)
    length = grain_length(module, builder, count, mined)
    number, threads = quotient(builder, count, length), thread_count(module, builder)
    several = builder.binary(
        "and",
        builder.icmp("ugt", threads, const_int(1)),
        builder.icmp("uge", number, const_int(LEAST_GRAINS)),
    )
    with two_arms(builder, function, several) as otherwise:
        head = _head(builder, number, threads, mined, totals.mined)
        rest = builder.binary("sub", number, head)
        both = builder.binary("add", rest, const_int(1))
        record.store(builder, memory, [count, length, head, *given, *cells, *parts])
        for each, places in zip(carried, cells, strict=True):
            builder.store(builder.load(each.type, each.cell), places)
        launch(module, builder, first, memory, both)
        with counted_loop(builder, function, const_int(1), both, "grain") as index:
            for each, places in zip(carried, cells, strict=True):
                place = _element(builder, each.type, places, index)
                total, known = builder.load(each.type, place), builder.load(each.type, places)
                builder.store(known, place)
                builder.store(combine(module, builder, each.combination, known, total), places)
        for each, places in zip(carried, cells, strict=True):
            builder.store(builder.load(each.type, places), each.cell)
        launch(module, builder, second, memory, rest)
        with counted_loop(builder, function, const_int(0), both, "grain") as index:
            for reduction, slot, places in zip(reductions, slots, parts, strict=True):
                place = _element(builder, cell_type(reduction), places, index)
                add_part(module, builder, reduction, slot, place)
        otherwise()
        starts = [c.start for c in parallel.counters]
        builder.call(mined.chunk, [const_int(0), count, *starts, *captured, *results])
        for reduction, slot, result in zip(reductions, slots, results, strict=True):
            add_part(module, builder, reduction, slot, result)
    finals = finished_totals(builder, reductions, slots)
    replace_loop(loop, builder, values_behind(builder, parallel, count, finals))


def _head(
    builder: Builder, number: Value, threads: Value, mined: StripMinedLoop, totals: StripMinedLoop
) -> Value:
    """Grains of the head, one at least: ``number * r / (s * (threads - 1) + r)``, if r and s are the passes' costs."""
    less = const_int(totals.instructions)
    others = builder.binary("sub", threads, const_int(1))
    all_costs = builder.binary("add", builder.binary("mul", others, const_int(mined.instructions)), less)
    share = builder.binary("udiv", builder.binary("mul", number, less), all_costs)
    return builder.select(builder.icmp("eq", share, const_int(0)), const_int(1), share)


def _element(builder: Builder, type: Type, places: Value, index: Value) -> Value:
    return builder.gep(type, places, (index,), ("inbounds", "nuw"))


class _Pass(Struct, frozen=True):
    """A function that the pool calls for a run of grains, under construction.

    Parameters
    ----------
    cells
        What the grain's iterations have for the loop's cells.
    count, length, head
        Iterations of the loop and of a grain, grains of the head.
    given
        The first values of counters, what is captured beside the cells, where the cells of grains are, and the results
        of their reductions.
    """

    function: Function
    builder: Builder
    parallel: ParallelLoop
    captured: tuple[Value, ...]
    carried: tuple[Carried, ...]
    cells: dict[Instruction, Value]
    count: Value
    length: Value
    head: Value
    given: list[Value]

    def run(self, chunk: Function, begin: Value, end: Value, results: Sequence[Value]) -> None:
        """Call a chunk for a range of iterations."""
        given = iter(self.given)
        starts = [next(given) for _ in self.parallel.counters]
        captured = [self.cells.get(v) or next(given) for v in self.captured]  # type: ignore[call-overload]
        self.builder.call(chunk, [begin, end, *starts, *captured, *results])

    def places(self, index: Value) -> tuple[list[Value], list[Value]]:
        """Where the cells and the results of a grain are."""
        types = [*(c.type for c in self.carried), *(cell_type(r) for r in self.parallel.reductions)]
        arrays = self.given[len(self.given) - len(types) :]
        found = [_element(self.builder, t, a, index) for t, a in zip(types, arrays, strict=True)]
        return found[: len(self.carried)], found[len(self.carried) :]


def _begin_pass(module: Module, mined: StripMinedLoop, totals: Totals, record: Record, name: str) -> _Pass:
    function = declare_grains(module, name)
    builder = Builder(function.add_block("entry"))
    cells: dict[Instruction, Value] = {c.cell: builder.alloca(c.type, name="cell") for c in totals.carried}
    count, length, head, *given = record.load(builder, function.args[0])
    outlined = mined.outlined
    return _Pass(
        function, builder, outlined.parallel, outlined.captured, totals.carried, cells, count, length, head, given
    )  # fmt: skip


def _build_first_pass(
    module: Module, mined: StripMinedLoop, totals: Totals, record: Record, name: str
) -> Function:
    """Number 0 is the head, number i the total of the i-th grain behind it."""
    made = _begin_pass(module, mined, totals, record, f"{name}.totals.grains")
    function, builder = made.function, made.builder
    _, begin, end, _ = function.args
    unused = [builder.alloca(cell_type(r)) for r in made.parallel.reductions]
    smaller = module.declare("llvm.umin.i64", _CHOICE, PURE)
    with counted_loop(builder, function, begin, end, "grain") as number:
        places, results = made.places(number)
        with two_arms(builder, function, builder.icmp("eq", number, const_int(0))) as otherwise:
            for each, place in zip(made.carried, places, strict=True):
                builder.store(builder.load(each.type, place), made.cells[each.cell])
            made.run(mined.chunk, const_int(0), builder.binary("mul", made.head, made.length), results)
            otherwise()
            for each in made.carried:
                builder.store(neutral_value(each.combination, each.type), made.cells[each.cell])
            first, last = _grain(builder, smaller, made, number)
            made.run(totals.mined.chunk, first, last, unused)
        for each, place in zip(made.carried, places, strict=True):
            builder.store(builder.load(each.type, made.cells[each.cell]), place)
    builder.ret(const_int(0, I32))
    return function


def _build_second_pass(
    module: Module, mined: StripMinedLoop, totals: Totals, record: Record, name: str
) -> Function:
    """Number i is the grain behind i others and the head."""
    made = _begin_pass(module, mined, totals, record, f"{name}.grains")
    function, builder = made.function, made.builder
    _, begin, end, _ = function.args
    smaller = module.declare("llvm.umin.i64", _CHOICE, PURE)
    with counted_loop(builder, function, begin, end, "grain") as number:
        following = builder.binary("add", number, const_int(1))
        places, results = made.places(following)
        for each, place in zip(made.carried, places, strict=True):
            builder.store(builder.load(each.type, place), made.cells[each.cell])
        first, last = _grain(builder, smaller, made, following)
        made.run(mined.chunk, first, last, results)
    builder.ret(const_int(0, I32))
    return function


def _grain(builder: Builder, smaller: Function, made: _Pass, number: Value) -> tuple[Value, Value]:
    """The iterations of the grain with this number, of which that behind the head is 1."""
    place = builder.binary("add", made.head, builder.binary("sub", number, const_int(1)))
    return part_of(builder, smaller, place, made.length, made.count)
