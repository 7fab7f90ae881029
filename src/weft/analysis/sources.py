"""Where divergence comes from: what the result of an instruction depends on beside its operands.

One table for the analyses over gated SSA (in Sampaio et al., Fig. 10, the rules TIDD and ATMD). It follows the rules of
the engine (`weft.analysis.divergence`) but for private memory, whose contents it does not track: an address in a stack
object, and what is loaded from it, is varying.
"""

from __future__ import annotations

import re
from enum import Enum

from msgspec import Struct

from weft.analysis.uniform_functions import depends_on_operands_alone
from weft.ir import ConstInt, Function, Instruction
from weft.ir.effects import may_write
from weft.ir.intrinsics import INTRINSICS, PREFIX, IntrinsicKind, kind_of
from weft.ir.work_item_names import Meaning, meaning_of


class Origin(Enum):
    """What decides whether a result is the same in all threads of a set."""

    OPERANDS = "a function of the operands"
    COPY = "the first operand"
    LOCAL_ID = "the id of the thread in its work-group, along a dimension"
    GLOBAL_ID = "the id of the thread in the grid, along a dimension"
    LANE_ID = "the position of the thread in its lane group"
    GRID = "the same for all threads of a launch"
    GROUP = "the same for all threads of a work-group"
    LANES = "the same for all active threads of a lane group"
    SHUFFLE = "the first operand where that is the same in all threads"
    VOTE = "the same for a lane group; in wider sets a function of the operands"
    MATCH = "in a lane group a function of the operands; its own for each lane group"
    CALL = "what the called function makes of its arguments"
    THREAD = "different from thread to thread"


class Source(Struct, frozen=True):
    """The origin of a result; the dimension of an id is None where it is not known."""

    origin: Origin
    dimension: int | None = None


_WEFT = {
    "weft.shared": Origin.GROUP,
    "weft.shared.dynamic": Origin.GROUP,
    "weft.shared.dynamic.size": Origin.GRID,
    "weft.barrier.count": Origin.GROUP,
    "weft.barrier.and": Origin.GROUP,
    "weft.barrier.or": Origin.GROUP,
    "weft.mask": Origin.THREAD,
    "weft.any": Origin.VOTE,
    "weft.all": Origin.VOTE,
    "weft.match.any.i64": Origin.MATCH,
}
_MEANINGS = {
    Meaning.LOCAL_ID: Origin.LOCAL_ID,
    Meaning.GLOBAL_ID: Origin.GLOBAL_ID,
    Meaning.GROUP_ID: Origin.GROUP,
    Meaning.LANE_ID: Origin.LANE_ID,
    Meaning.LOCAL_SIZE: Origin.GRID,
    Meaning.NUM_GROUPS: Origin.GRID,
    Meaning.NUM_LANES: Origin.GRID,
    Meaning.GRID_UNIFORM: Origin.GRID,
    Meaning.GROUP_UNIFORM: Origin.GROUP,
    Meaning.LANES_UNIFORM: Origin.LANES,
}
_COPIES = re.compile(r"llvm\.(expect|launder\.invariant\.group|strip\.invariant\.group)\.")

OPERANDS = Source(Origin.OPERANDS)
THREAD = Source(Origin.THREAD)


def source_of(instruction: Instruction) -> Source:
    """The origin of an instruction's result, φs aside."""
    op = instruction.op
    if op == "call":
        return _source_of_call(instruction)
    if op == "alloca":
        # A place of its own for each thread.
        return THREAD
    if op == "load":
        return THREAD if instruction.is_ordered else OPERANDS
    if may_write(instruction):
        # Atomic operations: each thread sees what those before it left.
        return THREAD
    return OPERANDS


def _source_of_call(call: Instruction) -> Source:
    name = call.callee_name or ""
    row = meaning_of(name) if name else None
    if row is not None:
        origin = _MEANINGS.get(row.meaning, Origin.THREAD)
        return Source(origin, _dimension(call) if row.dimension is None else row.dimension)
    if name in INTRINSICS:
        return _source_of_intrinsic(name)
    if _COPIES.match(name):
        return Source(Origin.COPY)
    callee = call.callee
    if isinstance(callee, Function):
        if callee.blocks:
            return Source(Origin.CALL)
        if depends_on_operands_alone(call):
            return OPERANDS
    return THREAD


def _source_of_intrinsic(name: str) -> Source:
    origin = _WEFT.get(name)
    if origin is not None:
        return Source(origin)
    if name.startswith(("weft.shfl.", "weft.extract.", "weft.compact.", PREFIX)):
        return Source(Origin.SHUFFLE)
    return Source(Origin.LANES) if kind_of(name) is IntrinsicKind.HORIZONTAL else THREAD


def _dimension(call: Instruction) -> int | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ConstInt) else None
