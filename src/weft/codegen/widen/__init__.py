"""Widening: control-uniform P-LLVM becomes plain LLVM IR in which lanes are vector elements (Moll, ch. 3 and 4).

`widener.widen_function` is the way in. The result has no predicates, shadows, total instructions or lane intrinsics.
"""

from weft.codegen.widen.widener import widen_function

__all__ = ["widen_function"]
