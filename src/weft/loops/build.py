"""From a Python function to code: what is loaded only when a function does not come from the cache."""

from __future__ import annotations

from types import FunctionType

from weft.diag.remarks import Remark
from weft.frontend.python.compile import compile_python
from weft.frontend.python.components import components
from weft.frontend.python.types import KernelType
from weft.jit_options import JitOptions
from weft.jit_pipeline import LoweredFunction, lower_function
from weft.options import Timings
from weft.runtime.results import Description, describe_result
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import WHOLE, optimize


def lower(
    function: FunctionType, types: tuple[KernelType, ...], options: JitOptions, timings: Timings
) -> tuple[LoweredFunction, Description, tuple[Remark, ...]]:
    """Take a function through front end and pipeline; with what it returns, and what was remarked."""
    with timings.measure("frontend"):
        made = compile_python(function, types, fastmath=options.fastmath, device=True)
        result = describe_result(made.result)
    parts = len(components(made.result))
    pointers = parts if parts > 1 else 0
    lowered = lower_function(made.module, made.kernel.name, pointers, options, TargetSpec.host(), timings)
    return lowered, result, (*made.remarks, *lowered.remarks)


def emit(lowered: LoweredFunction) -> bytes:
    """Object code for this machine."""
    with lowered.timings.measure("llvm"):
        return emit_object(lowered.text, TargetSpec.host(), WHOLE)


def llvm(lowered: LoweredFunction) -> str:
    """Optimized LLVM IR for this machine."""
    return optimize(lowered.text, WHOLE, TargetSpec.host().machine)


def assembly(lowered: LoweredFunction) -> str:
    """Assembly for this machine."""
    return emit_assembly(lowered.text, TargetSpec.host(), WHOLE)
