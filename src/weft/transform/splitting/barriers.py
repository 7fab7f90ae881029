"""Barriers by continuations (Karrenberg and Hack, §2.3).

Precondition: all barriers stand in the kernel itself (calls that reach one are inlined) and control flow is
uniform in a lane group, which for one lane it always is. Postcondition: the kernel is replaced by functions free
of barriers, `Continuation` 0 for its entry and one for each barrier. A continuation runs one lane group from its
start to the next barrier or the end, and returns the number of the barrier reached (from 1), or 0 for the end.
What a barrier must keep is saved in the lane group's frame: only values live across it, and of these only such
as cannot be computed again from parameters. No synchronization point is added.

A continuation returns at a barrier under a mask also when only some lanes have arrived, or none. Which ones it notes
in the votes record; the others go on when the continuation of that barrier is run for them alone.

The continuations together do what the kernel did, under FR and OBL, when the caller runs continuation k for all
unfinished lane groups once all of them have returned k, all their unfinished lanes having arrived.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from weft.analysis.liveness import liveness
from weft.diag.errors import UnsupportedError
from weft.diag.source import SourceSpan
from weft.ir import Argument, BasicBlock, Function, Instruction, Module, Value
from weft.ir.cfg_edit import split_block
from weft.ir.intrinsics import GRID_BARRIER, IntrinsicKind, is_numbered_barrier, kind_of
from weft.ir.locations import span_of
from weft.ir.types import I64, pointer
from weft.transform.splitting.continuations import (
    FINISHED,
    FRAME_PARAMETERS,
    Continuation,
    ContinuationBuilder,
)
from weft.transform.splitting.frame import Slot, assign_slots, value_size
from weft.transform.splitting.numbered_barriers import lower_arrivals
from weft.transform.splitting.objects_in_frame import move_objects_to_frame
from weft.transform.splitting.rematerialize import Rematerializer

__all__ = [
    "FINISHED",
    "BarrierProgram",
    "Continuation",
    "KernelAtBarriers",
    "barriers_of",
    "cut_behind",
    "has_grid_barrier",
    "split_at_barriers",
]


class BarrierProgram(Struct, frozen=True):
    """The kernel as continuations.

    Parameters
    ----------
    continuations
        The parts between barriers; the first begins the kernel.
    frame_bytes, slots
        Bytes of the frame of one lane group, and what is kept where in it.
    kept
        The values kept across each barrier.
    spans
        Where each barrier stands in the source.
    common, common_bytes
        The slots of values that are kept once for the work-group, and the bytes that they take.
    arrives_whole
        Whether all lanes of a lane group arrive at a barrier together.
    waits_for_some
        Whether lane groups may wait at one barrier while others wait at another, or go on.
    of_grid
        The numbers of the barriers at which all work-groups meet.
    """

    continuations: tuple[Continuation, ...]
    frame_bytes: int
    slots: dict[Value, Slot]
    kept: tuple[tuple[Value, ...], ...]
    spans: tuple[SourceSpan | None, ...]
    common: dict[Value, Slot]
    common_bytes: int
    arrives_whole: bool
    waits_for_some: bool = False
    of_grid: frozenset[int] = frozenset()

    @property
    def lines(self) -> tuple[int, ...]:
        """The source line of each barrier, 0 when unknown."""
        return tuple(span.line if span else 0 for span in self.spans)


def barriers_of(function: Function) -> list[Instruction]:
    """The barrier calls of `function`, in block order."""
    return [i for i in function.instructions() if kind_of(i.callee_name) is IntrinsicKind.BARRIER]


def has_grid_barrier(function: Function) -> bool:
    """Whether work-groups wait for each other."""
    return any(i.callee_name == GRID_BARRIER for i in function.instructions())


def split_at_barriers(module: Module, kernel: Function) -> BarrierProgram:
    """Replace `kernel` in `module` by its continuations for lane groups of one thread.

    Raises
    ------
    UnsupportedError
        When a called function contains a barrier (it is recursive, or it would have been inlined).
    """
    program = KernelAtBarriers(module, kernel).split()
    del module.functions[kernel.name]
    return program


class KernelAtBarriers:
    """A kernel whose blocks end behind each barrier, with the parameters of continuations.

    Parameters
    ----------
    module, kernel
        The kernel, which is changed.
    lanes
        Threads of a lane group.
    uniform_objects
        The stack objects to which all threads of a lane group do the same.

    Raises
    ------
    UnsupportedError
        When a called function contains a barrier (it is recursive, or it would have been inlined).
    """

    def __init__(
        self, module: Module, kernel: Function, lanes: int = 1, uniform_objects: Collection[Instruction] = ()
    ) -> None:
        _require_barriers_in_kernel_only(kernel)
        self.module = module
        self.kernel = kernel
        self.lanes = lanes
        self.barriers = barriers_of(kernel)
        for name in FRAME_PARAMETERS:
            kernel.append_parameter(I64 if name == "common.at" else pointer(), name)
        self._resumes = cut_behind(self.barriers)
        lower_arrivals(module, kernel, self._argument("votes"), lanes)
        self._layout = module.layout
        self._object_bytes = move_objects_to_frame(
            kernel, self.barriers, self.frame, self._layout, lanes, uniform_objects
        )
        self._tell_apart()

    def _tell_apart(self) -> None:
        """Say that nothing else leads to what is kept, so that loads from shared memory pass the stores to it.

        Of stack objects in the frame the program may have other pointers, which came through memory.
        """
        for name in ("votes", "common"):
            self._argument(name).attributes = ("noalias",)
        if not self._object_bytes:
            self.frame.attributes = ("noalias",)

    @property
    def frame(self) -> Argument:
        """The parameter that points to the lane group's frame."""
        return self._argument("frame")

    def _argument(self, name: str) -> Argument:
        """One of the parameters that continuations have beside those of the kernel."""
        return self.kernel.args[FRAME_PARAMETERS.index(name) - len(FRAME_PARAMETERS)]

    @property
    def waits_for_some(self) -> bool:
        """Whether lane groups may wait at one barrier while others wait at another, or go on."""
        return any(is_numbered_barrier(b.callee_name) for b in self.barriers)

    @property
    def arrives_whole(self) -> bool:
        """Whether no barrier is under a mask."""
        return all(b.block is not None and b.block.predicate is None for b in self.barriers)

    def split(
        self, strides: Mapping[Value, int] | None = None, common: Collection[Value] = ()
    ) -> BarrierProgram:
        """Add the continuations to the module; the kernel stays.

        Parameters
        ----------
        strides
            Values of which one lane's is enough, and the distance between neighbouring lanes.
        common
            Those of which one thread's of the work-group is enough.
        """
        kernel, barriers = self.kernel, self.barriers
        remat = Rematerializer()
        live = liveness(kernel)
        after = [[v for v in live.after(b) if not isinstance(v, Argument)] for b in barriers]
        kept = [[v for v in values if not remat.can(v)] for values in after]
        sizes = {v: value_size(self._layout, v) for values in kept for v in values}
        own = [[v for v in values if v not in common] for values in kept]
        slots, slot_bytes = assign_slots(own, sizes, strides or {}, self.lanes)
        slots = {v: slot.moved(self._object_bytes) for v, slot in slots.items()}
        shared = [[v for v in values if v in common] for values in kept]
        common_slots, common_bytes = assign_slots(shared, sizes, strides or {}, self.lanes)

        numbers = {barrier: n for n, barrier in enumerate(barriers, 1)}
        of_grid = frozenset(n for barrier, n in numbers.items() if barrier.callee_name == GRID_BARRIER)
        builder = ContinuationBuilder(
            self.module, kernel, numbers, kept, slots, common_slots, common_bytes, remat, self.lanes,
            not self.arrives_whole, self.waits_for_some,
        )  # fmt: skip
        continuations = [builder.build(0, kernel.entry, [])]
        for number, (resume, values) in enumerate(zip(self._resumes, after, strict=True), 1):
            continuations.append(builder.build(number, resume, values))
        return BarrierProgram(
            tuple(continuations),
            self._object_bytes + slot_bytes,
            slots,
            tuple(tuple(values) for values in kept),
            tuple(span_of(b) for b in barriers),
            common_slots,
            common_bytes,
            self.arrives_whole,
            self.waits_for_some,
            of_grid,
        )


def _require_barriers_in_kernel_only(kernel: Function) -> None:
    for function in _called_from(kernel):
        if function is not kernel and (inner := barriers_of(function)):
            line = f" (line {inner[0].loc.line})" if inner[0].loc else ""
            raise UnsupportedError(
                f"the recursive function {function.name!r} contains a barrier{line}",
                hint="call the barrier from the kernel, or write the recursion as a loop",
            )


def _called_from(kernel: Function) -> list[Function]:
    """The kernel, and all functions that it names or that these name."""
    found = {kernel: None}
    work = [kernel]
    while work:
        for instruction in work.pop().instructions():
            for operand in instruction.operands:
                if isinstance(operand, Function) and operand not in found:
                    found[operand] = None
                    work.append(operand)
    return list(found)


def cut_behind(barriers: Iterable[Instruction]) -> list[BasicBlock]:
    """Let blocks end right behind each barrier; the blocks where execution resumes, which nothing else leads to."""
    return [_resume_behind(barrier) for barrier in barriers]


def _resume_behind(barrier: Instruction) -> BasicBlock:
    block = barrier.block
    assert block is not None
    following = block.instructions[block.instructions.index(barrier) + 1]
    if following.op == "br" and len(block.successors) == 1:
        (resume,) = block.successors
        if len(resume.predecessors) == 1 and not any(resume.phis()) and resume.predicate is block.predicate:
            return resume
    return split_block(following)
