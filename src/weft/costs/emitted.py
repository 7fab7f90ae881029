"""What each instruction of SIMD code costs: plain LLVM IR with vectors, before LLVM's pipeline.

`weft.costs.vector_code` weighs whole functions against each other; here the cycles of single instructions are told, so
that a report can say what a line of the source has become. A block counts as often as the loops around it are thought
to run, less where a branch before it says how likely its ways are (`Instruction.chance`); where that branch leaves a
loop, it says how often the loop runs.
"""

from __future__ import annotations

from weft.analysis.memory.byte_tables import blocks_of_lookup
from weft.costs.constants import constants_of
from weft.costs.instructions import (
    COPY_UPDATE,
    MATH_CALL,
    UNKNOWN,
    instruction_cost,
    lookup_cost,
    memory_cost,
)
from weft.costs.reached import reached, ways_of
from weft.costs.vector_code import SCALAR, registers_of, shuffles_of, vector_of
from weft.graph.loops import loop_forest
from weft.ir import TRUE, BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import ConstSplat
from weft.ir.effects import is_speculatable
from weft.ir.lane_steps import steps_of
from weft.ir.lane_updates import goes_to_copy
from weft.ir.layout import DataLayout
from weft.ir.types import I1, VectorType
from weft.machine.targets import Isa

SCALAR_OPS = ("atomicrmw", "cmpxchg", "fence", "udiv", "sdiv", "urem", "srem", "fdiv", "frem")
"""Instructions that cost something even if all lanes share one of them."""


def block_weights(function: Function, isa: Isa) -> dict[BasicBlock, float]:
    """How often each block that is reached is thought to run for a lane group."""
    view = cfg_of(function)
    loops, each = loop_forest(view.cfg), constants_of(isa).loop_weight
    weights = [each ** loops.depth(number) for number in range(len(view.blocks))]
    ways = [ways_of(block) for block in view.blocks]
    for number, block in enumerate(view.blocks):
        loop, targets = loops.innermost[number], [view.index[target] for target in block.successors]
        if block.terminator.chance is None or loop is None or loop.blocks.issuperset(targets):
            continue
        leaves = ways[number][0 if targets[0] not in loop.blocks else 1]
        if leaves * each >= 1:
            # That is how loops end, sooner or later.
            ways[number] = (1.0,) * len(targets)
            for inside in loop.blocks:
                weights[inside] /= leaves * each
    shares = reached(view, ways)
    return {block: weight * share for block, weight, share in zip(view.blocks, weights, shares, strict=True)}


def is_masked(instruction: Instruction) -> bool:
    """Whether an access of several lanes is made for some of them only."""
    name = instruction.callee_name or ""
    if not name.startswith("llvm.masked."):
        return False
    mask = next(a for a in instruction.args if isinstance(a.type, VectorType) and a.type.element is I1)
    return not _is_all_true(mask)


def lanes_form(instruction: Instruction) -> str:
    """How a gather or scatter is priced: ``strided``, ``gather``, or ``addresses`` where it is one under a mask."""
    if is_masked(instruction):
        return "gather" if vector_of(instruction) is instruction.type else "addresses"
    is_step = ".step." in (instruction.callee_name or "")
    return "strided" if is_step or any(steps_of(a) is not None for a in instruction.args) else "gather"


def access_of(instruction: Instruction) -> tuple[str, str] | None:
    """``load``, ``store`` or ``atomic``, and how it is made.

    That is ``uniform``, ``contiguous``, ``gather``, ``table`` or ``scatter``; ``copy`` where runs of groups update a
    copy.
    """
    op, name = instruction.op, instruction.callee_name or ""
    if op in ("load", "store"):
        return op, "contiguous" if isinstance(instruction.accessed_type, VectorType) else "uniform"
    if op in ("atomicrmw", "cmpxchg"):
        return "atomic", "copy" if goes_to_copy(instruction) else "uniform"
    if name.startswith(("llvm.masked.load", "llvm.masked.expandload")):
        return "load", "contiguous"
    if name.startswith(("llvm.masked.store", "llvm.masked.compressstore")):
        return "store", "contiguous"
    if name.startswith(("llvm.masked.gather", "weft.gather.")):
        return "load", "gather"
    if blocks_of_lookup(name) is not None:
        return "load", "table"
    return ("store", "scatter") if name.startswith(("llvm.masked.scatter", "weft.scatter.")) else None


def emitted_cycles(instruction: Instruction, layout: DataLayout, isa: Isa) -> float:
    """The cycles of one instruction, once."""
    op, name = instruction.op, instruction.callee_name or ""
    access = access_of(instruction)
    if access is not None and access[0] != "atomic":
        return _memory_cycles(instruction, *access, layout, isa)
    if goes_to_copy(instruction):
        return COPY_UPDATE
    type = vector_of(instruction)
    if not isinstance(type, VectorType):
        if op == "call":
            return (
                SCALAR
                if name.startswith(("llvm.", "weft.")) or is_speculatable(instruction)
                else UNKNOWN.cycles
            )
        bits = 8 * layout.size(type) if not type.is_void else 32
        return instruction_cost(op, bits, 1, isa).cycles if op in SCALAR_OPS else SCALAR
    bits = 8 if type.element is I1 else layout.bit_size(type.element)
    if op == "shufflevector":
        return float(shuffles_of(instruction, type, layout, isa))
    if op == "call" and not name.startswith(("llvm.", "weft.")):
        return MATH_CALL.cycles * registers_of(type, layout, isa)
    if name.startswith("llvm.vector.reduce"):
        return instruction_cost("shufflevector", bits, type.count, isa).cycles * (type.count.bit_length() - 1)
    key = ".".join(name.split(".")[:2]) if op == "call" else op
    return instruction_cost(key, bits, type.count, isa).cycles


def contiguous_cycles(instruction: Instruction, layout: DataLayout, isa: Isa) -> float:
    """What an access of all lanes would cost if they were neighbours, without a mask; 0 for one of no vector."""
    access = access_of(instruction)
    type = instruction.accessed_type if instruction.op in ("load", "store") else vector_of(instruction)
    if access is None or not isinstance(type, VectorType):
        return 0.0
    return memory_cost(access[0], "contiguous", layout.bit_size(type.element), type.count, isa).cycles


def _memory_cycles(instruction: Instruction, op: str, form: str, layout: DataLayout, isa: Isa) -> float:
    type = instruction.accessed_type if instruction.op in ("load", "store") else vector_of(instruction)
    if not isinstance(type, VectorType):
        return memory_cost(op, "uniform", 8 * layout.size(type), 1, isa).cycles
    bits = layout.bit_size(type.element)
    if (blocks := blocks_of_lookup(instruction.callee_name or "")) is not None:
        return lookup_cost(blocks, type.count, bits, isa).cycles
    if form in ("gather", "scatter"):
        return memory_cost(op, lanes_form(instruction), bits, type.count, isa).cycles
    if is_masked(instruction) and form == "contiguous":
        if not isa.masks_memory(bits):
            if op == "load":
                # All lanes load, where they are known to be in one page (`weft.target.rewrites.masked_loops`).
                return memory_cost(op, form, bits, type.count, isa).cycles + constants_of(isa).test
            # LLVM takes it apart into an access for each lane behind a test.
            return memory_cost(op, "gather", bits, type.count, isa).cycles
        slow = 0.0 if op == "load" or isa.mask_registers else constants_of(isa).slow_masked_store
        registers = registers_of(type, layout, isa)
        return memory_cost(op, form, bits, type.count, isa).cycles + registers * (0.5 + slow)
    return memory_cost(op, form, bits, type.count, isa).cycles


def _is_all_true(mask: Value) -> bool:
    return isinstance(mask, ConstSplat) and mask.element == TRUE
