"""Loops that update elements which may be the same (histograms) on all cores: each thread in a copy of its own.

The bytes in which the elements lie are known before the loop (`weft.transform.loops.private_updates`). Each thread gets
as many, filled with what changes nothing; behind the loop the copies are added to the elements, one after the other.
So the result does not depend on who did which iterations, as long as the operation may be done in any order.

With one thread, where there are too few iterations for so many elements, or no memory, the loop runs in order.

Precondition: a loop with such pointers, strip-mined. Postcondition: its function calls the pool, or the chunk, in its
place. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.reductions import Combination
from weft.codegen.loops import counted_loop, two_arms
from weft.codegen.parallel.combine import OF_ATOMIC, combine, neutral_value
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
from weft.ir import Builder, Function, Instruction, Module, Value
from weft.ir.builder import const_int
from weft.ir.constants import ConstNull
from weft.ir.intrinsics import PURE
from weft.ir.types import I8, I32, I64, PTR, VOID, ArrayType, FloatType, FunctionType, IntType, Type
from weft.transform.loops.outline_loop import cell_type
from weft.transform.loops.replace_loop import open_preheader, replace_loop

LEAST_GRAINS = 4
_LINES = 128
"""Copies begin so many bytes apart at least: processors fetch lines in pairs."""

_ITERATIONS_INSIDE = 64
"""So often loops inside are taken to run, where the number is compared with that of the elements."""

_CHOICE = FunctionType(I64, (I64, I64))


class Updated(Struct, frozen=True):
    """Elements that a loop updates: the pointer, their type, and how they are combined."""

    pointer: Instruction
    type: Type
    combination: Combination

    @property
    def size(self) -> int:
        """The bytes of an element, a power of two."""
        assert isinstance(self.type, IntType | FloatType)
        return self.type.bits // 8


class _Copies(Struct, frozen=True):
    """The copies of some elements: where they begin, how many bytes they are apart, and how many elements each has."""

    memory: Value
    stride: Value
    number: Value


def updated_elements(mined: StripMinedLoop, pointers: Sequence[Instruction]) -> tuple[Updated, ...]:
    """What a strip-mined loop does through marked pointers."""
    found: list[Updated] = []
    blocks = {i for b in mined.outlined.parallel.loop.blocks for i in b.instructions}
    for pointer in pointers:
        users: list[Instruction] = list(pointer.instruction_users())
        while users[0].op == "getelementptr":
            users = list(users[0].instruction_users())
        (update,) = (u for u in users if u in blocks)
        found.append(Updated(pointer, update.type, OF_ATOMIC[update.attrs["rmw"]]))
    return tuple(found)


def run_with_copies(
    module: Module, mined: StripMinedLoop, pointers: Sequence[Instruction], name: str
) -> None:
    """Let the loop's function hand the loop to the thread pool, or run its chunk where copies do not pay."""
    parallel, captured = mined.outlined.parallel, mined.outlined.captured
    loop, reductions, updated = parallel.loop, parallel.reductions, updated_elements(mined, pointers)
    function = loop.header.function
    assert function is not None
    starts = [c.start for c in parallel.counters]
    per_array = [t for _ in updated for t in (I64, I64)]
    record = Record(
        (I64, I64, *(v.type for v in (*starts, *captured)), *per_array, *(PTR for _ in reductions))
    )
    grains = _build_grains(module, mined, updated, record, name)
    entry = Builder(before=function.entry.instructions[0])
    memory = entry.alloca(ArrayType(I64, len(record.types)), align=8, name="record")
    parts = [entry.alloca(ArrayType(cell_type(r), MOST_GRAINS), align=64, name="parts") for r in reductions]
    slots = [entry.alloca(cell_type(r), name="total") for r in reductions]
    results = [entry.alloca(cell_type(r)) for r in reductions]
    builder = open_preheader(loop)
    count = build_iterations(loop, builder)
    begin_totals(builder, reductions, slots)
    length = grain_length(module, builder, count, mined)
    number, threads = quotient(builder, count, length), thread_count(module, builder)
    work = builder.binary("mul", count, const_int(_ITERATIONS_INSIDE if mined.has_loops else 1))
    pays: Value = builder.icmp("ugt", threads, const_int(1))
    pays = builder.binary("and", pays, builder.icmp("uge", number, const_int(LEAST_GRAINS)))
    sizes: list[tuple[Value, Value]] = []
    for each in updated:
        size, elements, fits = _extent(builder, each)
        pays = builder.binary("and", pays, fits)
        in_all = builder.binary("mul", builder.binary("mul", elements, threads), const_int(2))
        # What is too much for 64 bits is too much for the loop, too.
        pays = builder.binary("and", pays, builder.icmp("ult", elements, const_int(1 << 40)))
        pays = builder.binary("and", pays, builder.icmp("ule", in_all, work))
        sizes.append((size, elements))
    with two_arms(builder, function, pays) as otherwise:
        copies = [_allocate(module, builder, size, n, threads) for size, n in sizes]
        there: Value = builder.icmp("ne", copies[0].memory, ConstNull(PTR))
        for more in copies[1:]:
            there = builder.binary("and", there, builder.icmp("ne", more.memory, ConstNull(PTR)))
        with two_arms(builder, function, there) as without_memory:
            for each, copy in zip(updated, copies, strict=True):
                _fill(builder, function, each, copy, threads)
            places = [
                v for u, c in zip(updated, copies, strict=True) for v in (_distance(builder, u, c), c.stride)
            ]
            record.store(builder, memory, [count, length, *starts, *captured, *places, *parts])
            launch(module, builder, grains, memory, number)
            for each, copy in zip(updated, copies, strict=True):
                _merge(module, builder, function, each, copy, threads)
            with counted_loop(builder, function, const_int(0), number, "grain") as index:
                for reduction, slot, places in zip(reductions, slots, parts, strict=True):
                    type = cell_type(reduction)
                    place = builder.gep(type, places, (index,), ("inbounds", "nuw"))
                    add_part(module, builder, reduction, slot, place)
            without_memory()
            _run_in_order(module, builder, mined, count, list(zip(slots, results, strict=True)))
        free = module.declare("free", FunctionType(VOID, (PTR,)), ("nounwind",))
        for copy in copies:
            builder.call(free, (copy.memory,))
        otherwise()
        _run_in_order(module, builder, mined, count, list(zip(slots, results, strict=True)))
    finals = finished_totals(builder, reductions, slots)
    replace_loop(loop, builder, values_behind(builder, parallel, count, finals))


def _run_in_order(
    module: Module,
    builder: Builder,
    mined: StripMinedLoop,
    count: Value,
    reduced: list[tuple[Instruction, Instruction]],
) -> None:
    parallel = mined.outlined.parallel
    starts = [c.start for c in parallel.counters]
    results = [result for _, result in reduced]
    builder.call(mined.chunk, [const_int(0), count, *starts, *mined.outlined.captured, *results])
    for reduction, (slot, result) in zip(parallel.reductions, reduced, strict=True):
        add_part(module, builder, reduction, slot, result)


def _extent(builder: Builder, updated: Updated) -> tuple[Value, Value, Value]:
    """Bytes, number of elements, and whether these are known and elements begin where the bytes do."""
    _, begin, end = updated.pointer.args
    size = builder.binary("sub", end, begin)
    both = builder.binary("or", begin, size)
    rest = builder.binary("and", both, const_int(updated.size - 1))
    fits = builder.binary("and", builder.icmp("slt", begin, end), builder.icmp("eq", rest, const_int(0)))
    return size, builder.binary("udiv", size, const_int(updated.size)), fits


def _allocate(module: Module, builder: Builder, size: Value, number: Value, threads: Value) -> _Copies:
    """Memory for a copy for each thread."""
    stride = builder.binary("add", size, const_int(2 * _LINES - 1))
    stride = builder.binary("and", stride, const_int(-_LINES))
    allocate = module.declare("malloc", FunctionType(PTR, (I64,)), ("nounwind",))
    return _Copies(builder.call(allocate, (builder.binary("mul", stride, threads),)), stride, number)


def _copy_of(builder: Builder, copies: _Copies, thread: Value) -> Value:
    return builder.gep(I8, copies.memory, (builder.binary("mul", thread, copies.stride),))


def _distance(builder: Builder, updated: Updated, copies: _Copies) -> Value:
    """How far the first copy is from the elements."""
    return builder.binary("sub", builder.cast("ptrtoint", copies.memory, I64), updated.pointer.args[1])


def _fill(builder: Builder, function: Function, updated: Updated, copies: _Copies, threads: Value) -> None:
    with counted_loop(builder, function, const_int(0), threads, "copy") as thread:
        copy = _copy_of(builder, copies, thread)
        with counted_loop(builder, function, const_int(0), copies.number, "fill") as index:
            value = neutral_value(updated.combination, updated.type)
            builder.store(value, builder.gep(updated.type, copy, (index,)))


def _merge(
    module: Module, builder: Builder, function: Function, updated: Updated, copies: _Copies, threads: Value
) -> None:
    pointer, begin, _ = updated.pointer.args
    first = builder.gep(I8, pointer, (builder.binary("sub", begin, builder.cast("ptrtoint", pointer, I64)),))
    with counted_loop(builder, function, const_int(0), threads, "copy") as thread:
        copy = _copy_of(builder, copies, thread)
        with counted_loop(builder, function, const_int(0), copies.number, "merge") as index:
            place = builder.gep(updated.type, first, (index,))
            more = builder.load(updated.type, builder.gep(updated.type, copy, (index,)))
            known = builder.load(updated.type, place)
            builder.store(combine(module, builder, updated.combination, known, more), place)


def _build_grains(
    module: Module, mined: StripMinedLoop, updated: tuple[Updated, ...], record: Record, name: str
) -> Function:
    """The function that the pool calls for a run of grains, with the number of the thread."""
    function = declare_grains(module, f"{name}.grains")
    parallel, captured = mined.outlined.parallel, mined.outlined.captured
    memory, begin, end, worker = function.args
    builder = Builder(function.add_block("entry"))
    count, length, *values = record.load(builder, memory)
    given = iter(values)
    starts = [next(given) for _ in parallel.counters]
    arguments: dict[Value, Value] = {v: next(given) for v in captured}
    thread = builder.cast("zext", worker, I64)
    for each in updated:
        distance, stride = next(given), next(given)
        distance = builder.binary("add", distance, builder.binary("mul", thread, stride))
        arguments[each.pointer] = builder.gep(I8, arguments[each.pointer], (distance,))
    smaller = module.declare("llvm.umin.i64", _CHOICE, PURE)
    parts = list(given)
    with counted_loop(builder, function, begin, end, "grain") as grain:
        first, last = part_of(builder, smaller, grain, length, count)
        results = [
            builder.gep(cell_type(r), place, (grain,), ("inbounds", "nuw"))
            for r, place in zip(parallel.reductions, parts, strict=True)
        ]
        builder.call(mined.chunk, [first, last, *starts, *arguments.values(), *results])
    builder.ret(const_int(0, I32))
    return function
