"""Roots of floats under fastmath, in loops that have enough to do beside them: the processor's instruction for it.

LLVM takes roots of vectors of floats from estimates, wherever the processor that it compiles for is not named as one
with a fast instruction: eight operations, of which three bring the root of zero, and of what is near it, to zero. So it
does for levels, as x86-64-v3. A root of 8 floats keeps the divider of cores since Skylake and Zen 2 busy for 6 or 7
cycles, and nothing else; what is beside it, in two or three pipes, takes as long in a loop with a dozen operations::

    s = sqrt y  (afn)      ==>      s = sqrt y

The root is exact then. Quotients by roots stay, as LLVM has inverse roots by one estimate (n-body), and so do roots in
loops with little beside them, that is, which would wait for the divider.

So are single numbers, of whose loops LLVM may make ones over vectors.

Precondition: plain LLVM IR. Postcondition: roots of floats in fast arithmetic, no number being divided by them, are not
approximate, where the divider is done before the rest of the loop and of the estimates would be.
Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.analysis.inverse_roots import is_fast, is_root, root_below
from weft.costs.divider import regions, vector_cycles
from weft.fast_math import FLAGS
from weft.ir import Function, Instruction
from weft.ir.types import F32, VectorType
from weft.machine.targets import Isa

EXACT = tuple(flag for flag in FLAGS if flag != "afn")

ESTIMATED = 3.0
"""Cycles of what LLVM has in place of a root, a register; a crossing measured on Emerald Rapids."""

WITHOUT_SUMS_OF_PRODUCTS = 1.5
"""Cycles more, where products and sums are two operations."""


def take_true_roots(function: Function, isa: Isa) -> int:
    """Take roots by the instruction where the divider keeps up; return how many."""
    if isa.arch != "x86_64":
        return 0
    inverted = {found[0] for i in function.instructions() if (found := root_below(i)) is not None}
    lanes, fused, count = isa.lanes(F32.bits), "fma" in isa.features, 0
    gained = ESTIMATED if fused else ESTIMATED + WITHOUT_SUMS_OF_PRODUCTS
    for instructions, _ in regions(function):
        roots = [i for i in instructions if _is_of_floats(i) and i not in inverted]
        if not roots:
            continue
        registers = sum(_registers(root, lanes) for root in roots)
        taken = set(roots)
        beside = sum(
            vector_cycles(i, lanes, F32)
            for i in instructions
            if i not in taken and not (fused and _is_summand(i))
        )
        if registers * (isa.core.root_cycles - gained) <= beside:
            for root in roots:
                root.flags = EXACT
            count += len(roots)
    return count


def _is_of_floats(value: Instruction) -> bool:
    type = value.type
    element = type.element if isinstance(type, VectorType) else type
    return element == F32 and value.is_used and is_root(value)


def _registers(root: Instruction, lanes: int) -> float:
    return max(1.0, root.type.count / lanes) if isinstance(root.type, VectorType) else 1.0


def _is_summand(product: Instruction) -> bool:
    """Whether a product and the sum of it are one operation, where there is one for both."""
    if product.op != "fmul":
        return False
    users = list(product.instruction_users())
    return len(users) == 1 and users[0].op in ("fadd", "fsub") and is_fast(users[0])
