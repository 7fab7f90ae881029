"""Lookups of bytes in tables of at most 256 of them: ``out[i] = table[text[i]]``, where registers of bytes permute.

No processor gathers bytes. Where an index is a number of 8 bits, all that it may lead to is in a few registers, and one
instruction looks a register full of numbers up in one or two of them. Such a load is a call of a function that gathers,
which becomes such instructions when all passes are done (`weft.target.rewrites.tables`), as only there nobody objects
to bytes beyond the table, which nobody looks at.
"""

from __future__ import annotations

from weft.analysis.memory.byte_tables import BLOCK, ByteTable, byte_table, lookup_name
from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_addresses import has_one_base
from weft.costs.instructions import memory_cost, table_cost
from weft.ir import Builder, ConstInt, Function, Instruction, Poison
from weft.ir.builder import const_int
from weft.ir.types import I1, I8, I64, PTR, FunctionType, IntType, VectorType


def table_of(w: Widening, load: Instruction) -> ByteTable | None:
    """The table that a load looks each lane's number up in, where that is better than to gather."""
    table = byte_table(load, w.divergence) if w.lanes.width <= BLOCK and has_one_base(w, load) else None
    if table is None:
        return None
    # What lanes have in common is not always computed once for all of them.
    if not all(index is table.index or w.is_uniform(index) for index in table.location.terms):
        return None
    cost = table_cost(table.blocks, w.lanes.width, w.isa)
    gathered = memory_cost("load", "gather", I8.bits, w.lanes.width, w.isa)
    return table if cost is not None and cost.cycles < gathered.cycles else None


def look_up(w: Widening, load: Instruction, table: ByteTable) -> Instruction:
    """Load for each lane what its number leads to."""
    builder, location = w.builder, table.location
    place = w.scalar(location.base)
    if location.offset:
        place = builder.gep(I8, place, (ConstInt(I64, location.offset),))
    for index, scale in location.terms.items():
        if index is not table.index:
            assert isinstance(index.type, IntType)
            number = w.scalar(index)
            number = builder.cast("sext", number, I64) if index.type.bits < I64.bits else number
            place = builder.gep(I8, place, (builder.binary("mul", number, const_int(scale, I64)),))
    number = w.vector(table.index)
    assert isinstance(table.index.type, IntType)
    if table.index.type.bits > I8.bits:
        number = builder.cast("trunc", number, w.lanes.vector(I8))
    return builder.call(_lookup(w, table.blocks), (place, number, w.active()))


def _lookup(w: Widening, blocks: int) -> Function:
    """The function that looks numbers up, as a gather."""
    count = w.lanes.width
    name = lookup_name(count, blocks)
    known = w.module.functions.get(name)
    if known is not None:
        return known
    bytes, mask = VectorType(I8, count), VectorType(I1, count)
    type = FunctionType(bytes, (PTR, bytes, mask))
    function = w.module.add_function(Function(name, type, ("table", "index", "mask")))
    function.linkage.linkage = "internal"
    function.attributes = ("alwaysinline", "nounwind")
    place, index, active = function.args
    builder = Builder(function.add_block("entry"))
    places = builder.gep(I8, place, (builder.cast("zext", index, VectorType(I64, count)),))
    callee = w.module.declare(
        f"llvm.masked.gather.v{count}i8.v{count}p0", FunctionType(bytes, (places.type, mask, bytes))
    )
    builder.ret(builder.call(callee, (places, active, Poison(bytes))))
    return function
