"""What passes on functions for lanes ask of each other: facts that they need, and keep."""

from __future__ import annotations

from weft.codegen.lanes.obstacles import why_not_vectorized
from weft.ir import Function
from weft.passes.declared import Fact


def is_unmasked(function: Function) -> bool:
    """Whether each thread that comes to an instruction does it: the program is plain LLVM IR."""
    return not any(
        block.predicate is not None
        or any(i.total or i.guard is not None or i.shadow is not None for i in block)
        for block in function.blocks
    )


VECTORIZABLE = Fact(
    "vectorizable",
    "reducible control flow, one return, scalar values",
    lambda unit: why_not_vectorized(unit.function) is None,
)
UNMASKED = Fact(
    "free of masks",
    "no block predicates, shadows, guards or total instructions",
    lambda unit: is_unmasked(unit.function),
)
