"""The region vectorizer for kernels with barriers (Karrenberg and Hack, §2.3, on Moll's chain).

The kernel is made control-uniform as any other, then split at its barriers, and each continuation is widened: once for
lane groups all of whose threads run, and once for some of them if there are such lane groups; there are none where rows
of work-groups are whole lane groups and all threads of a lane group come to each barrier together. Shapes are those
found in the whole kernel: a continuation alone knows less, as values come out of the frame.

Precondition: canonical P-LLVM that can be vectorized, ids being parameters and all barriers in the kernel itself.
Postcondition: plain LLVM IR, a function or two for each continuation, in the place of the kernel; together they do
what it did as `weft.transform.splitting.barriers` says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from weft.analysis.barrier_divergence import passes_barriers_in_step
from weft.analysis.divergence import Divergence, FunctionFacts, analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.analysis.shapes.lattice import linear_stride
from weft.codegen.lanes.lane_passes import make_control_uniform
from weft.codegen.lanes.lane_unit import SimdForm
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen import widen_function
from weft.codegen.widen.representation import scalar_values
from weft.codegen.widen.widener import WideningNotes
from weft.codegen.work_groups.barrier_checks import analyze_group
from weft.codegen.work_groups.continuations import GroupContinuations, LaneContinuation
from weft.codegen.work_groups.scheduled import ScheduledContinuations
from weft.codegen.work_groups.settling import build_settle
from weft.ir import Function, Instruction, Module, Value
from weft.ir.clone import clone_function
from weft.ir.types import I1
from weft.passes.runner import Runner
from weft.switches import Switches
from weft.transform.splitting.barriers import (
    BarrierProgram,
    Continuation,
    KernelAtBarriers,
    barriers_of,
    cut_behind,
)
from weft.transform.splitting.lane_subset import run_for_lanes

Shapes = Mapping[Value, Shape]


def vectorize_at_barriers(
    module: Module,
    kernel: Function,
    shapes: Shapes,
    called: FunctionVectorizer,
    runner: Runner | None = None,
    linear: bool = False,
    whole_rows: bool = False,
    before: Divergence | None = None,
) -> tuple[GroupContinuations, VectorizationSummary]:
    """Replace `kernel` in `module` by SIMD continuations.

    Parameters
    ----------
    shapes
        Shapes of parameters; the others are uniform.
    called
        The SIMD functions of called ones, which gives the lane group too.
    runner
        Runs the passes on the whole kernel.
    linear
        Whether lane groups are of consecutive linear numbers.
    whole_rows
        Whether rows of work-groups are whole lane groups.
    before
        The divergence of the kernel, its blocks cut behind barriers, where it is known.

    Raises
    ------
    UnsupportedError
        When a called function contains a barrier.
    """
    lanes = called.lanes
    width = lanes.width
    unit = called.unit(kernel, shapes, SimdForm(kernel.name))
    unit.known = before
    summary = unit.summary
    cut_behind(barriers_of(kernel))
    whole = make_control_uniform(unit, runner)
    objects = [i for i in kernel.instructions() if i.op == "alloca"]
    blocks = list(kernel.blocks)
    split = KernelAtBarriers(module, kernel, width, [i for i in objects if whole.is_uniform_object(i)])
    facts = None
    if objects or blocks != kernel.blocks:
        facts = FunctionFacts(kernel)
        domain = domain_named("product", lanes.extents)
        whole = analyze_divergence(kernel, domain=domain, initial=shapes, width=width, facts=facts)
    in_parts = not (whole_rows and split.arrives_whole)
    chain = _Widener(module, called, whole, shapes, summary, in_parts)
    common: set[Value] = set()
    in_step = False
    if split.arrives_whole and not split.waits_for_some:
        group = analyze_group(kernel, linear, facts)
        common = _common_values(split, group)
        in_step = passes_barriers_in_step(group)
    program, parts = chain.widen(split, common)
    settle = None
    if not program.arrives_whole:
        settle = build_settle(module, f"{kernel.name}.settle", parts, program.frame_bytes)
    del module.functions[kernel.name]
    row_multiple = 1 if in_parts else width
    form = ScheduledContinuations if split.waits_for_some else GroupContinuations
    return form(lanes, parts, program, settle, linear, row_multiple, in_step), summary


def _common_values(split: KernelAtBarriers, group: Divergence) -> set[Value]:
    """Values that all threads of the work-group have computed, and found the same."""
    return {
        value
        for value in split.kernel.instructions()
        if not value.type.is_void
        and value.block is not None
        and value.block.predicate is None
        and all(group.shape_in(value, b.block).is_uniform for b in split.barriers if b.block is not None)
    }


class _Widener:
    """Splits a control-uniform kernel and widens its continuations."""

    def __init__(
        self,
        module: Module,
        called: FunctionVectorizer,
        whole: Divergence,
        shapes: Shapes,
        summary: VectorizationSummary,
        in_parts: bool,
    ) -> None:
        self.module = module
        self.called = called
        self.lanes = called.lanes
        self.whole = whole
        self.shapes = shapes
        self.summary = summary
        self.in_parts = in_parts

    def widen(
        self, split: KernelAtBarriers, common: Collection[Value]
    ) -> tuple[BarrierProgram, tuple[LaneContinuation, ...]]:
        """The continuations, each for its kinds of lane groups; `common` are the same in the whole work-group."""
        strides = self._strides(split.kernel)
        while True:
            program = split.split(strides, {v for v in common if strides.get(v) == 0})
            whole = [self._shapes_in(c) for c in program.continuations]
            found = [self._analyze(c.function, s) for c, s in zip(program.continuations, whole, strict=True)]
            lost = {
                value
                for c, divergence in zip(program.continuations, found, strict=True)
                for value in _lost_scalars(c, divergence, strides, self.called.switches)
            }
            if not lost:
                break
            # A part of the kernel computes them as vectors: they get a slot of one.
            strides = {v: s for v, s in strides.items() if v not in lost}
            for c in program.continuations:
                del self.module.functions[c.function.name]
        parts = [
            self._part(c, shapes, divergence)
            for c, shapes, divergence in zip(program.continuations, whole, found, strict=True)
        ]
        return program, tuple(parts)

    def _strides(self, kernel: Function) -> dict[Value, int]:
        """Values that stay scalar, and how far apart neighbouring lanes have them."""
        strides: dict[Value, int] = {}
        for value in scalar_values(kernel, self.whole, self.called.switches):
            shape = self.whole.shape(value)
            if shape.is_uniform:
                strides[value] = 0
            elif value.type != I1 and (step := linear_stride(self.lanes.extents, shape.strides)) is not None:
                strides[value] = step
        return strides

    def _shapes_in(self, continuation: Continuation) -> dict[Value, Shape]:
        """The shapes of a continuation's values, as the whole kernel has them."""
        shapes: dict[Value, Shape] = {}
        for parameter, shape in self.shapes.items():
            shapes[continuation.function.args[parameter.index]] = shape  # type: ignore[attr-defined]
        for value, origin in continuation.origins.items():
            if not value.type.is_void:
                shapes[value] = self.whole.place_shape(origin)
        return shapes

    def _analyze(self, function: Function, shapes: Shapes) -> Divergence:
        return analyze_divergence(
            function,
            domain=domain_named("product", self.lanes.extents),
            initial=shapes,
            width=self.lanes.width,
            ranges=False,
        )

    def _part(self, continuation: Continuation, shapes: Shapes, found: Divergence) -> LaneContinuation:
        function = continuation.function
        masked = self._masked(function, shapes) if self.in_parts else None
        full, notes = self._widened(function, found, f"{function.name}.w{self.lanes.width}")
        self.summary.notes.notes += notes.notes
        self.summary.notes.scalar += notes.scalar
        self.summary.notes.vector += notes.vector
        self.summary.functions.append(full)
        return LaneContinuation(full, masked)

    def _masked(self, function: Function, shapes: Shapes) -> Function:
        """The function of a continuation for some lanes."""
        copies: dict[Value, Value] = {}
        some = clone_function(function, f"{function.name}.some", copies)
        run_for_lanes(self.module, some, self.lanes.width)
        divergence = self._analyze(some, {copies[v]: s for v, s in shapes.items() if v in copies})
        return self._widened(some, divergence, f"{function.name}.w{self.lanes.width}.some")[0]

    def _widened(self, function: Function, found: Divergence, name: str) -> tuple[Function, WideningNotes]:
        called = self.called
        result = widen_function(
            self.module,
            function,
            found,
            self.lanes,
            name,
            called.find_math,
            called.isa,
            called.simd_function,
            switches=called.switches,
        )
        called.finish()
        del self.module.functions[function.name]
        return result


def _lost_scalars(
    continuation: Continuation, divergence: Divergence, strides: Mapping[Value, int], switches: Switches
) -> set[Value]:
    """Values with a slot for one lane of which the continuation has all lanes instead."""
    kept = scalar_values(continuation.function, divergence, switches)
    return {
        origin
        for value, origin in continuation.origins.items()
        if origin in strides and isinstance(value, Instruction) and value not in kept
    }
