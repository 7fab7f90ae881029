"""Front doors for those who do not write kernels: parallel loops, elementwise functions, LLVM IR and C.

`weft.loops.llvm_ir` turns functions and loops of LLVM IR into SIMD code; `weft.loops.analyze` says which sequential
loops may run in parallel, and which memory they touch, and `weft.loops.emit` writes such loops as kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.loops.analysis import analyze
    from weft.loops.emitting import emit

__all__ = ["analyze", "emit"]


def __getattr__(name: str) -> Any:
    """`analyze` and `emit`, imported when they are asked for."""
    if name == "analyze":
        from weft.loops.analysis import analyze

        return analyze
    if name == "emit":
        from weft.loops.emitting import emit

        return emit
    raise AttributeError(f"module 'weft.loops' has no attribute '{name}'")
