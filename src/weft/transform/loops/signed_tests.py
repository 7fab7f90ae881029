"""Unsigned comparisons of numbers that have the same sign are signed ones.

LLVM writes ``i < n`` of a counter from 0 as ``icmp samesign ult`` where it knows that n is not negative, as extents of
arrays are. Which loops change places, run in waves or begin together is asked of signed bounds.

Precondition: none. Postcondition: no comparison that says ``samesign`` is unsigned. Preserves the program under FR: of
numbers with the same sign the orders are the same; of others the result is poison as it was.
"""

from __future__ import annotations

from weft.ir import Function

_SIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}


def sign_tests(function: Function) -> int:
    """Rewrite such comparisons; return how many these were."""
    count = 0
    for instruction in function.instructions():
        if instruction.op == "icmp" and "samesign" in instruction.flags and instruction.predicate in _SIGNED:
            instruction.attrs["predicate"] = _SIGNED[instruction.predicate]
            count += 1
    return count
