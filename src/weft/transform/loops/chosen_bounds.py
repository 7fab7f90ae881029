"""What a loop asks beside its bound, and does not change, chooses the bound.

    while c and i < n: body            m = n if c else a
                                       while i < m: body          (i begins at a)

Of ``range(0 if d == 0 else n // d)`` LLVM makes the form on the left, as no counter is below 0. What transforms loops
reads how often they run from one comparison (`weft.analysis.loops.counted_loops`).

Precondition: none. Postcondition: no branch of a loop's header goes on where a comparison of a φ of the header with
what the loop does not change holds, beside conditions that the loop does not change either.
Preserves the program under FR: where such a condition does not hold, the first test fails, as a number is not below
itself, and it is the last one. The conditions and the start are frozen, as they are compared where something before
them would have ended the loop.
"""

from __future__ import annotations

from weft.graph.loops import loop_forest
from weft.ir import Argument, BasicBlock, Builder, Constant, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.transform.condition_parts import parts_of

_FAIL_AT_ONCE = frozenset({"ne", "slt", "sgt", "ult", "ugt"})
"""Comparisons that do not hold for a number and itself."""

_Conditions = list[tuple[Value, bool]]


def choose_bounds(function: Function) -> int:
    """Have conditions choose bounds of loops; of how many."""
    view = cfg_of(function)
    found = 0
    for loop in loop_forest(view.cfg).loops:
        outside = [view.blocks[p] for p in view.cfg.preds[loop.header] if p not in loop.blocks]
        if loop.is_irreducible or len(outside) != 1:
            continue
        found += _choose(view.blocks[loop.header], outside[0], {view.blocks[b] for b in loop.blocks})
    if found:
        remove_dead_instructions(function)
    return found


def _choose(header: BasicBlock, before: BasicBlock, inside: set[BasicBlock]) -> bool:
    branch = header.terminator
    if (
        branch.op != "br"
        or not branch.operands
        or branch.blocks[0] not in inside
        or branch.blocks[1] in inside
    ):
        return False
    parts = list(parts_of(branch.operands[0], holds=True))
    tests = [part for part in parts if not _is_kept(part[0], inside)]
    conditions = [part for part in parts if _is_kept(part[0], inside)]
    if len(tests) != 1 or not conditions or not tests[0][1]:
        return False
    test = tests[0][0]
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in _FAIL_AT_ONCE:
        return False
    for at in (0, 1):
        phi, bound = test.operands[at], test.operands[1 - at]
        if isinstance(phi, Instruction) and phi.is_phi and phi.block is header and _is_kept(bound, inside):
            chosen = _chosen(before, conditions, bound, _settled_start(phi, before))
            builder = Builder(before=branch)
            builder.loc = test.loc or branch.loc
            numbers = (phi, chosen) if at == 0 else (chosen, phi)
            branch.set_operand(0, builder.icmp(test.predicate, *numbers))
            return True
    return False


def _settled_start(phi: Instruction, before: BasicBlock) -> Value:
    """What a counter starts at, frozen: where no condition holds it is compared, which it was not."""
    start = phi.incoming_value(before)
    if isinstance(start, ConstInt) or (isinstance(start, Argument) and "noundef" in start.attributes):
        return start
    settled = Builder(before=before.terminator).unary("freeze", start)
    for index, (_, source) in enumerate(phi.incoming()):
        if source is before:
            phi.set_operand(index, settled)
    return settled


def _chosen(before: BasicBlock, conditions: _Conditions, bound: Value, start: Value) -> Value:
    """The bound where all conditions hold, else where the loop starts."""
    builder = Builder(before=before.terminator)
    builder.loc = before.terminator.loc
    for condition, holds in reversed(conditions):
        asked = condition if isinstance(condition, Constant) else builder.unary("freeze", condition)
        bound = builder.select(asked, bound, start) if holds else builder.select(asked, start, bound)
    return bound


def _is_kept(value: Value, inside: set[BasicBlock]) -> bool:
    return not isinstance(value, Instruction) or value.block not in inside
