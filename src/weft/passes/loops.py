"""The list of passes for functions with parallel loops: from the P-LLVM of a Python function to its entry point."""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.loops.parallel_loops import Obstacle, parallel_loop
from weft.analysis.loops.parallel_nests import parallel_nest
from weft.codegen.lane_passes import BODIES, NARROWING
from weft.codegen.parallel_launch import run_in_parallel
from weft.codegen.parallel_loops import strip_mine
from weft.codegen.parallel_nests import strip_mine_nest
from weft.codegen.slots import SlotInterface, build_slot_entry
from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind
from weft.graph.loops import Loop, loop_forest
from weft.ir import Function
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.heap import uses_heap
from weft.ir.intrinsics import kind_of
from weft.ir.locations import span_of
from weft.passes.declared import Meaning, Pass, PassList
from weft.passes.loop_lanes import IN_LANES
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.passes.scalar import CANONICAL, INVARIANTS
from weft.passes.stages import Form
from weft.transform.loops.heap_lifetimes import settle_heap
from weft.transform.loops.polls import insert_polls
from weft.transform.loops.private_frames import privatize_frames


@dataclass(slots=True, kw_only=True)
class JitUnit(LoopUnit):
    """A Python function.

    Parameters
    ----------
    interface
        What its last parameters are.
    if_legal
        Whether a loop over `prange` that is not parallel runs in order, with a remark, instead of being refused.
    polls
        Whether loops look for interrupts.
    """

    interface: SlotInterface
    if_legal: bool = False
    polls: bool = False


def _refuse_threads(unit: JitUnit) -> bool:
    for function in unit.module.definitions():
        for instruction in function.instructions():
            if kind_of(instruction.callee_name) is not None:
                raise UnsupportedError(
                    "thread ids, barriers, shared memory and warp functions are for kernels only",
                    span_of(instruction),
                    "write a kernel with weft.cuda.jit, or use the counter of the loop over prange",
                )
    return False


def _settle_heap(unit: JitUnit) -> None:
    settle_heap(unit.module)
    # Behind what is freed and what lies on the stack now, LLVM sees more.
    unit.runner.watched_by().run((CANONICAL,), unit)


def _find_loops(unit: JitUnit) -> bool:
    for function in list(unit.module.definitions()):
        _parallelize(unit, function)
    return bool(unit.loops)


def _parallelize(unit: JitUnit, function: Function) -> None:
    """Turn the function's outermost loops over `prange` into jobs."""
    module, isa = unit.module, unit.isa
    layout, promised = module.layout, not unit.if_legal
    refused: set[str] = set()
    count = 0
    while (found := _next_loop(function, refused)) is not None:
        view, loop = found
        header = view.blocks[loop.header]
        span = span_of(header.terminator)
        plan = parallel_loop(function, view, loop, layout, promised=promised, reassociate=True)
        if isinstance(plan, Obstacle):
            at = (plan.at and span_of(plan.at)) or span
            message = f"this prange cannot run in parallel: {plan.message}"
            if promised:
                raise UnsupportedError(message, at, plan.hint)
            unit.remarks.add(RemarkKind.MISSED, message, at, plan.hint, "parallel loops")
            refused.add(header.name)
            continue
        count += 1
        name = f"{function.name}.loop{count}"
        nest = parallel_nest(function, view, loop, plan, layout, promised=promised)
        # The inner loop becomes part of another function.
        inner_span = nest and span_of(nest.inner.loop.header.terminator)
        own = privatize_frames(module, plan)
        plan = replace(plan, private=(*plan.private, *own))
        if nest is not None:
            made = strip_mine_nest(module, plan, nest, name, unit.width, isa, unit.runner)
            run_in_parallel(module, made.outer, f"{name}.grains", made)
            where = ", and all cores share " + ("both loops" if nest.tiled else "the loop around it")
            unit.loops.append(FoundLoop(made.inner, inner_span, "this loop", where))
        else:
            mined = strip_mine(module, plan, name, unit.width, isa, unit.runner)
            run_in_parallel(module, mined, f"{name}.grains")
            unit.loops.append(FoundLoop(mined, span, "this loop", " on all cores"))


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


def _build_entry(unit: JitUnit) -> None:
    entry = build_slot_entry(unit.module, unit.function, unit.interface)
    for function in unit.module.definitions():
        if function is not entry:
            function.linkage.linkage = "internal"
    unit.name, unit.form = entry.name, Form.SLOTS


def _insert_polls(unit: JitUnit) -> bool:
    # Between grains the pool polls. In the loops that run them LLVM's unrolling would suffer.
    chunks = {found.mined.chunk.name for found in unit.loops}
    functions = list(unit.module.definitions())
    jobs = {
        f for f in functions if f.name in chunks or any(i.callee_name in chunks for i in f.instructions())
    }
    insert_polls(unit.module, [f for f in functions if f not in jobs])
    # The interpreter, which Python interrupts, runs the program before.
    return False


NO_THREADS: Pass[JitUnit] = Pass(
    "no threads", "nothing asks for thread ids or other threads", _refuse_threads
)
HEAP: Pass[JitUnit] = Pass(
    "heap",
    "arrays of an iteration are freed at its end, small ones are on the stack; canonical again",
    _settle_heap,
    applies=lambda unit: uses_heap(unit.module),
)
PARALLEL_LOOPS: Pass[JitUnit] = Pass(
    "parallel loops",
    "outermost loops over prange are jobs of the thread pool, their bodies run in lanes",
    _find_loops,
    parts=(*BODIES, NARROWING),
    source="Moll, §3.1",
)
ENTRY: Pass[JitUnit] = Pass(
    "entry", "void entry(ptr slots, ptr results), which the runtime calls", _build_entry, Meaning.SCALAR
)
POLLS: Pass[JitUnit] = Pass(
    "polls",
    "loops that may run long look for interrupts",
    _insert_polls,
    Meaning.SCALAR,
    applies=lambda unit: unit.polls,
)

LOOPS = PassList(
    "loops",
    "Python functions with parallel loops, elementwise functions; LLVM's whole pipeline follows",
    (NO_THREADS, CANONICAL, HEAP, INVARIANTS, PARALLEL_LOOPS, IN_LANES, ENTRY, POLLS),
)
