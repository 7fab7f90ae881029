"""Narrowing of what leaves a loop: of a number that is only used in part, only that part is kept.

Precondition: loop-closed SSA; `divergence` holds for the function. Postcondition: the same program, in which
truncations of φs are taken along the edges into the φ. A divergent loop blends what leaves it in every iteration for
every lane (`divergent_loops`), in half the registers when an i64 counter ends up in an i32 array. Truncations move
into a loop only where they are scalar there, so nothing gets dearer.

Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.graph.loops import LoopForest, loop_forest
from weft.ir import BasicBlock, Builder, Constant, ConstInt, Function, Instruction, Poison, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import IntType


def narrow_live_outs(function: Function, divergence: Divergence) -> int:
    """Narrow the φs of `function` that are only truncated; how many there were."""
    work = [i for i in function.instructions() if i.op == "trunc"]
    if not work:
        return 0
    view = cfg_of(function)
    loops = loop_forest(view.cfg)
    count = 0
    while work:
        truncation = work.pop()
        phi = truncation.operands[0] if truncation.block is not None else None
        if isinstance(phi, Instruction) and _is_narrowed(phi, truncation, view, loops, divergence):
            work += _narrow(phi, truncation)
            count += 1
    return count


def _is_narrowed(
    phi: Instruction, truncation: Instruction, view: CFGView, loops: LoopForest, divergence: Divergence
) -> bool:
    """Whether the φ of a truncation can be narrowed, at no cost on the way."""
    if not phi.is_phi or phi.shadow is not None or not isinstance(phi.type, IntType):
        return False
    block = phi.block
    assert block is not None
    if loops.headed_by[view.index[block]] is not None:
        return False
    if any(u.op != "trunc" or u.type != truncation.type for u in phi.instruction_users()):
        return False
    return all(
        _is_free(value, source, block, view, loops) or divergence.shape(value).is_strided
        for value, source in phi.incoming()
    )


def _is_free(value: Value, source: BasicBlock, target: BasicBlock, view: CFGView, loops: LoopForest) -> bool:
    """Whether to truncate `value` on the edge costs no more than to do it behind."""
    if isinstance(value, Constant):
        return isinstance(value, (ConstInt, Poison))
    if isinstance(value, Instruction) and value.op in ("zext", "sext"):
        return True
    return loops.innermost[view.index[source]] is loops.innermost[view.index[target]]


def _narrow(phi: Instruction, truncation: Instruction) -> list[Instruction]:
    """Replace the truncations of `phi` by a φ of truncated values; returns the truncations that are new."""
    block, type = phi.block, truncation.type
    assert block is not None and isinstance(type, IntType)
    narrow = Builder(block).phi(type, phi.name)
    added: list[Instruction] = []
    for value, source in phi.incoming():
        known = next((v for v, s in narrow.incoming() if s is source), None)
        part = known if known is not None else _truncated(value, type, source)
        if known is None and isinstance(part, Instruction) and part.op == "trunc":
            added.append(part)
        narrow.add_incoming(part, source)
    for user in list(phi.instruction_users()):
        replace_and_erase(user, narrow)
    phi.erase()
    return added


def _truncated(value: Value, type: IntType, source: BasicBlock) -> Value:
    if isinstance(value, ConstInt):
        return ConstInt(type, value.value)
    if isinstance(value, Poison):
        return Poison(type)
    if isinstance(value, Instruction) and value.op in ("zext", "sext") and value.operands[0].type == type:
        return value.operands[0]
    return Builder(before=source.terminator).cast("trunc", value, type)
