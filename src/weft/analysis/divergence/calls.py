"""Transfer functions of calls: intrinsics of weft, LLVM and other compilers, known and unknown functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from weft.analysis.divergence.memory import visit_block_write
from weft.analysis.divergence.operands import ELEMENTWISE
from weft.analysis.divergence.queries import like, query_shape, same_for_group
from weft.analysis.divergence.threads import Scope
from weft.analysis.memory.stack_objects import is_block_write
from weft.analysis.shapes import BOTTOM, Fact, Shape
from weft.analysis.uniform_functions import depends_on_operands_alone
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.intrinsics import INTRINSICS, PREFIX, IntrinsicKind, kind_of
from weft.ir.work_item_names import Meaning, meaning_of

if TYPE_CHECKING:
    from weft.analysis.divergence.engine import Engine

_LATTICE_INTRINSIC = re.compile(r"llvm\.(umin|umax|smin|smax|abs|ptrmask)\.")
_SAME_FOR_GROUP = {"weft.barrier.count", "weft.barrier.and", "weft.barrier.or"}
_COPIES = ("llvm.expect.", "llvm.launder.invariant.group.", "llvm.strip.invariant.group.")


def is_barrier(instruction: Instruction) -> bool:
    """Whether the instruction is a barrier of the work-group, of weft or another compiler."""
    name = instruction.callee_name
    if name is None:
        return False
    if kind_of(name) is IntrinsicKind.BARRIER:
        return True
    foreign = meaning_of(name)
    return foreign is not None and foreign.meaning is Meaning.BARRIER


def visit_call(engine: Engine, call: Instruction) -> Shape | None:
    """The shape of a call's result, and what the call does to stack objects."""
    name = call.callee_name
    if name is not None:
        row = meaning_of(name)
        if row is not None:
            dimension = row.dimension if row.dimension is not None else _constant_argument(call)
            return None if call.type.is_void else query_shape(engine, call, row.meaning, dimension)
        if name in INTRINSICS:
            return _visit_weft(engine, call, name)
        if is_block_write(call):
            return visit_block_write(engine, call)
    if call.type.is_void:
        callee = call.callee
        if isinstance(callee, Function) and callee.blocks:
            _visit_defined(engine, call, callee)
        return None
    if name is not None and name.startswith("llvm."):
        return _visit_llvm(engine, call, name)
    callee = call.callee
    if isinstance(callee, Function) and callee.blocks:
        return _visit_defined(engine, call, callee)
    if depends_on_operands_alone(call):
        return elementwise(engine, call, call.args)
    return engine.varying(call)


def elementwise(engine: Engine, result: Instruction, operands: list[Value]) -> Shape:
    """A function of its operands; the number of a private address differs from thread to thread."""
    shapes = [engine.shape(v, result) for v in operands]
    if any(s.is_bottom for s in shapes):
        return BOTTOM
    if any(engine.leads_to_stack(v) for v in operands):
        return engine.varying(result)
    return like(engine, result, *shapes)


def _constant_argument(call: Instruction) -> int | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ConstInt) else None


def _visit_weft(engine: Engine, call: Instruction, name: str) -> Shape | None:
    if call.type.is_void:
        return None
    if kind_of(name) is IntrinsicKind.SHARED:
        # The same object for a work-group, another one for the next.
        return same_for_group(engine, call)
    if name == "weft.mask":
        assert call.block is not None
        # It is assigned on all threads: varying as soon as some of them may not be active.
        shape = engine.threads.domain.uniform(1)
        return engine.operands.vary(shape, 1, engine.control.partial(engine.blocks[call.block]))
    if name in _SAME_FOR_GROUP:
        return same_for_group(engine, call)
    return _visit_horizontal(engine, call, name)


def _visit_horizontal(engine: Engine, call: Instruction, name: str) -> Shape:
    """An operation over the active lanes of a lane group: one result for all of them, but for shuffles."""
    shapes = [engine.shape(v, call) for v in call.args]
    if any(s.is_bottom for s in shapes):
        return BOTTOM
    one_group = engine.threads.scope is Scope.LANES
    if name in ("weft.any", "weft.all"):
        return engine.uniform(call) if one_group else like(engine, call, *shapes)
    if name.startswith("weft.shfl."):
        value, lane = shapes[0], call.args[1]
        if value.is_uniform:
            return like(engine, call, value)
        # Lane 0 always exists; when all threads are active it is active, too, and nobody keeps the own value.
        first = isinstance(lane, ConstInt) and lane.value == 0
        if one_group and first and not engine.partial(call):
            return engine.uniform(call)
        return engine.varying(call)
    if name.startswith(("weft.extract.", "weft.compact.")):
        value, which = shapes
        if value.is_uniform:
            return like(engine, call, value)
        one_lane = name.startswith("weft.extract.") and one_group and which.is_uniform
        return engine.uniform(call) if one_lane else engine.varying(call)
    if name.startswith(PREFIX):
        return engine.varying(call)
    if name == "weft.match.any.i64":
        # All lanes have the same value: each gets the set of all active lanes.
        return engine.uniform(call) if one_group and shapes[0].is_uniform else engine.varying(call)
    return engine.uniform(call) if one_group else engine.varying(call)


def _visit_llvm(engine: Engine, call: Instruction, name: str) -> Shape:
    match = _LATTICE_INTRINSIC.match(name)
    if match and engine.bits(call) and not any(engine.leads_to_stack(v) for v in call.args[1:]):
        op = match[1]
        count = 1 if op == "abs" else 2
        facts = [_fact(engine, v, call) for v in call.args[:count]]
        ranges = engine.ranges
        return engine.threads.domain.transfer(
            op, (), engine.bits(call), facts, bounds=ranges.of(call) if ranges is not None else None
        )
    if name.startswith(_COPIES):
        return engine.shape(call.args[0], call)
    if not depends_on_operands_alone(call):
        return engine.varying(call)
    facts = [_fact(engine, v, call) for v in call.args]
    if any(engine.leads_to_stack(v) for v in call.args):
        return engine.varying(call)
    return engine.threads.domain.transfer(ELEMENTWISE, (), engine.bits(call), facts)


def _fact(engine: Engine, value: Value, user: Instruction) -> Fact:
    if not value.tracks_users:
        return engine.operands.constant(value)
    bits = engine.bits(value)
    ranges = engine.ranges
    return Fact(
        engine.shape(value, user),
        bits,
        None,
        ranges.at(value, user.block) if ranges is not None and bits else None,
    )


def _visit_defined(engine: Engine, call: Instruction, callee: Function) -> Shape:
    """A function of this module: its summary for the shapes of these arguments."""
    arguments: list[Shape] = []
    for value in call.args:
        shape = engine.shape(value, call)
        if shape.is_bottom:
            return BOTTOM
        # To the callee a private address is a number: another one for every thread.
        arguments.append(engine.varying(value) if engine.leads_to_stack(value) else shape)
    if callee.fn_type.vararg:
        return engine.varying(call)
    return engine.summaries.result(engine, callee, tuple(arguments), bool(engine.partial(call)))
