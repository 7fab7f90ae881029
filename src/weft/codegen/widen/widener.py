"""Widening a function to W lanes (Moll, ch. 3).

Precondition: control-uniform P-LLVM (`transform.linearize`) without barriers, aggregates or short vectors, and its
divergence. Postcondition: a plain LLVM function that does for W threads what the source does for one, lanes being
vector elements. Its parameters are those of the source: scalars where the shape is uniform or strided (then the
value in lane 0), vectors where it varies. A uniform result is a scalar too. Uniform control flow stays as it is,
blocks with a predicate are masked.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from weft.analysis.divergence import Divergence
from weft.analysis.memory.promises import Promise
from weft.codegen.widen.active_lane import of_a_lane, of_an_active_lane
from weft.codegen.widen.atomics import widen_atomic
from weft.codegen.widen.attributes import function_attributes, parameter_attributes
from weft.codegen.widen.block_writes import widen_block_write
from weft.codegen.widen.calls import FindMath, widen_call, widen_lane_by_lane
from weft.codegen.widen.chunked import forget_pieces
from weft.codegen.widen.compare_exchange import is_old_value, widen_compare_exchange
from weft.codegen.widen.context import Widening, any_lane
from weft.codegen.widen.elementwise import is_elementwise, widen_scalar, widen_vector
from weft.codegen.widen.extensions import widen_extension
from weft.codegen.widen.horizontal import widen_horizontal
from weft.codegen.widen.lane_counts import LaneCounts
from weft.codegen.widen.lane_expressions import LoadedPieces
from weft.codegen.widen.lane_updates import widen_lane_update
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.widen.memory import widen_load, widen_store
from weft.codegen.widen.representation import scalar_values
from weft.codegen.widen.simd_calls import FindSimd
from weft.codegen.widen.stack import widen_alloca, widen_step
from weft.codegen.widen.stack_objects import PlacedDivergence
from weft.codegen.widen.volatile import is_volatile_in_shared, widen_volatile
from weft.diag.errors import UnsupportedError
from weft.graph.cfg import reverse_postorder
from weft.ir import TRUE, BasicBlock, Constant, ConstInt, Function, Instruction, Module, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_view import cfg_of
from weft.ir.lane_updates import goes_to_copy, is_lane_update
from weft.ir.loop_metadata import unrolling
from weft.ir.types import VOID, FunctionType
from weft.ir.values import Argument
from weft.machine.host import chosen
from weft.machine.targets import Isa
from weft.switches import ALL_ON, Switches


class WideningNotes(Struct):
    """What widening did that a user may want to know: instructions by what became of them."""

    notes: list[tuple[Instruction, str]] = field(default_factory=list)
    scalar: int = 0
    vector: int = 0

    def add(self, instruction: Instruction, what: str) -> None:
        self.notes.append((instruction, what))


def widen_function(
    module: Module,
    source: Function,
    divergence: Divergence,
    lanes: LaneSpace,
    name: str,
    find_math: FindMath = lambda callee, lanes: None,
    isa: Isa | None = None,
    find_simd: FindSimd = lambda function, signature: None,
    into: Function | None = None,
    entry_mask: Argument | None = None,
    scalar_result: bool = True,
    switches: Switches = ALL_ON,
    promise: Promise | None = None,
) -> tuple[Function, WideningNotes]:
    """Add the SIMD version of `source` to `module` under `name`; `isa` is the host's unless given.

    Parameters
    ----------
    find_simd
        Finds versions of called functions.
    into
        The declaration that becomes the version; its type says whether the result is one for all lanes.
    scalar_result
        Whether a uniform result is returned as one value, not as a vector.
    entry_mask
        The parameter that says which lanes the function is called for, if it may be a part of them.
    switches
        What stays scalar.
    promise
        What the launcher promises of the arguments; says afterwards whether it was needed.
    """
    divergence = PlacedDivergence(divergence, lanes)
    kept = scalar_values(source, divergence, switches)
    params = tuple(a.type if a in kept else lanes.vector(a.type) for a in source.args)
    if into is None:
        result = source.fn_type.result
        if not (result.is_void or (scalar_result and _returns_scalar(source, divergence, kept))):
            result = lanes.vector(result)
        into = module.add_function(
            Function(name, FunctionType(result, params), tuple(a.name for a in source.args))
        )
    target = into
    assert target.fn_type.params == params
    target.attributes = function_attributes(source, params)
    target.metadata = []
    notes = WideningNotes()
    w = Widening(module, source, target, lanes, divergence, kept, notes.add, isa or chosen().isa, promise)
    w.find_simd = find_simd
    for old, new in zip(source.args, target.args, strict=True):
        if old in kept:
            new.attributes = parameter_attributes(old, target.fn_type.result, entry_mask is not None)
            w.set_scalar(old, new)
        else:
            w.set_vector(old, new)
    if entry_mask is not None:
        w.entry_mask = w.vectors[entry_mask]
    order = [source.blocks[i] for i in reverse_postorder(cfg_of(source).cfg.succs)]
    for block in order:
        w.starts[block] = w.ends[block] = target.add_block(block.name)
    phis: list[Instruction] = []
    counts = LaneCounts(w) if switches.count_lanes else None
    for block in order:
        _widen_block(w, block, find_math, phis, counts)
    for phi in phis:
        _connect_phi(w, phi)
    notes.scalar, notes.vector = len(w.scalars), len(w.vectors)
    return target, notes


def _returns_scalar(source: Function, divergence: Divergence, kept: set[Value]) -> bool:
    """Whether all lanes return the same value, and each return has it as a scalar."""
    returned = [b.terminator.operands[0] for b in source.blocks if b.terminator.op == "ret"]
    return divergence.result.is_uniform and all(isinstance(v, Constant) or v in kept for v in returned)


def _widen_block(
    w: Widening, block: BasicBlock, find_math: FindMath, phis: list[Instruction], counts: LaneCounts | None
) -> None:
    w.builder.at_end(w.starts[block])
    w.mask = None
    w.pieces = LoadedPieces()
    for phi in block.phis():
        _start_phi(w, phi)
        phis.append(phi)
    predicate = block.predicate
    pending_predicate = (
        isinstance(predicate, Instruction) and predicate.block is block and not predicate.is_phi
    )
    if predicate is not None and not pending_predicate:
        w.mask = _mask_of(w, predicate)
    for instruction in block.non_phis():
        mask = w.mask
        if counts is not None:
            counts.note(instruction)
            if instruction.is_terminator:
                counts.add()
            if instruction.op == "ret":
                counts.tell()
        if instruction.total:
            w.mask = None
        _widen_instruction(w, instruction, find_math)
        forget_pieces(w, instruction)
        w.mask = mask
        if instruction is predicate:
            w.mask = _mask_of(w, instruction)
    assert w.builder.block is not None
    w.ends[block] = w.builder.block


def _mask_of(w: Widening, predicate: Value) -> Value | None:
    if predicate == TRUE:
        return None
    mask = w.vector(predicate)
    w.mask_conditions[mask] = predicate
    return mask


def _start_phi(w: Widening, phi: Instruction) -> None:
    w.builder.loc = phi.loc
    if phi in w.kept:
        w.set_scalar(phi, w.builder.phi(phi.type, phi.name))
    else:
        w.set_vector(phi, w.builder.phi(w.lanes.vector(phi.type), phi.name))


def _connect_phi(w: Widening, phi: Instruction) -> None:
    built = w.scalars[phi] if phi in w.kept else w.vectors[phi]
    assert isinstance(built, Instruction)
    for value, source in phi.incoming():
        built.add_incoming(w.scalar(value) if phi in w.kept else w.vector(value), w.ends[source])


def _widen_instruction(w: Widening, instruction: Instruction, find_math: FindMath) -> None:
    op = instruction.op
    w.builder.loc = instruction.loc
    if instruction.is_terminator:
        _TERMINATORS[op](w, instruction)
    elif instruction.is_plain_access:
        if w.mask is None and not instruction.total:
            w.accessed_by_all.add(instruction)
        (widen_load if op == "load" else widen_store)(w, instruction)
    elif is_volatile_in_shared(instruction):
        widen_volatile(w, instruction)
    elif instruction in w.updates:
        # Its store makes it.
        pass
    elif is_lane_update(instruction):
        widen_lane_update(w, instruction)
    elif op == "atomicrmw" and widen_atomic(w, instruction):
        w.remark(instruction, "combined")
    elif goes_to_copy(instruction):
        widen_lane_update(w, instruction)
    elif op == "cmpxchg":
        w.remark(instruction, "lane by lane")
        widen_compare_exchange(w, instruction)
    elif is_old_value(instruction):
        w.set_vector(instruction, w.vector(instruction.operands[0]))
    elif op in ("load", "store", "atomicrmw"):
        w.remark(instruction, "lane by lane")
        widen_lane_by_lane(w, instruction)
    elif op == "fence":
        w.builder.insert(instruction.clone())
    elif op == "alloca":
        widen_alloca(w, instruction)
    elif op == "getelementptr" and widen_step(w, instruction):
        pass
    elif op == "call":
        if not (widen_horizontal(w, instruction) or widen_block_write(w, instruction)):
            widen_call(w, instruction, find_math)
    elif instruction in w.kept:
        if not widen_extension(w, instruction):
            widen_scalar(w, instruction)
    elif is_elementwise(instruction):
        widen_vector(w, instruction)
    else:
        raise UnsupportedError(f"{op} of {instruction.type} has no vector form")


def _widen_branch(w: Widening, branch: Instruction) -> None:
    targets = [w.starts[t] for t in branch.blocks]
    operands = [_uniform_condition(w, branch.operands[0])] if branch.operands else []
    made = w.builder.insert(Instruction("br", VOID, operands, blocks=targets, attrs=branch.attrs))
    if (wish := unrolling(branch)) is not None:
        made.set_metadata("llvm.loop", wish)
    if branch.chance is not None and branch.chance * OFTEN < 1:
        weigh(made, 1, OFTEN)


def _uniform_condition(w: Widening, condition: Value) -> Value:
    """The condition of a uniform branch; one kept as a vector is the same in each active lane."""
    if w.is_uniform(condition):
        return w.scalar(condition)
    vector = w.vector(condition)
    if w.mask is not None:
        vector = w.builder.select(w.mask, vector, w.lanes.splat(ConstInt(condition.type, 0)))  # type: ignore[arg-type]
    return any_lane(w.builder, vector)


def _widen_switch(w: Widening, switch: Instruction) -> None:
    targets = [w.starts[t] for t in switch.blocks]
    value = switch.operands[0]
    chosen = w.scalar(value) if w.is_uniform(value) else of_an_active_lane(w, value)
    w.builder.insert(Instruction("switch", VOID, [chosen], blocks=targets, attrs=switch.attrs))


def _widen_ret(w: Widening, ret: Instruction) -> None:
    if not ret.operands:
        w.builder.ret()
    elif w.target.fn_type.result == ret.operands[0].type:
        value = ret.operands[0]
        w.builder.ret(w.scalar(value) if w.is_uniform(value) else of_a_lane(w, value, w.entry_mask))
    else:
        w.builder.ret(w.vector(ret.operands[0]))


def _widen_unreachable(w: Widening, unreachable: Instruction) -> None:
    w.builder.unreachable()


_TERMINATORS: dict[str, Callable[[Widening, Instruction], None]] = {
    "br": _widen_branch,
    "switch": _widen_switch,
    "ret": _widen_ret,
    "unreachable": _widen_unreachable,
}
