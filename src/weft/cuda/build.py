"""From a Python function to code: what is loaded only when a kernel does not come from the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from weft.diag.remarks import Remark
from weft.frontend.python.compile import FrontendResult, bound_rows, compile_python, mark_arrays
from weft.frontend.python.components import bound_extents
from weft.frontend.python.lowering.threads.cuda_ids import WARP_SIZE
from weft.frontend.python.types import KernelType
from weft.ir.intrinsics import SMALL_ARRAYS_ATTRIBUTE
from weft.options import CompileOptions, Timings
from weft.passes.lower_kernel import LoweredKernel, StartedKernel, start_kernel
from weft.runtime.array_memory import LARGE, LONG
from weft.target.machine import TargetSpec


def lower(
    function: Callable[..., Any],
    types: tuple[KernelType, ...],
    options: CompileOptions,
    timings: Timings,
    spec: TargetSpec | None = None,
) -> tuple[LoweredKernel, tuple[Remark, ...]]:
    """Take a kernel through front end and pipeline, up to LLVM's final passes; with what was remarked.

    Code is for the chosen machine, or for `spec`.
    """
    started, remarks = start(function, types, options, timings, spec)
    lowered = started.finish()
    return lowered, (*remarks, *lowered.remarks)


def start(
    function: Callable[..., Any],
    types: tuple[KernelType, ...],
    options: CompileOptions,
    timings: Timings,
    spec: TargetSpec | None = None,
) -> tuple[StartedKernel, tuple[Remark, ...]]:
    """Take a kernel through front end and the first passes; with what the front end remarked."""
    with timings.measure("frontend"):
        result = compile_python(function, types, fastmath=options.fastmath)
    if options.small_arrays:
        _promise_small_arrays(result, dict(options.known))
    warps = replace(options, warp=WARP_SIZE)
    started = start_kernel(result.module, result.kernel.name, warps, spec or TargetSpec.chosen(), timings)
    started.captured = result.captured
    return started, tuple(result.remarks)


def _promise_small_arrays(result: FrontendResult, known: Mapping[int, int | float]) -> None:
    """Note that arrays have less than 2 GiB, and extents less than 2^30, or fewer where rows have known lengths."""
    kernel = result.kernel
    mark_arrays(result, lambda array: LARGE)
    kernel.attributes = (*kernel.attributes, f'"{SMALL_ARRAYS_ATTRIBUTE}"')
    bound_extents(kernel, LONG)
    # Where elements lie on each other there may be more of them.
    bound_rows(result, known, lambda array: -(-LARGE // array.dtype.size) if array.layout == "C" else None)
