"""The list of passes for LLVM IR from any compiler: whole functions and parallel loops become SIMD code.

=====================  =========================================================================
stage                  promise
=====================  =========================================================================
canonical              LLVM's named scalar passes: SSA, simple loops, nothing duplicated
loops                  each parallel loop runs its iterations lane group by lane group
functions              the function for one lane has one for W lanes beside it
=====================  =========================================================================

The result is plain LLVM IR, ready for LLVM's own pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.analysis.loop_promises import LoopPromises, loop_promises
from weft.analysis.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.analysis.uniform_functions import vouch_for
from weft.codegen.parallel_loops import VectorizedLoop, run_in_place, vectorize_loop
from weft.diag.errors import ArgumentError, UnsupportedError
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.diag.source import SourceSpan
from weft.frontend.lane_operations import adopt_lane_operations
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, GlobalVariable, Instruction, Module
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.function import Linkage
from weft.ir.layout import parse_datalayout
from weft.ir.locations import span_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import Isa
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL, optimize
from weft.target.reading import declaration_in, read_foreign
from weft.target.vector_math import MathSymbol, math_finder
from weft.transform.global_shapes import shift_globals
from weft.transform.hoist_invariants import hoist_invariants
from weft.transform.inline_marks import LOCAL, mark_for_inlining
from weft.transform.scalar_signatures import give_scalar_signatures
from weft.transform.single_lane import run_single_lane
from weft.transform.stack_addresses import sink_stack_addresses


@dataclass(slots=True)
class VectorizedModule:
    """LLVM IR with SIMD code in it.

    Parameters
    ----------
    module
        The module: plain LLVM IR.
    loops
        How many loops became SIMD code.
    remarks
        What was decided on the way.
    math
        Vector math functions the code calls, by symbol.
    """

    module: Module
    loops: int = 0
    remarks: RemarkLog = field(default_factory=RemarkLog)
    math: dict[str, MathSymbol] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return write_module(self.module, plain=True)


def canonical_module(
    text: str,
    spec: TargetSpec,
    filename: str = "",
    wanted: str | None = None,
    strides_of: Callable[[Module], Mapping[GlobalVariable, int]] = lambda module: {},
    uniform: Sequence[str] = (),
) -> Module:
    """Read LLVM IR and bring it into the form that analysis starts from.

    Parameters
    ----------
    wanted
        A function that is to be vectorized: it gets a version with scalar parameters, if it has others, and stays
        even if nothing calls it.
    strides_of
        Tells by how many bytes lanes' own instances of global variables are apart.
    uniform
        Functions without a body that are uniform for uniform arguments.

    Raises
    ------
    CompileError, IRSyntaxError
        LLVM refuses the text, or it holds what weft does not read.
    """
    module, text = read_foreign(text, filename)
    vouched = vouch_for(module, uniform)
    adopted = adopt_lane_operations(module, lambda name: declaration_in(text, filename, name))
    strides = strides_of(module)
    if strides:
        shift_globals(module, strides)
    apart = give_scalar_signatures(module, wanted)
    function = module.functions.get(wanted or "")
    linkage = function.linkage if function is not None else Linkage()
    if function is not None and linkage.linkage in LOCAL:
        function.linkage = Linkage()
    changed = mark_for_inlining(module) or adopted or apart or vouched
    if changed or strides or linkage.linkage in LOCAL:
        text = write_module(module, plain=True)
    canonical = read_module(optimize(text, CANONICAL, spec.machine), filename=filename)
    if linkage.linkage in LOCAL and wanted in canonical.functions:
        canonical.functions[wanted].linkage = linkage
    return canonical


def leave_to_one_lane(module: Module) -> None:
    """Give what is left of lane operations, in functions for one lane, the meaning that they have there."""
    for function in module.definitions():
        run_single_lane(function)


def vectorize_loops(
    module: Module,
    function: Function,
    which: str,
    width: int | None,
    spec: TargetSpec,
    isa: Isa,
    *,
    fastmath: bool = False,
) -> VectorizedModule:
    """Turn parallel loops of a function into SIMD code, in place.

    Parameters
    ----------
    module, function
        Canonical LLVM IR.
    which
        ``outermost``: all outermost loops; ``annotated``: those that metadata asks vector code for; otherwise the name
        of one loop's header, which is a promise that its iterations are independent.
    width
        Lanes, where metadata asks for no other number; None lets the cost model choose.
    fastmath
        Whether float sums may be formed in another order.

    Raises
    ------
    ArgumentError
        There is no loop with that header.
    """
    result = VectorizedModule(module)
    find_math = math_finder(result.math, spec)
    hoist_invariants(function)
    sink_stack_addresses(function)
    done: set[str] = set()
    while True:
        view = cfg_of(function)
        chosen = next(
            (
                (loop, told)
                for loop, told in _candidates(view, which)
                if view.blocks[loop.header].name not in done
            ),
            None,
        )
        if chosen is None:
            break
        loop, told = chosen
        header = view.blocks[loop.header]
        done.add(header.name)
        layout = parse_datalayout(module.datalayout)
        promised = told.parallel or which == header.name
        reassociate = fastmath or told.reorders
        found = parallel_loop(function, view, loop, layout, promised=promised, reassociate=reassociate)
        if isinstance(found, Obstacle):
            _note_obstacle(result.remarks, header, found)
            continue
        name = _unused(module, f"{function.name}.{header.name}")
        vectorized = vectorize_loop(module, found, name, told.width or width, find_math, isa)
        run_in_place(module, vectorized)
        _note_loop(result.remarks, found, vectorized)
        result.loops += vectorized.width > 1
    if which not in ("outermost", "annotated") and which not in done:
        headers = [view.blocks[loop.header].name for loop in loop_forest(view.cfg).loops]
        raise ArgumentError(
            f"{function.name} has no loop with header {which!r}",
            hint=f"its loops begin at {', '.join(headers)}" if headers else "it has no loops",
        )
    leave_to_one_lane(module)
    verify(module)
    return result


def _candidates(view: CFGView, which: str) -> Iterator[tuple[Loop, LoopPromises]]:
    """The loops to be vectorized, outer ones first, with what metadata says of them."""
    forest = loop_forest(view.cfg)
    for loop in forest.loops:
        latch = view.blocks[loop.latches[0]]
        told = loop_promises(latch, tuple(view.blocks[b] for b in loop.blocks))
        name = view.blocks[loop.header].name
        outermost = which == "outermost" and loop.parent is None
        if name == which or outermost or (which == "annotated" and told.annotated):
            yield loop, told


def _unused(module: Module, name: str) -> str:
    number, found = 1, name
    while found in module.functions:
        number += 1
        found = f"{name}.{number}"
    return found


def _note_obstacle(remarks: RemarkLog, header: BasicBlock, obstacle: Obstacle) -> None:
    span = _span(obstacle.at) or _span(header.terminator)
    message = f"the loop at {header.name} stays scalar: {obstacle.message}"
    remarks.add(RemarkKind.MISSED, message, span, obstacle.hint, "parallel loops")


def _note_loop(remarks: RemarkLog, loop: ParallelLoop, vectorized: VectorizedLoop) -> None:
    span = _span(loop.loop.exiting.terminator)
    name = loop.loop.header.name
    if vectorized.width == 1:
        message = f"the loop at {name} runs iteration after iteration because {vectorized.obstacle}"
        remarks.add(RemarkKind.LANE_BY_LANE, message, span, pass_name="parallel loops")
        return
    parts = f", with {len(loop.reductions)} reductions" if loop.reductions else ""
    message = f"the loop at {name} runs {vectorized.width} iterations at a time{parts}"
    remarks.add(RemarkKind.VECTORIZED, message, span, pass_name="parallel loops")


def _span(instruction: Instruction | None) -> SourceSpan | None:
    return None if instruction is None else span_of(instruction)


def chosen_function(module: Module, name: str) -> Function:
    """The definition with the name.

    Raises
    ------
    ArgumentError
        There is none.
    UnsupportedError
        It is a kernel.
    """
    function = module.functions.get(name)
    if function is None or function.is_declaration:
        known: Sequence[str] = [f.name for f in module.definitions()]
        raise ArgumentError(f"the module defines no function {name!r}", hint=f"it defines {', '.join(known)}")
    if function.attribute("weft.kernel") is not None:
        raise UnsupportedError(f"{name} is a kernel, which is launched, not vectorized as a function")
    return function
