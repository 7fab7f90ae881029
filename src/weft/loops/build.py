"""From a Python function to code: what is loaded only when a function does not come from the cache."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from msgspec import Struct

from weft.analysis.sequential.scope import ArrayParameters
from weft.codegen.slots import SlotInterface
from weft.diag.remarks import Remark, RemarkKind
from weft.frontend.python.compile import ParamSpec, bound_rows, compile_python, mark_arrays
from weft.frontend.python.components import bound_extents, components, has_extents
from weft.frontend.python.types import Array, KernelType
from weft.jit_options import JitOptions
from weft.loops.apart_arrays import arrays_of, promise_apart, written_arrays
from weft.options import Overlap, Timings
from weft.passes.lower_function import LoweredFunction, StartedFunction, start_function
from weft.passes.runner import Runner
from weft.runtime.array_memory import LONG
from weft.runtime.results import Description, describe_result
from weft.target.machine import TargetSpec, emit_assembly, emit_object, optimized

_OWN_CODE = (
    "calls with an array that overlaps one that is written to have code of their own, of which this is said"
)


class Results(Struct, frozen=True):
    """What a call gives: what the function returns, of which type, and the errors it may raise, by number from 1.

    And which arguments are arrays that the function may write to, where it matters whether arrays overlap.
    """

    description: Description
    errors: list[list[Any]]
    type: KernelType
    written: tuple[int, ...] = ()


def lower(
    function: FunctionType,
    types: tuple[KernelType, ...],
    declared: KernelType | None,
    options: JitOptions,
    timings: Timings,
    runner: Runner | None = None,
) -> tuple[LoweredFunction, Results, tuple[Remark, ...]]:
    """Take a function through front end and pipeline; with what a call gives, and what was remarked.

    `runner` runs the passes, if there is one.
    """
    started, results, remarks = start(function, types, declared, options, timings, runner)
    lowered = started.finish()
    return lowered, results, (*remarks, *lowered.remarks)


def start(
    function: FunctionType,
    types: tuple[KernelType, ...],
    declared: KernelType | None,
    options: JitOptions,
    timings: Timings,
    runner: Runner | None = None,
) -> tuple[StartedFunction, Results, tuple[Remark, ...]]:
    """Take a function through front end and the first passes; with what the front end remarked."""
    with timings.measure("frontend"):
        made = compile_python(
            function, types, debug=options.debug, fastmath=options.fastmath, device=True, result=declared
        )
        result = describe_result(made.result)
    if options.small_arrays:
        bound_extents(made.kernel, LONG)
        bound_rows(made, dict(options.known), lambda array: LONG)
        mark_arrays(made, lambda array: LONG * array.dtype.size)
    apart = arrays_of(made) if options.overlap is not Overlap.ANY else {}
    if options.overlap is Overlap.SOME:
        made.remarks.add(RemarkKind.TRANSFORM, _OWN_CODE)
    interface = SlotInterface(len(components(made.result)), made.allocates)
    arrays = tuple(array for param in made.params if (array := _array_parameters(param)) is not None)
    started = start_function(
        made.module, made.kernel.name, interface, options, TargetSpec.chosen(), timings, runner, arrays
    )
    errors = [[kind, message, at.file, at.line, at.column] for kind, message, at in made.errors]
    # What is written is asked before the promise, under which a store that others could see may be gone.
    written = written_arrays(started.unit.module, started.unit.function, apart)
    if options.overlap is Overlap.NONE:
        promise_apart(started.unit.function, apart)
    return started, Results(result, errors, made.result, written), tuple(made.remarks)


def _array_parameters(param: ParamSpec) -> ArrayParameters | None:
    """The parameters that an array is passed in; None for what is no array with extents."""
    if not isinstance(param.type, Array) or not has_extents(param.type):
        return None
    numbers = {
        role: tuple(param.first + n for n, c in enumerate(param.components) if c.role == role)
        for role in ("data", "extent", "stride")
    }
    (data,) = numbers["data"]
    return ArrayParameters(data, numbers["extent"], numbers["stride"], param.type.dtype.size)


def emit(lowered: LoweredFunction) -> bytes:
    """Object code for this machine."""
    with lowered.timings.measure("llvm"):
        return emit_object(lowered.text, TargetSpec.chosen(), lowered.pipeline)


def llvm(lowered: LoweredFunction) -> str:
    """Optimized LLVM IR for this machine."""
    return optimized(lowered.text, TargetSpec.chosen(), lowered.pipeline)


def assembly(lowered: LoweredFunction) -> str:
    """Assembly for this machine."""
    return emit_assembly(lowered.text, TargetSpec.chosen(), lowered.pipeline)
