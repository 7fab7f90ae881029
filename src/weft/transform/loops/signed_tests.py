"""Unsigned tests of numbers that have the same sign are signed ones.

LLVM writes ``i < n`` of a counter from 0 as ``icmp samesign ult`` where it knows that n is not negative, as extents of
arrays are. Which loops change places, run in waves or begin together is asked of signed bounds.

Precondition: none. Postcondition: no branch tests an unsigned comparison that says ``samesign`` of a number that goes
around by one. Preserves the program under FR: of numbers with the same sign the orders are the same; of others the
result is poison as it was.
"""

from __future__ import annotations

from weft.ir import ConstInt, Function, Instruction, Value

_SIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}


def sign_tests(function: Function) -> int:
    """Rewrite such comparisons; return how many these were."""
    count = 0
    for instruction in function.instructions():
        if instruction.op != "icmp" or "samesign" not in instruction.flags:
            continue
        if instruction.predicate not in _SIGNED or not any(_counts_by_one(o) for o in instruction.operands):
            continue
        # Of a choice LLVM knows the minimum by the comparison.
        if all(user.op == "br" for user in instruction.instruction_users()):
            instruction.attrs["predicate"] = _SIGNED[instruction.predicate]
            count += 1
    return count


def _counts_by_one(value: Value) -> bool:
    """Whether a number meets its bound before it wraps around, signed as well as unsigned."""
    if not isinstance(value, Instruction) or value.op != "phi":
        return False
    steps = [
        v for v in value.operands if isinstance(v, Instruction) and v.op == "add" and value in v.operands
    ]
    return any(isinstance(o, ConstInt) and o.value == 1 for step in steps for o in step.operands)
