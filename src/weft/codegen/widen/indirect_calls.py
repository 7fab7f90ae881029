"""Calls through pointers: a loop over the distinct targets, each called once for all lanes that have it.

Each turn takes the target of the first lane that is left, and the lanes with the same one::

    left = active lanes
    while left:
        target = callee of the first lane in left
        same   = lanes of left whose callee is target
        if target is f:  result = f for W lanes (arguments, same)      for each function that is known
        else:            result = target(arguments of the lane), lane by lane, for each lane in same
        left = left without same

Known are the functions of the program whose address it takes and which can be vectorized.
"""

from __future__ import annotations

from msgspec.structs import replace

from weft.analysis.memory.address_taken import address_taken
from weft.codegen.widen.context import Widening, broadcast, mask_bits
from weft.codegen.widen.lane_loop import for_each_active_lane
from weft.codegen.widen.simd_calls import SimdFunction, signature_of_call, simd_arguments
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Poison, Value
from weft.ir.types import I1, I64, VectorType, int_type

MAX_TARGETS = 8
"""Functions that are compared with; what leads to others runs lane by lane."""


def known_targets(w: Widening, call: Instruction) -> list[Function]:
    """The functions of the program that an indirect call may lead to."""
    fn_type = call.attrs["fn_type"]
    return [f for f in address_taken(w.module) if f.blocks and f.fn_type == fn_type]


def widen_indirect_call(w: Widening, call: Instruction, targets: list[Function]) -> bool:
    """Widen the call; whether each lane that has one of `targets` is served by a SIMD function."""
    signature = replace(signature_of_call(w, call), masked=True)
    simds = [(f, v) for f in targets[:MAX_TARGETS] if (v := w.find_simd(f, signature)) is not None]
    builder, width = w.builder, w.lanes.width
    # What a passive lane would call is poison, and must not get into the numbers of the others.
    callees = builder.unary("freeze", w.vector(call.callee))
    active = mask_bits(builder, w.active())
    todo = active if width == 64 else builder.cast("zext", active, I64)
    # Operands that become vectors have to do so before the loop.
    for argument in call.args:
        if not w.is_uniform(argument):
            w.vector(argument)
    before = builder.block
    assert before is not None
    head = w.new_block("targets")
    builder.br(head)
    builder.at_end(head)
    turn = w.new_block("target")
    after = w.target.add_block("targets.done", after=turn)
    left = builder.phi(I64, "left")
    left.add_incoming(todo, before)
    result = None if call.type.is_void else w.lanes.vector(call.type)
    gathered = None if result is None else builder.phi(result, "gathered")
    if gathered is not None:
        gathered.add_incoming(Poison(gathered.type), before)
    builder.cond_br(builder.icmp("ne", left, ConstInt(I64, 0)), turn, after)
    builder.at_end(turn)
    count = w.intrinsic("llvm.cttz.i64", I64, (I64, I1))
    target = builder.extract_element(callees, builder.call(count, (left, ConstInt(I1, 1))))
    equal = mask_bits(builder, builder.icmp("eq", callees, broadcast(builder, target, w.lanes)))
    if width < 64:
        equal = builder.cast("zext", equal, I64)
    same = builder.binary("and", left, equal)
    narrow = same if width == 64 else builder.cast("trunc", same, int_type(width))
    mask = builder.cast("bitcast", narrow, w.lanes.vector(I1))
    returned = _call_target(w, call, target, mask, simds, result)
    left.add_incoming(builder.binary("xor", left, same), _here(w))
    if gathered is not None:
        assert returned is not None
        gathered.add_incoming(builder.select(mask, returned, gathered), _here(w))
    builder.br(head)
    builder.at_end(after)
    if gathered is not None:
        w.set_vector(call, gathered)
    return len(simds) == len(targets) > 0


def _call_target(
    w: Widening,
    call: Instruction,
    target: Value,
    mask: Value,
    simds: list[tuple[Function, SimdFunction]],
    result: VectorType | None,
) -> Value | None:
    """Call `target` for the lanes of `mask`, all of which have it; the vector of what they get."""
    builder = w.builder
    joined: list[tuple[Value | None, BasicBlock]] = []
    done: list[BasicBlock] = []
    for function, simd in simds:
        known = w.new_block("known")
        other = w.target.add_block("other", after=known)
        builder.cond_br(builder.icmp("eq", target, function), known, other)
        builder.at_end(known)
        value: Value = builder.call(simd.function, [*simd_arguments(w, call, simd), mask])
        assert isinstance(value, Instruction)
        value.loc = call.loc
        if result is not None and simd.uniform_result:
            value = broadcast(builder, value, w.lanes)
        joined.append((value, known))
        done.append(known)
        builder.at_end(other)

    def body(here: list[Value]) -> Value:
        copy = Instruction("call", call.type, [*here, target], attrs=call.attrs, loc=call.loc)
        return builder.insert(copy)

    around, w.mask = w.mask, mask
    joined.append((for_each_active_lane(w, call.type, call.args, body), _here(w)))
    w.mask = around
    merge = w.new_block("called")
    for block in (*done, _here(w)):
        builder.at_end(block)
        builder.br(merge)
    builder.at_end(merge)
    if result is None:
        return None
    value = builder.phi(result)
    assert isinstance(value, Instruction)
    for returned, block in joined:
        assert returned is not None
        value.add_incoming(returned, block)
    return value


def _here(w: Widening) -> BasicBlock:
    assert w.builder.block is not None
    return w.builder.block
