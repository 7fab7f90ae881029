"""The list of passes for functions with parallel loops: from the P-LLVM of a Python function to object code.

=====================  =========================================================================
stage                  promise
=====================  =========================================================================
front end              the source's program, variables on the stack
canonical              LLVM's named scalar passes: SSA, simple loops, nothing duplicated
parallel loops         outermost loops over `prange` are SIMD code, and jobs of the thread pool
entry                  ``void entry(ptr slots, ptr results)``, which the runtime calls
final                  LLVM's pipeline
=====================  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from weft.analysis.loop_promises import loop_promises
from weft.analysis.parallel_loops import Obstacle, parallel_loop
from weft.analysis.parallel_nests import parallel_nest
from weft.codegen.parallel_launch import run_in_parallel
from weft.codegen.parallel_loops import vectorize_loop
from weft.codegen.parallel_nests import vectorize_nest
from weft.codegen.slots import SlotInterface, build_slot_entry
from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.graph.loops import Loop, loop_forest
from weft.ir import Function, Module
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.heap import uses_heap
from weft.ir.intrinsics import kind_of
from weft.ir.layout import parse_datalayout
from weft.ir.locations import span_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.jit_options import JitOptions
from weft.machine.host import host
from weft.options import Timings
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL, optimize
from weft.target.vector_math import MathSymbol, math_finder
from weft.transform.boscc_costs import BosccMode
from weft.transform.heap_lifetimes import settle_heap
from weft.transform.hoist_invariants import hoist_invariants
from weft.transform.private_frames import privatize_frames
from weft.transform.stack_addresses import sink_stack_addresses


@dataclass(slots=True)
class LoweredFunction:
    """A function as LLVM text, ready for the final pipeline.

    Parameters
    ----------
    text, entry
        The module, and the function that the runtime calls.
    parallel
        Whether it has jobs for the thread pool.
    heap
        Whether it allocates.
    """

    text: str
    entry: str
    parallel: bool
    heap: bool
    timings: Timings
    math: dict[str, MathSymbol] = field(default_factory=dict)
    remarks: RemarkLog = field(default_factory=RemarkLog)


def lower_function(
    module: Module,
    name: str,
    interface: SlotInterface,
    options: JitOptions,
    spec: TargetSpec,
    timings: Timings | None = None,
) -> LoweredFunction:
    """Run all stages before the final one; `module` is used up.

    `interface` says what its last parameters are.

    Raises
    ------
    UnsupportedError
        A loop over `prange` cannot run in parallel, or the function asks where a thread is; the message says where.
    CompileError, VerifyError
        A stage produced an invalid program, which is an error in weft.
    """
    timings = timings or Timings()
    _refuse_threads(module)
    with timings.measure("passes"):
        text = write_module(module, plain=True)
    with timings.measure("llvm"):
        text = optimize(text, CANONICAL, spec.machine)
    with timings.measure("passes"):
        module = read_module(text)
        if uses_heap(module):
            settle_heap(module)
            module = read_module(optimize(write_module(module, plain=True), CANONICAL, spec.machine))
        lowered = LoweredFunction("", "", False, uses_heap(module), timings)
        for function in list(module.definitions()):
            lowered.parallel |= _parallelize(module, function, options, spec, lowered)
        entry = build_slot_entry(module, module.functions[name], interface)
        lowered.entry = entry.name
        for function in module.definitions():
            if function is not entry:
                function.linkage.linkage = "internal"
        verify(module)
        lowered.text = write_module(module, plain=True)
    return lowered


def _refuse_threads(module: Module) -> None:
    """Raise an error when a function asks for ids, shared memory or other threads: it has none."""
    for function in module.definitions():
        for instruction in function.instructions():
            if kind_of(instruction.callee_name) is not None:
                raise UnsupportedError(
                    "thread ids, barriers, shared memory and warp functions are for kernels only",
                    span_of(instruction),
                    "write a kernel with weft.cuda.jit, or use the counter of the loop over prange",
                )


def _parallelize(
    module: Module, function: Function, options: JitOptions, spec: TargetSpec, lowered: LoweredFunction
) -> bool:
    """Turn the function's outermost loops over `prange` into jobs; whether there are any."""
    find_math = math_finder(lowered.math, spec)
    hoist_invariants(function)
    sink_stack_addresses(function)
    layout, boscc = parse_datalayout(module.datalayout), BosccMode(options.boscc)
    refused: set[str] = set()
    count = 0
    while (found := _next_loop(function, refused)) is not None:
        view, loop = found
        header = view.blocks[loop.header]
        span = span_of(header.terminator)
        plan = parallel_loop(
            function,
            view,
            loop,
            layout,
            promised=not options.if_legal,
            reassociate=True,
        )
        if isinstance(plan, Obstacle):
            at = (plan.at and span_of(plan.at)) or span
            message = f"this prange cannot run in parallel: {plan.message}"
            if not options.if_legal:
                raise UnsupportedError(message, at, plan.hint)
            lowered.remarks.add(RemarkKind.MISSED, message, at, plan.hint, "parallel loops")
            refused.add(header.name)
            continue
        count += 1
        name = f"{function.name}.loop{count}"
        nest = parallel_nest(function, view, loop, plan, layout, promised=not options.if_legal)
        # The inner loop becomes part of another function.
        inner_span = nest and span_of(nest.inner.loop.header.terminator)
        own = privatize_frames(module, plan)
        plan = replace(plan, private=(*plan.private, *own))
        if nest is not None:
            made = vectorize_nest(module, plan, nest, name, options.width, find_math, host().isa, boscc)
            run_in_parallel(module, made.outer, f"{name}.grains", made)
            vectorized, span = made.inner, inner_span
            where = ", and all cores share " + ("both loops" if nest.tiled else "the loop around it")
        else:
            vectorized = vectorize_loop(module, plan, name, options.width, find_math, host().isa, boscc)
            run_in_parallel(module, vectorized, f"{name}.grains")
            where = " on all cores"
        if vectorized.width > 1:
            message = f"this loop runs {vectorized.width} iterations at a time{where}"
            lowered.remarks.add(RemarkKind.VECTORIZED, message, span, pass_name="parallel loops")
        else:
            because = f", because {vectorized.obstacle}" if vectorized.obstacle else ""
            message = f"this loop runs iteration after iteration{where}{because}"
            lowered.remarks.add(RemarkKind.LANE_BY_LANE, message, span, pass_name="parallel loops")
    return count > 0


def _next_loop(function: Function, refused: set[str]) -> tuple[CFGView, Loop] | None:
    """An outermost parallel loop, in a loop or in none, that has not been refused."""
    view = cfg_of(function)
    chosen: list[Loop] = []
    for loop in loop_forest(view.cfg).loops:
        if any(other is not loop and other.contains(loop) for other in chosen):
            continue
        blocks = tuple(view.blocks[b] for b in loop.blocks)
        if not loop_promises(view.blocks[loop.latches[0]], blocks).parallel:
            continue
        chosen.append(loop)
        if view.blocks[loop.header].name not in refused:
            return view, loop
    return None
