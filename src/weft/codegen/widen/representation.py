"""Which values stay scalar (Karrenberg and Hack, §3.3; Moll, ch. 10).

A value of uniform or strided shape is kept as its value in lane 0 when it can be computed from values that are
kept so themselves; lane 0 need not be active, so its value is the one the shape extrapolates. All others are
vectors. The decision is the greatest fixed point: a loop counter stays scalar because everything around its cycle
does.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Fact
from weft.analysis.shapes.shape import ACTIVE
from weft.graph.loops import loop_forest
from weft.ir import Constant, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import is_convergent
from weft.ir.intrinsics import kind_of
from weft.ir.opcodes import OPCODES
from weft.switches import ALL_ON, Switches

_EXTRAPOLATED_FORMS = {
    "binary",
    "unary",
    "cast",
    "compare",
    "select",
    "gep",
    "phi",
    "extractvalue",
    "insertvalue",
}


def scalar_values(function: Function, divergence: Divergence, switches: Switches = ALL_ON) -> set[Value]:
    """The arguments and instructions of `function` that are kept as scalars.

    With some of the `switches` off, fewer are.
    """
    scalar: set[Value] = set()
    for value in (*function.args, *function.instructions()):
        shape = divergence.shape(value)
        if not value.type.is_void and shape.is_strided:
            scalar.add(value)
    _drop_unstable(scalar, divergence)
    if not (switches.uniform_values and switches.scalar_counters):
        wanted = _behind_vector_accesses(function, divergence, scalar)
        headers = {loop.header for loop in loop_forest(cfg_of(function).cfg).loops}
        counters = {phi for k in headers for phi in cfg_of(function).blocks[k].phis()}
        for instruction in [v for v in scalar if isinstance(v, Instruction) and v not in wanted]:
            if instruction.op == "alloca" or kind_of(instruction.callee_name) is not None:
                continue
            if not switches.uniform_values or (instruction in counters and not switches.scalar_counters):
                scalar.discard(instruction)
        _drop_unstable(scalar, divergence)
    return scalar


def _behind_vector_accesses(function: Function, divergence: Divergence, scalar: set[Value]) -> set[Value]:
    """The scalars from which the addresses of vector loads and stores are computed."""
    wanted: set[Value] = set()
    work: list[Value] = [
        i.pointer
        for i in function.instructions()
        if i.op in ("load", "store") and not divergence.shape(i.pointer).is_uniform
    ]
    while work:
        value = work.pop()
        if value in scalar and value not in wanted:
            wanted.add(value)
            work.extend(value.used_values() if isinstance(value, Instruction) else ())
    return wanted


def _drop_unstable(scalar: set[Value], divergence: Divergence) -> None:
    """Take out what cannot be computed from scalars, until all that is left can."""
    work = [v for v in scalar if isinstance(v, Instruction)]
    while work:
        instruction = work.pop()
        if instruction in scalar and not _can_stay(instruction, scalar, divergence):
            scalar.discard(instruction)
            work.extend(u for u in instruction.instruction_users() if u in scalar)


def _can_stay(instruction: Instruction, scalar: set[Value], divergence: Divergence) -> bool:
    uniform = divergence.shape(instruction).is_uniform
    if instruction.op == "call":
        kind = kind_of(instruction.callee_name)
        if kind is not None:
            return uniform or instruction.callee_name in ("weft.lane.id", "weft.lane.coordinate")
        if uniform and isinstance(instruction.callee, Function) and instruction.callee.blocks:
            return True
        return uniform and _all_scalar(instruction, scalar) and depends_on_arguments_only(instruction)
    if instruction.op == "load":
        return uniform and _all_scalar(instruction, scalar)
    if instruction.op == "alloca":
        return _all_scalar(instruction, scalar)
    if OPCODES[instruction.op].form in _EXTRAPOLATED_FORMS:
        return _all_scalar(instruction, scalar) and (
            holds_at_lane_zero(instruction, divergence) or _extends_in_active_lanes(instruction, divergence)
        )
    return (
        uniform
        and instruction.op in ("extractelement", "insertelement", "shufflevector")
        and _all_scalar(instruction, scalar)
    )


def _all_scalar(instruction: Instruction, scalar: set[Value]) -> bool:
    return all(isinstance(v, Constant) or v in scalar for v in instruction.used_values())


def depends_on_arguments_only(call: Instruction) -> bool:
    """Whether a call is a function of its arguments, whatever other lanes and memory do."""
    callee = call.callee
    if not isinstance(callee, Function) or is_convergent(call):
        return False
    return any(a.startswith("memory(none)") for a in callee.attributes)


def holds_at_lane_zero(instruction: Instruction, divergence: Divergence) -> bool:
    """Whether evaluating the instruction on lane 0's operands, active or not, gives the value in lane 0.

    What was concluded from flags holds in active lanes only, so under a mask it has to be concluded without them.
    """
    block = instruction.block
    assert block is not None
    if instruction.is_phi or (block.predicate is None and not instruction.total):
        return True
    operands = divergence.engine.operands
    plan = operands.plan(instruction)
    facts = [fact or Fact(divergence.shape_in(value, block), bits) for value, bits, fact in plan.sources]
    return operands.domain.at_lane_zero(
        plan.op,
        plan.bits,
        facts,
        # Addresses in lanes' stack objects follow from the places in them.
        divergence.place_shape(instruction),
        plan.predicate,
        scales=plan.scales,
        offset=plan.offset,
    )


def _extends_in_active_lanes(extension: Instruction, divergence: Divergence) -> bool:
    """Whether a number under a mask is exact in active lanes, which are a constant distance apart in a row."""
    if extension.op not in ("sext", "zext") or extension.total or extension.block is None:
        return False
    predicate = extension.block.predicate
    if predicate is None or (isinstance(predicate, Instruction) and predicate.block is extension.block):
        return False
    shape = divergence.shape_in(extension.operands[0], extension.block)
    if len(shape.strides) != 1 or not isinstance(shape.strides[0], int):
        return False
    return (shape.nsw if extension.op == "sext" else shape.nuw) >= ACTIVE
