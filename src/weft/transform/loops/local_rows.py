"""Rows that the iterations of a loop have for themselves are copied to the stack, changed there, and copied back.

    for r in prange(rows):                          for r in prange(rows):
        for k in ...:                                   for c in range(n): own[c] = a[r, c]
            for i in ...:                      →        for k in ...: for i in ...: ... own[i], own[i ^ j] ...
                ... a[r, i], a[r, i ^ j] ...            for c in range(n): a[r, c] = own[c]

Lanes along the loop have their copies side by side (`weft.codegen.widen.stack_objects`), where columns that they share
are vectors; in the array they are rows apart. The array is gone through twice, along its rows.

Precondition: P-LLVM without predicates; `own_rows` found the rows in the function as it is, and what it says has to be
tested holds where the loop is entered. Postcondition: the same; all accesses of the array in the loop are those of the
two copies. Preserves the program under FR: no other iteration accesses a row, and what an iteration does not change of
its row is stored as it was.
"""

from __future__ import annotations

from weft.analysis.loops.row_uses import Access
from weft.analysis.loops.rows_in_place import RowInPlace, RowLoop
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, split_block
from weft.ir.intrinsics import lifetime_start
from weft.ir.types import I8, I64, ArrayType
from weft.transform.loops.rebuilt import rebuilt

_ALIGNMENT = 64


def copy_own_rows(function: Function, found: RowLoop) -> None:
    """Let the iterations of a loop work on copies of their rows."""
    inside = set(found.counted.blocks)
    accesses = {access.instruction for row in found.rows for access in row.accesses}
    behind = _last(found.end, accesses)
    before = next((i for i in found.begin.instructions if i in accesses), found.begin.terminator)
    for row in found.rows:
        array = ArrayType(row.type, row.length)
        room = Builder(before=function.entry.instructions[0]).alloca(array, align=_ALIGNMENT, name="own.row")
        align = min(access.instruction.alignment for access in row.accesses)
        _copy(found, row, inside, before, room, align, back=False)
        _copy(found, row, inside, behind, room, align, back=True)
        for access in row.accesses:
            _redirect(access, array, room)
    remove_dead_instructions(function)


def _last(block: BasicBlock, accesses: set[Instruction]) -> Instruction:
    """What follows the last one of some instructions in a block, or its φs."""
    last = max(
        (k for k, i in enumerate(block.instructions) if i in accesses), default=block.first_insertion - 1
    )
    return block.instructions[last + 1]


def _copy(
    found: RowLoop,
    row: RowInPlace,
    inside: set[BasicBlock],
    at: Instruction,
    room: Instruction,
    align: int,
    *,
    back: bool,
) -> None:
    """Copy a row to the stack, or back, before an instruction."""
    begin = at.block
    assert begin is not None
    function = at.function
    name = "stored" if back else "own"
    behind = split_block(at)
    heads, cell = (function.add_block(f"{begin.name}.{name}.{part}", None) for part in ("cells", "cell"))
    begin.terminator.set_block(0, heads)
    behind.replace_phi_source(begin, heads)
    build = Builder(before=begin.terminator)
    build.loc = row.accesses[0].instruction.loc
    if not back:
        build.call(lifetime_start(build.module), (room,))
    phi = found.counted.counter.phi
    # It may come to no access: flags that hold for these say nothing here.
    number = rebuilt(build, row.number, {phi: phi}, inside, flags=False)
    pitch = row.pitch.build(build)
    first = build.gep(
        row.type, row.base, (build.binary("mul", number, pitch, ("nuw", "nsw")),), ("inbounds",)
    )
    length = pitch if row.is_whole else const_int(row.length)
    build.at_end(heads)
    column = build.phi(I64, name="column")
    build.cond_br(build.icmp("ult", column, length), cell, behind)
    build.at_end(cell)
    outside = build.gep(row.type, first, (column,), ("inbounds",))
    own = build.gep(ArrayType(row.type, row.length), room, (const_int(0), column), ("inbounds",))
    if back:
        build.store(build.load(row.type, own), outside, align=align)
    else:
        build.store(build.load(row.type, outside, align=align), own)
    following = build.binary("add", column, const_int(1), ("nuw", "nsw"))
    build.br(heads)
    column.add_incoming(const_int(0), begin)
    column.add_incoming(following, cell)


def _redirect(access: Access, array: ArrayType, room: Instruction) -> None:
    """Let an access go to the copy."""
    instruction = access.instruction
    build = Builder(before=instruction)
    build.loc = instruction.loc
    column: Value | None = None
    for value, by in access.terms:
        term = value if by == 1 else build.binary("mul", value, const_int(by))
        column = term if column is None else build.binary("add", column, term)
    if column is None:
        place = build.gep(array, room, (const_int(0), const_int(access.offset)), ("inbounds",))
    elif access.offset == 0:
        place = build.gep(array, room, (const_int(0), column), ("inbounds",))
    else:
        # The sum is in the row; its parts need not be. Neighbours are told by their distance in bytes.
        place = build.gep(array, room, (const_int(0), column))
        distance = access.offset * build.module.layout.store_size(array.element)
        place = build.gep(I8, place, (const_int(distance),))
    instruction.set_operand(1 if instruction.op == "store" else 0, place)
