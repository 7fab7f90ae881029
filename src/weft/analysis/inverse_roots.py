"""Quotients by roots, and powers of roots, of which nothing else is used: where they may be products with an inverse.

Such is ``x / (y * sqrt y)``, if all flags of fastmath stand at the root, the quotient and the product.
"""

from __future__ import annotations

from weft.fast_math import FLAGS
from weft.ir import Instruction, Value
from weft.machine.targets import Isa

MOST = 6
"""Roots in a product: a number counts for two."""

LEAST_GUESSES = 16
"""Doubles in lanes that are guessed together wherever they are; fewer only in loops of one block. Barnes-Hut in loops
of 8, behind branches that the data decide, lost with guesses on AVX2 (8.3 ms, 9.0 to 11.3), while n-body gained."""


def estimates_inverses(isa: Isa) -> bool:
    """Whether a processor estimates inverse roots of doubles."""
    return isa.features >= {"avx512f", "avx512vl", "fma"}


def takes_inverses(isa: Isa, lanes: int) -> bool:
    """Whether products with inverse roots of doubles are faster than roots and quotients, wherever they are."""
    return lanes > 1 and (estimates_inverses(isa) or (guesses_inverses(isa) and lanes >= LEAST_GUESSES))


def guesses_inverses(isa: Isa) -> bool:
    """Whether a processor has what inverse roots are guessed with."""
    return isa.features >= {"avx2", "fma"}


def only_divides(root: Instruction) -> bool:
    """Whether a root is used for nothing but quotients by powers of it, be it in products."""
    products, work = {root}, [root]
    while work:
        product = work.pop()
        for user in product.instruction_users():
            if user.op == "fmul":
                if user not in products:
                    products.add(user)
                    work.append(user)
            elif user.operands[0] is product or (root_below(user) or (None,))[0] is not root:
                return False
    return True


def is_fast(instruction: Instruction) -> bool:
    """Whether all flags of fastmath stand at an instruction."""
    return "fast" in instruction.flags or set(FLAGS) <= set(instruction.flags)


def is_root(value: Value) -> bool:
    """Whether a value is a root in fast arithmetic."""
    return (
        isinstance(value, Instruction)
        and value.op == "call"
        and (value.callee_name or "").startswith("llvm.sqrt.")
        and is_fast(value)
    )


def root_below(quotient: Instruction) -> tuple[Instruction, int] | None:
    """The root by whose power a number is divided, and which power that is."""
    if quotient.op != "fdiv" or not is_fast(quotient):
        return None
    factors: list[Value] = []
    work = [quotient.operands[1]]
    while work and len(work) + len(factors) <= MOST:
        value = work.pop()
        if isinstance(value, Instruction) and value.op == "fmul" and is_fast(value):
            work += value.operands
        else:
            factors.append(value)
    roots = {f for f in factors if is_root(f)}
    if work or len(roots) != 1:
        return None
    (root,) = roots
    assert isinstance(root, Instruction)
    if not all(f is root or f is root.args[0] for f in factors):
        return None
    power = sum(1 if f is root else 2 for f in factors)
    return (root, power) if power <= MOST else None
