"""In which order the work-groups of a grid run, where groups of a row and groups of a column load the same.

In a product of matrices by tiles all groups of a row of the grid load the same rows of one factor, and all of a column
the same columns of the other. Row by row, the whole second factor goes through the caches for each row of groups. So
the grid runs in strips of few columns, each from its first row to its last one:

.. code-block:: text

    0  1 |  8  9      what a strip loads of the second factor stays in a cache,
    2  3 | 10 11      and what a row loads of the first one is loaded once for a strip
    4  5 | 12 13
    6  7 | 14 15

Groups are in no order by the meaning of a kernel, but for barriers of the grid, at which the order stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.codegen.loops import counted_loop
from weft.graph.loops import loop_forest
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I64, PointerType
from weft.transform.groups.work_items import WorkItems

STRIP = 128
"""Threads along x of a strip's groups together. Products of 1024 by 1024 floats in tiles of 16 by 16 took as long at
64, 128 and 256 threads, 1.2 times at 32, and 1.5 times row by row (Intel Ice Lake server, a busy machine)."""


def common_loads(kernel: Function) -> tuple[Instruction, Instruction] | None:
    """A load that groups of a column have in common, and one that those of a row have; None unless there are both.

    `kernel` has its work-item parameters. The loads are in loops, so that a group loads much by them.
    """
    x, y, _ = WorkItems.of(kernel).gid
    if not (x.is_used and y.is_used):
        return None
    view = cfg_of(kernel)
    loops = loop_forest(view.cfg)
    of_column: Instruction | None = None
    of_row: Instruction | None = None
    for number, block in enumerate(view.blocks):
        if loops.innermost[number] is None:
            continue
        for load in block.instructions:
            if load.op != "load" or _is_shared(load.pointer):
                continue
            asked = _parameters_behind(load.pointer) & {x, y}
            if asked == {x}:
                of_column = of_column or load
            elif asked == {y}:
                of_row = of_row or load
    return (of_column, of_row) if of_column is not None and of_row is not None else None


def _is_shared(pointer: Value) -> bool:
    return isinstance(pointer.type, PointerType) and pointer.type.space == SHARED_SPACE


def _parameters_behind(value: Value) -> set[Value]:
    """The parameters that a value is computed from."""
    seen: set[Value] = set()
    work = [value]
    while work:
        found = work.pop()
        if found not in seen:
            seen.add(found)
            work += found.operands if isinstance(found, Instruction) else ()
    return {v for v in seen if isinstance(v, Argument)}


@contextmanager
def in_rows(
    builder: Builder, function: Function, begin: Value, end: Value, grid: list[Value]
) -> Iterator[tuple[list[Value], Value]]:
    """Build the loop over groups, from `begin` to before `end`; yields each one's position and linear number."""
    columns, rows, _ = grid
    with counted_loop(builder, function, begin, end, "group") as number:
        x = builder.binary("urem", number, columns)
        rest = builder.binary("udiv", number, columns)
        y = builder.binary("urem", rest, rows)
        z = builder.binary("udiv", rest, rows)
        yield [x, y, z], number


@contextmanager
def in_strips(
    builder: Builder, function: Function, begin: Value, end: Value, grid: list[Value], row: Value
) -> Iterator[tuple[list[Value], Value]]:
    """Build the same loop in the order of strips; `row` is how many threads a group has along x."""
    columns, rows, _ = grid
    plane = builder.binary("mul", columns, rows)
    most = builder.binary("udiv", ConstInt(I64, STRIP), row)
    strip = builder.select(builder.icmp("eq", most, ConstInt(I64, 0)), ConstInt(I64, 1), most)
    area = builder.binary("mul", strip, rows)
    with counted_loop(builder, function, begin, end, "group") as number:
        z = builder.binary("udiv", number, plane)
        within = builder.binary("urem", number, plane)
        first = builder.binary("mul", builder.binary("udiv", within, area), strip)
        rest = builder.binary("urem", within, area)
        left = builder.binary("sub", columns, first)
        wide = builder.select(builder.icmp("ult", left, strip), left, strip)
        x = builder.binary("add", first, builder.binary("urem", rest, wide))
        y = builder.binary("udiv", rest, wide)
        in_plane = builder.binary("add", builder.binary("mul", y, columns), x)
        yield [x, y, z], builder.binary("add", builder.binary("sub", number, within), in_plane)
