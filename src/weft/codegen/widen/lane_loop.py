"""Running an instruction once for each active lane, where no vector form exists.

A loop over the set bits of the mask: each turn takes one lane's operands, runs the instruction on them and puts
its result into the lane. Passive lanes never run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.codegen.widen.context import Widening, mask_bits
from weft.ir import ConstInt, Poison, Value
from weft.ir.types import I1, I64, IntType, Type, VectorType


def for_each_active_lane(
    w: Widening, result: Type, operands: Sequence[Value], body: Callable[[list[Value]], Value | None]
) -> Value | None:
    """Call `body` to build the instruction for one lane; the vector of its results, None for no result.

    `operands` are P-LLVM values; `body` receives them as scalars of the lane.
    """
    builder, width = w.builder, w.lanes.width
    pick = {v: _picker(w, w.vector(v)) for v in operands if not w.is_uniform(v)}
    if w.mask is None:
        todo: Value = ConstInt(IntType(64), (1 << width) - 1)
    else:
        todo = mask_bits(builder, w.mask)
        if width < 64:
            todo = builder.cast("zext", todo, I64)
    before = builder.block
    assert before is not None
    head = w.new_block("lanes")
    builder.br(head)
    builder.at_end(head)
    turn = w.new_block("lane")
    after = w.target.add_block("lanes.done", after=turn)
    left = builder.phi(I64, "left")
    left.add_incoming(todo, before)
    gathered = None
    if not result.is_void:
        gathered = builder.phi(w.lanes.vector(result), "gathered")
        gathered.add_incoming(Poison(w.lanes.vector(result)), before)
    builder.cond_br(builder.icmp("ne", left, ConstInt(I64, 0)), turn, after)
    builder.at_end(turn)
    count = w.intrinsic("llvm.cttz.i64", I64, (I64, I1))
    lane = builder.call(count, (left, ConstInt(I1, 1)))
    here = [pick[v](lane) if v in pick else w.scalar(v) for v in operands]
    value = body(here)
    rest = builder.binary("and", left, builder.binary("sub", left, ConstInt(I64, 1)))
    latch = builder.block
    assert latch is not None
    left.add_incoming(rest, latch)
    if gathered is not None:
        assert value is not None
        gathered.add_incoming(builder.insert_element(gathered, value, lane), latch)
    builder.br(head)
    builder.at_end(after)
    return gathered


def _picker(w: Widening, vector: Value) -> Callable[[Value], Value]:
    """What takes one lane's element out of a vector.

    Machines take elements of a number known at run time from memory; in the loop each turn would store the vector.
    """
    builder, layout = w.builder, w.module.layout
    assert isinstance(vector.type, VectorType)
    element = vector.type.element
    if layout.bit_size(element) != 8 * layout.store_size(element):
        return lambda lane: builder.extract_element(vector, lane)
    align = layout.align(element)
    slot = w.stack_slot(vector.type, align)
    builder.store(vector, slot, align)
    return lambda lane: builder.load(element, builder.gep(element, slot, (lane,)), align)
