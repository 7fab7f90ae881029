"""Threads of a work-group that fill a tile by one number do so row by row.

    for i in range(t, 18 * 18, 256):            for c in range(tid.x, 18, 16):
        r, c = i // 18, i % 18             ==>      for r in range(tid.y, 18, 16):
        tile[r, c] = a[y + r, x + c]                    tile[r, c] = a[y + r, x + c]

Threads side by side have numbers one after the other, which are in two rows where these end: what they load and store
is gathered and scattered. Which thread runs which iteration is free (`weft.transform.groups.tile_fills`); so those of a
row of the work-group run along a row of the tile, and nothing is divided. Where the size of the work-group is not what
the program says, the loop runs as it was.

    before:  br asked, columns, loop
    columns: φ c; br c < 18, rows, exit      loop: as it was
    rows:    φ r; i = 18 * r + c; br i < 324, body, next
    next:    c += 16; br columns

Precondition: a kernel with barriers all of whose threads arrive at each of them together; ids are parameters, canonical
form. Postcondition: the same, loop-simplified. Preserves the program under FR and OBL, but for races.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.types import I64, IntType
from weft.transform.groups.thread_numbers import Product
from weft.transform.groups.tile_fills import TileFill, is_quotient, tile_fills
from weft.transform.groups.work_items import WorkItems
from weft.transform.loops.simplify_loops import simplify_loops


def fill_row_by_row(function: Function, group: Divergence) -> list[BasicBlock]:
    """Let such loops of a kernel run so; their headers.

    Parameters
    ----------
    group
        The analysis of the kernel for the threads of a work-group; it no longer holds where a loop was found.
    """
    found = tile_fills(function, group, function.layout)
    for fill in found:
        _run_in_rows(function, fill)
    if found:
        remove_unreachable_blocks(function)
        simplify_loops(function)
        remove_dead_instructions(function)
    return [fill.header for fill in found]


def _run_in_rows(function: Function, fill: TileFill) -> None:
    items = WorkItems.of(function)
    values: ValueMap = {}
    clone_blocks(fill.blocks, function, values)
    rows, latch, counter = (values[v] for v in (fill.header, fill.latch, fill.counter))
    assert isinstance(rows, BasicBlock) and isinstance(latch, BasicBlock) and isinstance(counter, Instruction)
    rows.name = f"{fill.header.name}.rows"
    columns = function.add_block(f"{fill.header.name}.columns", fill.before)
    following = function.add_block(f"{fill.header.name}.next", latch)
    type, loc = fill.counter.type, fill.header.terminator.loc
    assert isinstance(type, IntType)
    before = Builder(before=fill.before.terminator)
    before.loc = loc
    first_row, more_rows = _rows(before, fill, items, type)
    first, more = _as(before, items.tid[0], type), _as(before, _size(before, fill, items, 0), type)
    _ask(before, fill, items, columns)

    head = Builder(columns)
    head.loc = loc
    column = head.phi(type, "column")
    column.add_incoming(first, fill.before)
    head.cond_br(head.icmp("slt", column, ConstInt(type, fill.columns)), rows, fill.exit)

    inside = Builder(rows, rows.instructions[0])
    inside.loc = loc
    row = inside.phi(type, "row")
    row.add_incoming(first_row, columns)
    at_latch = Builder(before=latch.terminator)
    row.add_incoming(at_latch.binary("add", row, more_rows, ("nuw", "nsw")), latch)
    number = Builder.after_phis(rows)
    begin = number.binary("mul", row, ConstInt(type, fill.columns), ("nuw", "nsw"))
    at = number.binary("add", begin, column, ("nuw", "nsw"))
    for division in fill.divisions:
        copy = values[division]
        assert isinstance(copy, Instruction)
        copy.replace_all_uses(_divided(Builder(before=copy), copy, row, column, fill.columns))
        copy.erase()
    counter.replace_all_uses(at)
    counter.erase()
    branch = rows.terminator
    if fill.iterations % fill.columns == 0:
        last = ConstInt(type, fill.iterations // fill.columns)
        branch.set_operand(0, Builder(before=branch).icmp("slt", row, last))
    branch.replace_operand(fill.exit, following)
    back = Builder(following)
    back.loc = loc
    column.add_incoming(back.binary("add", column, more, ("nuw", "nsw")), following)
    back.br(columns)


def _divided(builder: Builder, division: Instruction, row: Value, column: Value, columns: int) -> Value:
    """A quotient, or remainder, of ``columns * row + column`` by a multiple of the columns."""
    by, type = division.operands[1], row.type
    assert isinstance(by, ConstInt) and isinstance(type, IntType) and isinstance(division.type, IntType)
    rows = by.signed // columns
    if is_quotient(division):
        found = row if rows == 1 else builder.binary("udiv", row, ConstInt(type, rows))
    elif rows == 1:
        found = column
    else:
        whole = builder.binary("urem", row, ConstInt(type, rows))
        begin = builder.binary("mul", whole, ConstInt(type, columns), ("nuw", "nsw"))
        found = builder.binary("add", begin, column, ("nuw", "nsw"))
    return _as(builder, found, division.type)


def _as(builder: Builder, value: Value, type: IntType) -> Value:
    """A number below 2³¹ in a type of 32 bits or more."""
    assert isinstance(value.type, IntType)
    if value.type == type:
        return value
    if isinstance(value, ConstInt):
        return ConstInt(type, value.value)
    return builder.cast("trunc" if value.type.bits > type.bits else "zext", value, type)


def _size(builder: Builder, fill: TileFill, items: WorkItems, dimension: int) -> Value:
    known = fill.number.size(dimension)
    return items.lsize[dimension] if known is None else ConstInt(I64, known)


def _rows(builder: Builder, fill: TileFill, items: WorkItems, type: IntType) -> tuple[Value, Value]:
    """The first row of a thread, and the step to its next one."""
    if fill.number.dimensions == 1:
        return ConstInt(type, 0), ConstInt(type, 1)
    first: Value = items.tid[1]
    step = _size(builder, fill, items, 1)
    if fill.number.dimensions == 3:
        first = builder.binary("add", first, builder.binary("mul", items.tid[2], step, ("nuw", "nsw")))
        step = builder.binary("mul", step, _size(builder, fill, items, 2), ("nuw", "nsw"))
    return _as(builder, first, type), _as(builder, step, type)


def _ask(before: Builder, fill: TileFill, items: WorkItems, columns: BasicBlock) -> None:
    """Go to the rows where the work-group has the size that the program expects."""
    asked: Value | None = None
    for one, other in fill.number.asked:
        same = before.icmp("eq", _product(before, one, items), _product(before, other, items))
        asked = same if asked is None else before.binary("and", asked, same)
    branch = fill.before.terminator
    if asked is None:
        branch.replace_operand(fill.header, columns)
        for phi in list(fill.header.phis()):
            phi.remove_incoming(phi.blocks.index(fill.before))
        return
    loc = branch.loc
    branch.erase()
    end = Builder(fill.before)
    end.loc = loc
    weigh(end.cond_br(asked, columns, fill.header), OFTEN, 1)


def _product(builder: Builder, product: Product, items: WorkItems) -> Value:
    number, sizes = product
    result: Value | None = None if number != 1 or not sizes else items.lsize[sizes[0]]
    if result is None:
        result = ConstInt(I64, number)
        rest = sizes
    else:
        rest = sizes[1:]
    for d in rest:
        result = builder.binary("mul", result, items.lsize[d])
    return result
