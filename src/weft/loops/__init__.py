"""Front doors for those who do not write kernels: parallel loops, elementwise functions, LLVM IR and C.

`weft.loops.llvm_ir` turns functions and loops of LLVM IR into SIMD code; `weft.loops.analyze` says which sequential
loops may run in parallel, and which memory they touch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.loops.analysis import analyze

__all__ = ["analyze"]


def __getattr__(name: str) -> Any:
    """`analyze`, imported when it is asked for."""
    if name == "analyze":
        from weft.loops.analysis import analyze

        return analyze
    raise AttributeError(f"module 'weft.loops' has no attribute '{name}'")
