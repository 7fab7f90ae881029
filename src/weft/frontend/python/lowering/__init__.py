"""Lowering of a function's syntax tree to P-LLVM.

Importing the package imports the modules that enter their functions into the tables of `context` (by kind of
syntax) and `registry` (by object called).
"""

from weft.frontend.python.lowering import (
    allocation,
    atomics,
    attributes,
    barriers,
    bits,
    builtin_calls,
    calls,
    choices,
    complex_calls,
    cuda_ids,
    cuda_memory,
    elements,
    expressions,
    extremes,
    float_parts,
    loops,
    mathematics,
    numpy_calls,
    printing,
    raising,
    rounding,
    statements,
    warp,
)

__all__ = [
    "allocation",
    "atomics",
    "attributes",
    "barriers",
    "bits",
    "builtin_calls",
    "calls",
    "choices",
    "complex_calls",
    "cuda_ids",
    "cuda_memory",
    "elements",
    "expressions",
    "extremes",
    "float_parts",
    "loops",
    "mathematics",
    "numpy_calls",
    "printing",
    "raising",
    "rounding",
    "statements",
    "warp",
]
