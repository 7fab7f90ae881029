"""Lowering of a function's syntax tree to P-LLVM.

Importing the package imports the modules that enter their functions into the tables of `context` (by kind of
syntax) and `registry` (by object called).
"""

from weft.frontend.python.lowering import attributes, choices, expressions, loops, statements
from weft.frontend.python.lowering.arrays import (
    allocation,
    array_methods,
    elements,
    joined,
    measures,
    numpy_calls,
    points,
    rearranged,
    sequences,
    written,
)
from weft.frontend.python.lowering.calls import builtin_calls, calls, printing, raising
from weft.frontend.python.lowering.numbers import (
    bfloat_calls,
    bits,
    complex_calls,
    extremes,
    float_parts,
    mathematics,
    rounding,
    vectors,
)
from weft.frontend.python.lowering.threads import atomics, barriers, cache_hints, cuda_ids, cuda_memory, warp

__all__ = [
    "allocation",
    "array_methods",
    "atomics",
    "attributes",
    "barriers",
    "bfloat_calls",
    "bits",
    "builtin_calls",
    "cache_hints",
    "calls",
    "choices",
    "complex_calls",
    "cuda_ids",
    "cuda_memory",
    "elements",
    "expressions",
    "extremes",
    "float_parts",
    "joined",
    "loops",
    "mathematics",
    "measures",
    "numpy_calls",
    "points",
    "printing",
    "raising",
    "rearranged",
    "rounding",
    "sequences",
    "statements",
    "vectors",
    "warp",
    "written",
]
