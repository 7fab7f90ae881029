"""Work-group loops: from a function for one thread to the entry point that the runtime launches.

The entry point is ``i32 <kernel>.groups(ptr launch, i64 begin, i64 end, i32 worker)``: it runs groups ``begin``
to ``end - 1`` of the grid (linear index ``x + X*(y + Y*z)``) on one thread of the pool and returns 0, or an
`ErrorCode`. ``launch`` points to the launch record below. Inside, loops over the group's threads call the kernel,
which LLVM inlines; a kernel with barriers runs as its continuations, each for the whole group in turn, under the
checks settled for barriers (Karrenberg and Hack, §2.2 and Fig. 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from weft.codegen.arena import ArenaNeeds
from weft.codegen.loops import counted_loop
from weft.codegen.vectorize import VectorizationSummary
from weft.ir import Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I8, I32, I64, FunctionType, IntType, PointerType, Type, pointer
from weft.transform.barriers import FINISHED, BarrierProgram
from weft.transform.work_items import WORK_ITEM_PARAMETERS, shared_layout

GRID, BLOCK, ARGS, ARENAS, DYNAMIC_BYTES, ERROR = 0, 24, 48, 56, 64, 72
"""Byte offsets in the launch record: i64 grid[3], i64 block[3], ptr args, ptr arenas, i64 dynamic shared bytes,
ptr error record (8 i64). ``args`` has one 8-byte slot for each kernel parameter; ``arenas`` one pointer for each
worker."""

STATE_BYTES = 64
"""Bytes at the start of an arena for the votes of reduction barriers."""


class ErrorCode(IntEnum):
    """What a launch returns; the error record then holds the group's linear index and two more numbers."""

    OK = 0
    BARRIER_DIVERGENCE = 1


@dataclass(frozen=True, slots=True)
class LaneKernel:
    """A kernel widened along x.

    `full` runs `width` threads that begin at ``tid.x``; `partial` has a parameter more, how many of them run.
    `summary` says what became of the full version.
    """

    width: int
    full: Function
    partial: Function
    summary: VectorizationSummary


@dataclass(slots=True)
class _Grid:
    """Values of one group while its loops are built."""

    builder: Builder
    function: Function
    kernel_args: list[Value]
    group: list[Value]
    local_size: list[Value]
    groups: list[Value]
    shared: Value
    dynamic: Value

    def thread_args(self, tid: Sequence[Value]) -> list[Value]:
        """Arguments for the kernel with work-item parameters, in their order."""
        return [
            *self.kernel_args,
            *tid,
            *self.group,
            *self.local_size,
            *self.groups,
            self.shared,
            self.dynamic,
        ]


def build_group_entry(
    module: Module, kernel: Function, program: BarrierProgram | LaneKernel | None
) -> tuple[Function, ArenaNeeds]:
    """Add ``<kernel>.groups`` to `module`.

    Parameters
    ----------
    module
        Holds `kernel` (or its continuations), with work-item parameters.
    kernel
        The kernel, whose name, parameters and shared objects are used.
    program
        The continuations when the kernel has barriers, its SIMD versions when it is widened, else None.
    """
    for part in _parts(kernel, program):
        part.linkage.linkage = "internal"
        part.attributes = (*(a for a in part.attributes if a != "noinline"), "alwaysinline")
    entry_type = FunctionType(I32, (pointer(), I64, I64, I32))
    function = module.add_function(
        Function(f"{kernel.name}.groups", entry_type, ("launch", "begin", "end", "worker"))
    )
    function.attributes = ("nounwind",)
    builder = Builder(function.add_block("entry"))
    launch, begin, end, worker = function.args

    def field(offset: int, type: Type, base: Value = launch) -> Value:
        address = builder.gep(I8, base, (ConstInt(I64, offset),), ("inbounds",))
        return builder.load(type, address, align=8)

    groups = [field(GRID + 8 * d, I64) for d in range(3)]
    local_size = [field(BLOCK + 8 * d, I64) for d in range(3)]
    args = field(ARGS, pointer())
    own = kernel.args[
        : len(kernel.args) - len(WORK_ITEM_PARAMETERS) - (2 if isinstance(program, BarrierProgram) else 0)
    ]
    kernel_args = [_load_argument(builder, args, i, a.type) for i, a in enumerate(own)]
    arena = builder.load(
        pointer(),
        builder.gep(pointer(), field(ARENAS, pointer()), (builder.cast("sext", worker, I64),), ("inbounds",)),
        align=8,
    )
    static_bytes = shared_layout(kernel)[1]
    dynamic_bytes = field(DYNAMIC_BYTES, I64)
    shared = builder.gep(I8, arena, (ConstInt(I64, STATE_BYTES),), ("inbounds",))
    dynamic = builder.gep(I8, shared, (ConstInt(I64, static_bytes),), ("inbounds",))
    rounded = builder.binary(
        "and", builder.binary("add", dynamic_bytes, ConstInt(I64, 63)), ConstInt(I64, -64)
    )
    frames = builder.gep(I8, dynamic, (rounded,), ("inbounds",))
    shared_space = pointer(SHARED_SPACE)
    shared = builder.cast("addrspacecast", shared, shared_space)
    dynamic = builder.cast("addrspacecast", dynamic, shared_space)
    error = field(ERROR, pointer())

    with counted_loop(builder, function, begin, end, "group") as index:
        gx = builder.binary("urem", index, groups[0])
        rest = builder.binary("udiv", index, groups[0])
        gy = builder.binary("urem", rest, groups[1])
        gz = builder.binary("udiv", rest, groups[1])
        grid = _Grid(builder, function, kernel_args, [gx, gy, gz], local_size, groups, shared, dynamic)
        if program is None:
            _run_threads(grid, kernel)
        elif isinstance(program, LaneKernel):
            _run_lane_groups(grid, program)
        else:
            _run_continuations(grid, program, arena, frames, error, index)
    builder.ret(ConstInt(I32, ErrorCode.OK))
    per_thread = program.frame_bytes + 4 if isinstance(program, BarrierProgram) else 0
    return function, ArenaNeeds(STATE_BYTES + static_bytes, per_thread)


def _parts(kernel: Function, program: BarrierProgram | LaneKernel | None) -> list[Function]:
    """The functions that the entry calls."""
    if isinstance(program, BarrierProgram):
        return [c.function for c in program.continuations]
    return [kernel] if program is None else [program.full, program.partial]


def _load_argument(builder: Builder, args: Value, index: int, type: Type) -> Value:
    """Kernel parameter `index` from its 8-byte slot."""
    address = builder.gep(I64, args, (ConstInt(I64, index),), ("inbounds",))
    if isinstance(type, IntType) and type.bits % 8:
        return builder.cast("trunc", builder.load(I8, address, align=8), type)
    if isinstance(type, PointerType) and type.space:
        return builder.cast("addrspacecast", builder.load(pointer(), address, align=8), type)
    return builder.load(type, address, align=8)


def _run_threads(grid: _Grid, kernel: Function) -> None:
    """Call the kernel for each thread of the group."""
    zero = ConstInt(I64, 0)
    builder, function, size = grid.builder, grid.function, grid.local_size
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
        counted_loop(builder, function, zero, size[0], "tx") as x,
    ):
        builder.call(kernel, grid.thread_args([x, y, z]))


def _run_lane_groups(grid: _Grid, kernel: LaneKernel) -> None:
    """Call the SIMD kernel along each row of the group, and its partial version for the rest of the row."""
    zero, width = ConstInt(I64, 0), ConstInt(I64, kernel.width)
    builder, function, size = grid.builder, grid.function, grid.local_size
    whole = builder.binary("and", size[0], ConstInt(I64, -kernel.width))
    rest = builder.cast("trunc", builder.binary("sub", size[0], whole), I32)
    has_rest = builder.icmp("ne", rest, ConstInt(I32, 0))
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
    ):
        with counted_loop(builder, function, zero, whole, "tx", width.value) as x:
            builder.call(kernel.full, grid.thread_args([x, y, z]))
        partial, done = function.add_block("partial"), function.add_block("row.done")
        builder.cond_br(has_rest, partial, done)
        builder.at_end(partial)
        builder.call(kernel.partial, [*grid.thread_args([whole, y, z]), rest])
        builder.br(done)
        builder.at_end(done)


def _run_continuations(
    grid: _Grid, program: BarrierProgram, arena: Value, frames: Value, error: Value, group_index: Value
) -> None:
    """Run continuation after continuation for the whole group until every thread is finished.

    ``states`` holds for each thread the number its last continuation returned. A round runs one continuation for
    the threads that are not finished; `seen` is the barrier they all must report.
    """
    builder, function, size = grid.builder, grid.function, grid.local_size
    zero = ConstInt(I64, 0)
    plane = builder.binary("mul", size[0], size[1])
    threads = builder.binary("mul", plane, size[2])
    states = builder.gep(I8, frames, (builder.binary("mul", threads, ConstInt(I64, program.frame_bytes)),))
    with counted_loop(builder, function, zero, threads, "init") as i:
        builder.store(ConstInt(I32, -1), builder.gep(I32, states, (i,)), align=4)
    votes = arena
    last_votes = builder.gep(I8, arena, (ConstInt(I64, 4),))
    builder.store(ConstInt(I32, 0), votes, align=4)

    before = builder.block
    round_block = function.add_block("round")
    assert before is not None
    builder.br(round_block)
    builder.at_end(round_block)
    current = builder.phi(I32, "barrier")
    current.add_incoming(ConstInt(I32, 0), before)
    next_round = function.add_block("round.next")
    group_done = function.add_block("group.finished")
    seen = Builder(next_round).phi(I32, "seen")
    unknown = function.add_block("round.unreachable")
    Builder(unknown).unreachable()
    cases = [function.add_block(f"continuation.{k}") for k in range(len(program.continuations))]
    builder.switch(current, unknown, list(enumerate(cases)))
    for case, continuation in zip(cases, program.continuations, strict=True):
        builder.at_end(case)
        result = _run_one(grid, program, continuation.function, frames, states, votes, error, group_index)
        assert builder.block is not None
        seen.add_incoming(result, builder.block)
        builder.br(next_round)
    builder.at_end(next_round)
    builder.store(builder.load(I32, votes, align=4), last_votes, align=4)
    builder.store(ConstInt(I32, 0), votes, align=4)
    current.add_incoming(seen, next_round)
    builder.cond_br(builder.icmp("eq", seen, ConstInt(I32, FINISHED)), group_done, round_block)
    builder.at_end(group_done)


def _run_one(
    grid: _Grid,
    program: BarrierProgram,
    continuation: Function,
    frames: Value,
    states: Value,
    votes: Value,
    error: Value,
    group_index: Value,
) -> Value:
    """Run one continuation for each unfinished thread; the barrier they reached, or `FINISHED`."""
    builder, function, size = grid.builder, grid.function, grid.local_size
    zero, finished = ConstInt(I64, 0), ConstInt(I32, FINISHED)
    seen = function.entry.insert(
        0, Instruction("alloca", pointer(), (ConstInt(I32, 1),), attrs={"allocated_type": I32})
    )
    builder.store(finished, seen, align=4)
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
        counted_loop(builder, function, zero, size[0], "tx") as x,
    ):
        row = builder.binary("add", builder.binary("mul", z, size[1]), y)
        thread = builder.binary("add", builder.binary("mul", row, size[0]), x)
        state = builder.gep(I32, states, (thread,))
        run, skip = function.add_block("run"), function.add_block("next.thread")
        builder.cond_br(builder.icmp("ne", builder.load(I32, state, align=4), finished), run, skip)
        builder.at_end(run)
        offset = builder.binary("mul", thread, ConstInt(I64, program.frame_bytes))
        frame = builder.gep(I8, frames, (offset,))
        reached = builder.call(continuation, [*grid.thread_args([x, y, z]), frame, votes])
        builder.store(reached, state, align=4)
        check, note = function.add_block("check"), function.add_block("note")
        builder.cond_br(builder.icmp("eq", reached, finished), skip, check)
        builder.at_end(check)
        before = builder.load(I32, seen, align=4)
        first = builder.icmp("eq", before, finished)
        same = builder.icmp("eq", before, reached)
        diverged = function.add_block("diverged")
        builder.cond_br(builder.select(first, first, same), note, diverged)
        _report_divergence(Builder(diverged), error, group_index, before, reached)
        builder.at_end(note)
        builder.store(reached, seen, align=4)
        builder.br(skip)
        builder.at_end(skip)
    return builder.load(I32, seen, align=4)


def _report_divergence(builder: Builder, error: Value, group: Value, a: Value, b: Value) -> None:
    """Fill the error record with the group and the two barriers, and leave the entry point."""
    for i, value in enumerate((group, builder.cast("zext", a, I64), builder.cast("zext", b, I64))):
        builder.store(value, builder.gep(I64, error, (ConstInt(I64, i),)), align=8)
    builder.ret(ConstInt(I32, ErrorCode.BARRIER_DIVERGENCE))
