"""Choices that a branch has decided are no choices on its ways.

    s = select c, 1, 0                           return i from within a loop, as compilers write it
    r = select c, i, r0                          where variables of the body end their lives
    if s == 0: (r0 = φ(.., r)) else: ...         if c: r is i; else r is r0, which nobody changes

A comparison of a choice between two constants with a constant is the condition of the choice, or its opposite. What a φ
takes on an edge is one arm of a choice that a branch on the one way to that edge has made. A φ that hands on itself is
what it began with.

Precondition: P-LLVM in SSA. Postcondition: no φ has an operand which the branch of its edge decides. Preserves the
program under FR: a branch on poison is no program.
"""

from __future__ import annotations

from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value


def decide_choices(function: Function) -> int:
    """Take away the choices of a function that branches decide; how many operands changed."""
    changed = 0
    for block in function.blocks:
        branch = block.terminator
        if branch.op != "br" or not branch.operands or branch.blocks[0] is branch.blocks[1]:
            continue
        condition, if_true = _condition(branch.operands[0])
        if condition is not branch.operands[0]:
            _branch_on(branch, condition, if_true)
            changed += 1
    for block in function.blocks:
        for phi in block.phis():
            changed += _decide(phi)
    for block in function.blocks:
        for phi in list(block.phis()):
            values = [v for v in phi.operands if v is not phi]
            if values and all(v is values[0] for v in values) and len(values) < len(phi.operands):
                phi.replace_all_uses(values[0])
                phi.drop_operands()
                phi.erase()
                changed += 1
    return changed


def _condition(value: Value) -> tuple[Value, bool]:
    """What a comparison of a choice between constants asks for, and whether it has to hold."""
    if not isinstance(value, Instruction) or value.op != "icmp" or value.predicate not in ("eq", "ne"):
        return value, True
    choice, number = value.operands
    if not isinstance(choice, Instruction) or choice.op != "select" or not isinstance(number, ConstInt):
        return value, True
    condition, a, b = choice.operands
    if not isinstance(a, ConstInt) or not isinstance(b, ConstInt) or (a == number) == (b == number):
        return value, True
    return condition, (a == number) == (value.predicate == "eq")


def _branch_on(branch: Instruction, condition: Value, if_true: bool) -> None:
    branch.set_operand(0, condition)
    if not if_true:
        first, second = branch.blocks
        branch.set_block(0, second)
        branch.set_block(1, first)


def _decide(phi: Instruction) -> int:
    """Take the arms of choices among a φ's operands; how many."""
    changed = 0
    for index, (value, source) in enumerate(list(phi.incoming())):
        if isinstance(value, Instruction) and value.op == "select" and phi.block is not None:
            holds = _holds(value.operands[0], source, phi.block)
            if holds is not None:
                phi.set_operand(index, value.operands[1 if holds else 2])
                changed += 1
    return changed


def _holds(condition: Value, block: BasicBlock, target: BasicBlock) -> bool | None:
    """What a condition is on an edge, by the branches on the one way that leads there."""
    seen: set[BasicBlock] = set()
    while block not in seen:
        seen.add(block)
        branch = block.terminator
        ways = branch.blocks
        if (
            branch.op == "br"
            and branch.operands
            and ways[0] is not ways[1]
            and branch.operands[0] is condition
        ):
            return ways[0] is target
        if len(block.predecessors) != 1:
            return None
        block, target = block.predecessors[0], block
    return None
