"""Shuffles and matches: lanes read the values of others.

A lane reads another one only where that one is active, and keeps its own value elsewhere. Where the lane numbers are
constants, as in a reduction or a butterfly, a shuffle is one ``shufflevector``. Else it is a permutation of registers
(`permute`).
"""

from __future__ import annotations

from weft.codegen.widen.active_lane import of_an_active_lane
from weft.codegen.widen.context import Widening, broadcast, mask_bits
from weft.codegen.widen.permute import permute
from weft.ir import FALSE, ConstInt, Instruction, Poison, Value
from weft.ir.types import I1, I32, I64, IntType, VectorType, int_type
from weft.transform.groups.folded_numbers import Known, computed


def widen_shuffle(w: Widening, call: Instruction) -> None:
    """``weft.shfl.idx``: the value of the lane that the second argument names."""
    value, source = call.args
    if call in w.kept:
        w.set_scalar(call, w.scalar(value) if w.is_uniform(value) else of_an_active_lane(w, value))
        return
    lanes = lane_numbers(source, w.lanes.width)
    if lanes is not None:
        w.set_vector(call, _constant_shuffle(w, w.vector(value), lanes))
    elif w.is_uniform(source):
        w.set_vector(call, _read_one(w, w.vector(value), w.scalar(source)))
    else:
        w.set_vector(call, _permuted(w, w.vector(value), w.vector(source)))


def _constant_shuffle(w: Widening, own: Value, lanes: list[int]) -> Value:
    width = w.lanes.width
    pattern = [source if source < width else lane for lane, source in enumerate(lanes)]
    moved = w.builder.shuffle(own, Poison(own.type), pattern)
    if w.mask is None:
        return moved
    return w.builder.select(w.builder.shuffle(w.mask, Poison(w.mask.type), pattern), moved, own)


def _read_one(w: Widening, own: Value, source: Value) -> Value:
    """All lanes read the same one."""
    builder, width = w.builder, w.lanes.width
    assert isinstance(source.type, IntType)
    there: Value = builder.icmp("ult", source, ConstInt(source.type, width))
    lane = builder.binary("and", source, ConstInt(source.type, width - 1))
    if w.mask is not None:
        there = builder.select(there, builder.extract_element(w.mask, lane), FALSE)
    moved = broadcast(builder, builder.extract_element(own, lane), w.lanes)
    return builder.select(there, moved, own)


def _permuted(w: Widening, own: Value, source: Value) -> Value:
    builder, width = w.builder, w.lanes.width
    assert isinstance(source.type, VectorType)
    number = source.type.element
    assert isinstance(number, IntType)
    there: Value = builder.icmp("ult", source, w.lanes.splat(ConstInt(number, width)))
    lane = builder.binary("and", source, w.lanes.splat(ConstInt(number, width - 1)))
    if w.mask is not None:
        there = builder.select(there, _active_at(w, w.mask, lane), w.lanes.splat(FALSE))
    return builder.select(there, permute(w, own, lane), own)


def _active_at(w: Widening, mask: Value, lane: Value) -> Value:
    """Whether the lanes with these numbers are active: their bits of the mask, shifted down."""
    builder = w.builder
    word = int_type(max(w.lanes.width, 32))
    bits = mask_bits(builder, mask)
    if bits.type is not word:
        bits = builder.cast("zext", bits, word)
    if lane.type != w.lanes.vector(word):
        lane = builder.cast("zext", lane, w.lanes.vector(word))
    return builder.cast(
        "trunc", builder.binary("lshr", broadcast(builder, bits, w.lanes), lane), w.lanes.vector(I1)
    )


def widen_extract(w: Widening, call: Instruction) -> None:
    """``weft.extract``: as a shuffle, but for lanes that are not there, of which any value will do."""
    value, source = call.args
    if call in w.kept:
        w.set_scalar(call, w.scalar(value) if w.is_uniform(value) else _taken_out(w, value, source))
        return
    lanes = lane_numbers(source, w.lanes.width)
    own = w.vector(value)
    if lanes is not None:
        pattern = [lane if lane < w.lanes.width else -1 for lane in lanes]
        w.set_vector(call, w.builder.shuffle(own, Poison(own.type), pattern))
    elif w.is_uniform(source):
        w.set_vector(call, broadcast(w.builder, _taken_out(w, value, source), w.lanes))
    else:
        numbers = w.vector(source)
        last = w.lanes.splat(ConstInt(I32, w.lanes.width - 1))
        w.set_vector(call, permute(w, own, w.builder.binary("and", numbers, last)))


def _taken_out(w: Widening, value: Value, source: Value) -> Value:
    """The value in the lane that `source`, the same for all lanes, names."""
    lane = w.scalar(source) if w.is_uniform(source) else of_an_active_lane(w, source)
    return w.builder.extract_element(w.vector(value), lane)


def widen_match(w: Widening, call: Instruction) -> None:
    """``weft.match.any``: for each lane the set of lanes with its value, in a loop over the distinct values."""
    builder = w.builder
    active = mask_bits(builder, w.active())
    todo = active if active.type is I64 else builder.cast("zext", active, I64)
    if call in w.kept:
        w.set_scalar(call, todo)
        return
    # Poison has one value for all turns, so that each takes at least its own lane.
    value = builder.unary("freeze", w.vector(call.args[0]))
    before = builder.block
    assert before is not None
    head = w.new_block("values")
    builder.br(head)
    builder.at_end(head)
    turn = w.new_block("value")
    after = w.target.add_block("values.done", after=turn)
    left = builder.phi(I64, "left")
    left.add_incoming(todo, before)
    found = builder.phi(w.lanes.vector(I64), "found")
    found.add_incoming(Poison(found.type), before)
    builder.cond_br(builder.icmp("ne", left, ConstInt(I64, 0)), turn, after)
    builder.at_end(turn)
    count = w.intrinsic("llvm.cttz.i64", I64, (I64, I1))
    lane = builder.call(count, (left, ConstInt(I1, 1)))
    chosen = broadcast(builder, builder.extract_element(value, lane), w.lanes)
    same: Value = builder.icmp("eq", value, chosen)
    if w.mask is not None:
        same = builder.select(w.mask, same, w.lanes.splat(FALSE))
    bits = mask_bits(builder, same)
    if bits.type is not I64:
        bits = builder.cast("zext", bits, I64)
    found.add_incoming(builder.select(same, broadcast(builder, bits, w.lanes), found), turn)
    left.add_incoming(builder.binary("xor", left, bits), turn)
    builder.br(head)
    builder.at_end(after)
    w.set_vector(call, found)


def lane_numbers(value: Value, width: int) -> list[int] | None:
    """The value in each lane, of a function of the lane id alone; None when it is none that is known here."""
    if isinstance(value, ConstInt):
        return [value.value] * width
    if not isinstance(value, Instruction) or not isinstance(value.type, IntType):
        return None
    if value.callee_name == "weft.lane.id":
        return list(range(width))
    if value.callee_name == "weft.num.lanes":
        return [width] * width
    if value.is_phi:
        return None
    operands: list[Known] = []
    for operand in value.args if value.op == "call" else value.operands:
        numbers = lane_numbers(operand, width)
        if numbers is None:
            return None
        operands.append(tuple(numbers))
    found = computed(value, operands) if operands else None
    return list(found) if isinstance(found, tuple) else None
