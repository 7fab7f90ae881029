"""Lowering of a function's syntax tree to P-LLVM.

Importing the package imports the modules that enter their functions into the tables of `context` (by kind of
syntax) and `registry` (by object called).
"""

from weft.frontend.python.lowering import (
    attributes,
    bits,
    builtin_calls,
    calls,
    conditions,
    cuda_ids,
    expressions,
    loops,
    mathematics,
    statements,
)

__all__ = [
    "attributes",
    "bits",
    "builtin_calls",
    "calls",
    "conditions",
    "cuda_ids",
    "expressions",
    "loops",
    "mathematics",
    "statements",
]
