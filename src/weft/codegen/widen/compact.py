"""``weft.compact``: the values of chosen lanes, side by side from lane 0 on.

Lanes behind the last chosen value keep their own. LLVM has an intrinsic for one register, which is an instruction with
AVX-512; with AVX2 a register is permuted by a row of a table that the mask gives. Of several, each one's chosen
values are stored behind those of the one before; what lies behind the last chosen value is not taken.
"""

from __future__ import annotations

from weft.codegen.widen.active_lane import of_an_active_lane
from weft.codegen.widen.context import Widening, broadcast, mask_bits
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.widen.masked import mangled
from weft.codegen.widen.permute import in_parts, permute
from weft.ir import FALSE, ConstAggregate, ConstInt, GlobalVariable, Instruction, Poison, Value
from weft.ir.builder import const_int
from weft.ir.types import I8, I32, I64, ArrayType, IntType, PointerType, VectorType

_PERMUTED_BITS = 256
"""Registers of machines that permute words across a register, and have no instruction to compress."""


def widen_compact(w: Widening, call: Instruction) -> None:
    """Widen the call; only active lanes are chosen."""
    value, chosen = call.args
    if call in w.kept:
        w.set_scalar(call, w.scalar(value) if w.is_uniform(value) else of_an_active_lane(w, value))
        return
    builder, width = w.builder, w.lanes.width
    own, mask = w.vector(value), builder.unary("freeze", w.vector(chosen))
    if w.mask is not None:
        mask = builder.select(w.mask, mask, w.lanes.splat(FALSE))
    element = call.type
    assert isinstance(element, IntType)
    part = min(width, w.isa.lanes(element.bits))
    if part == width:
        w.set_vector(call, _compressed(w, own, mask, own))
        return
    room = _room(w, element, width + part)
    behind: Value = room
    for values, wanted in zip(
        in_parts(builder, own, width, part), in_parts(builder, mask, width, part), strict=True
    ):
        builder.store(_compressed(w, values, wanted, Poison(values.type)), behind, align=element.bits // 8)
        behind = builder.gep(element, behind, (_count(w, wanted),))
    found = builder.load(own.type, room, align=element.bits // 8)
    count = broadcast(builder, builder.cast("trunc", _count(w, mask), I32), w.lanes)
    taken = builder.icmp("ult", w.lanes.constant(I32, range(width)), count)
    w.set_vector(call, builder.select(taken, found, own))


def _compressed(w: Widening, values: Value, mask: Value, behind: Value) -> Value:
    """The elements of one register that are chosen, first; then those of `behind`."""
    assert isinstance(values.type, VectorType) and isinstance(values.type.element, IntType)
    if w.isa.vector_bits == _PERMUTED_BITS and values.type.count * values.type.element.bits == _PERMUTED_BITS:
        found = _permuted(w, values, mask)
        if isinstance(behind, Poison):
            return found
        count = w.builder.cast("trunc", _count(w, mask), I32)
        lanes = LaneSpace((values.type.count,))
        taken = w.builder.icmp(
            "ult", lanes.constant(I32, range(lanes.width)), broadcast(w.builder, count, lanes)
        )
        return w.builder.select(taken, found, behind)
    name = f"llvm.experimental.vector.compress.{mangled(values.type)}"
    compress = w.intrinsic(name, values.type, (values.type, mask.type, values.type))
    return w.builder.call(compress, (values, mask, behind))


def _permuted(w: Widening, values: Value, mask: Value) -> Value:
    """The chosen elements first, by a table of all masks: of each 32 bits of the register where they come from."""
    builder, type = w.builder, values.type
    assert isinstance(type, VectorType) and isinstance(type.element, IntType)
    words = type.element.bits // 32
    table = _table(w, type.count, words)
    bits = builder.cast("zext", mask_bits(builder, mask), I64)
    row = builder.load(
        VectorType(I8, type.count * words), builder.gep(table.value_type, table, (const_int(0), bits)), 1
    )
    parts = VectorType(I32, type.count * words)
    moved = permute(w, builder.cast("bitcast", values, parts), builder.cast("zext", row, parts))
    return builder.cast("bitcast", moved, type)


def _table(w: Widening, count: int, words: int) -> GlobalVariable:
    """For each mask of `count` elements, of so many words each, the words of the chosen ones."""
    name = f"weft.compact.{count}.{words}"
    known = w.module.globals.get(name)
    if known is not None:
        return known
    row_type = ArrayType(I8, count * words)
    rows: list[Value] = []
    for mask in range(1 << count):
        chosen = [lane for lane in range(count) if mask >> lane & 1]
        chosen += [0] * (count - len(chosen))
        bytes = [lane * words + word for lane in chosen for word in range(words)]
        rows.append(ConstAggregate(row_type, [ConstInt(I8, byte) for byte in bytes]))
    type = ArrayType(row_type, 1 << count)
    table = GlobalVariable(name, type, ConstAggregate(type, rows), is_constant=True)
    table.linkage.linkage = "internal"
    return w.module.add_global(table)


def _count(w: Widening, mask: Value) -> Value:
    assert isinstance(mask.type, VectorType)
    bits = mask_bits(w.builder, mask)
    if mask.type.count < 64:
        bits = w.builder.cast("zext", bits, I64)
    return w.builder.call(w.intrinsic("llvm.ctpop.i64", I64, (I64,)), (bits,))


def _room(w: Widening, element: IntType, count: int) -> Instruction:
    """A stack object of so many elements."""
    attrs = {"allocated_type": ArrayType(element, count), "align": 0, "space": 0}
    room = Instruction("alloca", PointerType(0), (ConstInt(I32, 1),), name="compact", attrs=attrs)
    return w.target.entry.insert(0, room)
