"""Choices between two compared floats get the flags of the comparison, where these leave NaNs and signs of zeros open.

    c = fcmp fast ogt a, b                   c = fcmp fast ogt a, b
    m = select c, a, b                       m = select fast c, a, b

So minima and maxima of a program under fastmath are known as such to whoever looks at the choice alone, LLVM's
vectorizer among them; a φ that became a ``select`` has lost them.

Precondition: any. Postcondition: as above. Preserves the program under FR and OBL: where an operand is NaN the
comparison is poison, and so is the choice.
"""

from __future__ import annotations

from weft.ir import Function, Instruction

_NEEDED = ({"fast"}, {"nnan", "nsz"})


def flag_choices(function: Function) -> int:
    """Give choices these flags; how many."""
    found = 0
    for instruction in function.instructions():
        if instruction.op != "select":
            continue
        condition, *chosen = instruction.operands
        if not isinstance(condition, Instruction) or condition.op != "fcmp":
            continue
        known = set(condition.flags)
        if not any(needed <= known for needed in _NEEDED) or known <= set(instruction.flags):
            continue
        if chosen in (condition.operands, condition.operands[::-1]):
            instruction.flags = tuple(condition.flags)
            found += 1
    return found
