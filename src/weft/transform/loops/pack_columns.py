"""Operands that are read across their rows are copied for some columns at a time (array packing).

    for i: for j: for k: c[i, j] += a[i, k] * b[j, k]

    for t in columns by J:
        for j in t..t + J: for k: p[k, j - t] = b[j, k]
        for i: for j in t..t + J: for k: c[i, j] += a[i, k] * p[k, j - t]

Lanes along j then read neighbours where they would gather, once for each i. What is computed of an element, of nothing
else but of what no loop changes, is copied in its place.

Precondition: three loops inside of each other go up by 1, and hold nothing beside each other but computation; i is
parallel, so that the loop over columns may come first. Bounds of k do not depend on i or j, those of j at most on i,
and one iteration of i has all columns: its first or its last one. Values to copy depend on j and k alone, are computed
in each iteration of k, and nothing in the nest stores to what they are loaded from; k has no more iterations than the
copies have room for. Postcondition: the nest stands in a loop over columns, behind the loops that copy. What is stored,
and in which order sums are formed, stays the same. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.intrinsics import PURE
from weft.ir.types import I64, ArrayType, FunctionType, IntType
from weft.transform.loops.rebuilt import rebuilt

INCLUSIVE = {"sle": "slt", "ule": "ult"}
"""Tests that hold for the bound itself, too."""


def pack_columns(
    function: Function,
    nest: tuple[CountedLoop, CountedLoop, CountedLoop],
    values: Sequence[Instruction],
    *,
    at_first: bool,
    columns: int,
    depth: int,
) -> None:
    """Copy values of the innermost of three loops for some columns at a time.

    Parameters
    ----------
    nest
        The loops over i, j and k.
    values
        What is copied.
    at_first
        Whether it is the first iteration of i that has all columns, not the last.
    columns
        So many at a time.
    depth
        Room for iterations of k.
    """
    rows, middle, sums = nest
    inside = set(rows.blocks)
    exit, outer = rows.exit, rows.preheader
    tiles, tile, copy, column, cells, cell, next_column, run, latch = (
        function.add_block(f"{middle.header.name}.{name}", after)
        for name, after in (
            ("columns", outer),
            ("tile", None),
            ("copy", None),
            ("column", None),
            ("cells", None),
            ("cell", None),
            ("copied", None),
            ("run", None),
            ("next", None),
        )
    )
    # Which columns there are, known before.
    build = Builder(before=outer.terminator)
    build.loc = middle.counter.following.loc
    lower, upper = _columns_of(build, rows, middle, inside, at_first=at_first)
    first, end = (
        _extended(build, rebuilt(build, v, {}, inside), sums) for v in (sums.counter.start, sums.bound)
    )
    outer.replace_successor(rows.header, tiles)
    sign = middle.predicate[0]
    # The loop over them.
    build.at_end(tiles)
    phi = build.phi(I64, name="columns")
    build.cond_br(build.icmp(f"{sign}lt", phi, upper), tile, exit)
    exit.replace_phi_source(rows.header, tiles)
    build.at_end(tile)
    left = build.binary("sub", upper, phi)
    following = build.binary("add", phi, _of_two(build, "umin", left, const_int(columns)))
    build.br(copy)
    phi.add_incoming(lower, outer)
    phi.add_incoming(following, latch)
    # Copies, column by column.
    build.at_end(copy)
    j = build.phi(I64, name="column")
    build.cond_br(build.icmp(f"{sign}lt", j, following), column, run)
    build.at_end(column)
    build.br(cells)
    build.at_end(cells)
    k = build.phi(I64, name="cell")
    build.cond_br(build.icmp(f"{sums.predicate[0]}lt", k, end), cell, next_column)
    build.at_end(cell)
    counters: dict[Value, Value] = {
        middle.counter.phi: _narrowed(build, j, middle.counter.type),
        sums.counter.phi: _narrowed(build, k, sums.counter.type),
    }
    arrays: list[Instruction] = []
    for value in values:
        array = ArrayType(value.type, columns * depth)
        rooms = Builder(before=function.entry.instructions[0]).alloca(array, align=64, name="packed")
        arrays.append(rooms)
        made = rebuilt(build, value, counters, inside)
        build.store(made, _place(build, rooms, (k, first), (j, phi), columns))
    again = build.binary("add", k, const_int(1))
    build.br(cells)
    k.add_incoming(first, column)
    k.add_incoming(again, cell)
    build.at_end(next_column)
    another = build.binary("add", j, const_int(1))
    build.br(copy)
    j.add_incoming(phi, tile)
    j.add_incoming(another, next_column)
    # The nest, of these columns.
    build.at_end(run)
    build.br(rows.header)
    build.at_end(latch)
    build.br(tiles)
    rows.header.replace_successor(exit, latch)
    _enter(rows, outer, run)
    _between(middle, phi, following)
    for value, rooms in zip(values, arrays, strict=True):
        here = Builder(before=value)
        here.loc = value.loc
        own = [_extended(here, loop.counter.phi, loop) for loop in (sums, middle)]
        read = here.load(value.type, _place(here, rooms, (own[0], first), (own[1], phi), columns))
        value.replace_all_uses(read)
    remove_dead_instructions(function)


def _columns_of(
    build: Builder, rows: CountedLoop, middle: CountedLoop, inside: Collection[BasicBlock], *, at_first: bool
) -> tuple[Value, Value]:
    """The first column, and that behind the last; the same one twice if there is no row."""
    counter = rows.counter
    start, bound = (rebuilt(build, v, {}, inside) for v in (counter.start, rows.bound))
    row: Value = start
    if not at_first:
        step = 0 if rows.predicate in INCLUSIVE else -1
        row = build.binary("add", bound, const_int(step, counter.type)) if step else bound
    at: dict[Value, Value] = {counter.phi: row}
    lower, upper = (
        _extended(build, rebuilt(build, v, at, inside), middle) for v in (middle.counter.start, middle.bound)
    )
    if middle.predicate in INCLUSIVE:
        upper = build.binary("add", upper, const_int(1))
    return lower, build.select(build.icmp(rows.predicate, start, bound), upper, lower)


def _between(loop: CountedLoop, first: Value, behind: Value) -> None:
    """Let a loop run for those of its counter's values that are in a range."""
    counter, sign = loop.counter, loop.predicate[0]
    build = Builder(before=loop.preheader.terminator)
    build.loc = counter.following.loc
    start = _of_two(build, f"{sign}max", _extended(build, counter.start, loop), first)
    end: Value = behind
    if loop.predicate in INCLUSIVE:
        end = build.binary("sub", behind, const_int(1))
    end = _of_two(build, f"{sign}min", _extended(build, loop.bound, loop), end)
    start, end = (_narrowed(build, v, counter.type) for v in (start, end))
    for index, source in enumerate(counter.phi.blocks):
        if source is loop.preheader:
            counter.phi.set_operand(index, start)
    test = loop.header.terminator.operands[0]
    assert isinstance(test, Instruction)
    for index, value in enumerate(test.operands):
        if value is not counter.phi:
            test.set_operand(index, end)


def _place(
    build: Builder, rooms: Value, row: tuple[Value, Value], column: tuple[Value, Value], columns: int
) -> Value:
    """Where an element is copied to, by its row and column, and those that a copy begins with."""
    number = build.binary("mul", build.binary("sub", *row), const_int(columns), ("nsw",))
    number = build.binary("add", number, build.binary("sub", *column), ("nsw",))
    array = rooms.attrs["allocated_type"] if isinstance(rooms, Instruction) else None
    assert isinstance(array, ArrayType)
    return build.gep(array, rooms, (const_int(0), number), ("inbounds",))


def _of_two(build: Builder, which: str, a: Value, b: Value) -> Value:
    declared = build.module.declare(f"llvm.{which}.i64", FunctionType(I64, (I64, I64)), PURE)
    return build.call(declared, (a, b))


def _extended(build: Builder, value: Value, loop: CountedLoop) -> Value:
    """A number that a loop counts with, in 64 bits."""
    if value.type == I64:
        return value
    return build.cast("sext" if loop.predicate.startswith("s") else "zext", value, I64)


def _narrowed(build: Builder, value: Value, type: IntType) -> Value:
    return value if type == I64 else build.cast("trunc", value, type)


def _enter(loop: CountedLoop, before: BasicBlock, source: BasicBlock) -> None:
    """Let a loop be entered from another block."""
    for phi in loop.header.phis():
        for index, block in enumerate(phi.blocks):
            if block is before:
                phi.set_block(index, source)
