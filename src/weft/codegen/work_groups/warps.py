"""Kernels that use warp operations: their lane groups are warps."""

from __future__ import annotations

from weft.codegen.lanes.obstacles import why_not_vectorized
from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.diag.source import SourceSpan
from weft.ir import Function, Module
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.locations import span_of

_HINT = "run the kernel with cuda.jit(debug=True), or exchange values through cuda.shared.array"


def first_warp_operation(module: Module) -> SourceSpan | None:
    """Where a program first asks what the threads of its warp do."""
    for function in module.definitions():
        for instruction in function.instructions():
            if kind_of(instruction.callee_name) is IntrinsicKind.HORIZONTAL:
                return span_of(instruction)
    return None


def require_warps(
    module: Module, kernel: Function, warp: int, wanted: int | None, most_lanes: int, remarks: RemarkLog
) -> int:
    """Return `warp`, the width of a kernel that uses warp operations; another `wanted` one is not heeded.

    Raises
    ------
    UnsupportedError
        The kernel cannot be vectorized, or its local arrays leave no room for so many lanes.
    """
    obstacle = why_not_vectorized(kernel)
    if obstacle is not None:
        raise UnsupportedError(
            f"{kernel.name} uses warp operations and cannot run in lock step because {obstacle}",
            first_warp_operation(module),
            _HINT,
        )
    if most_lanes < warp:
        raise UnsupportedError(
            f"the local arrays of {kernel.name} leave no room for the {warp} threads of a warp",
            first_warp_operation(module),
            "use smaller local arrays, or pass an array with a part for each thread",
        )
    if wanted not in (None, warp):
        message = f"{kernel.name} uses warp operations and runs {warp} threads at a time, not {wanted}"
        remarks.add(
            RemarkKind.VECTORIZED, message, first_warp_operation(module), "leave out width=", "widening"
        )
    return warp
