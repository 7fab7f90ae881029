"""Launching compiled kernels.

A kernel's entry point is ``i32 (ptr record, i64 begin, i64 end, i32 worker)``: it runs groups ``begin``
to ``end - 1``, in linear order (x fastest), and returns 0 or why it stopped. `weft.codegen.launch_record`
has the launch record, and the error record that says more of a failure.

All that a launch writes before it enters the pool lies in one frame, filled by one `struct` call: job,
record, error, slots. Frames are kept; launches at the same time have different ones.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from weft.codegen.launch_record import ERROR_WORDS, NOBODY, RECORD
from weft.diag.errors import BarrierDivergence
from weft.options import Overlap
from weft.runtime.arena import give_arenas, take_arenas
from weft.runtime.dispatch import launch_record
from weft.runtime.dispatch_records import LaunchArguments, Record
from weft.runtime.packing import ArgumentPacker
from weft.runtime.parallel import prepare_pool
from weft.runtime.pool import JOB, default_pool, thread_limit
from weft.runtime.printing import printing
from weft.runtime.settings import get_num_threads
from weft.runtime.shape import LaunchShape
from weft.runtime.watching import WATCHERS, LaneCount, bytes_of, filled_lanes, tell
from weft.target.jit import LoadedCode

_LARGEST_ARENA = 1 << 16
"""Of a thread in a launch by machine code: its memory is kept."""

_RECORD_AT = JOB.size
_ERROR_AT = _RECORD_AT + RECORD.size
_SLOTS_AT = _ERROR_AT + 8 * ERROR_WORDS


class Launcher:
    """A compiled kernel that can be launched, by several threads at once.

    Parameters
    ----------
    code
        Holds the kernel's code.
    entry
        Symbol of the entry point.
    packer
        The kernel's parameters.
    arena_bytes
        Bytes of scratch memory that a worker needs, from the extents of a group, the bytes of dynamic
        shared memory, and the number of groups.
    chunk
        Of how many groups those handed out are a multiple, from the block.
    barrier_lines
        The source line of each barrier, numbered from 1.
    prints
        Whether the kernel prints.
    lanes, dimension
        Lanes of a lane group, and the dimension that it runs along.
    goes_on
        Whether lane groups go on from work-group to work-group.
    resident
        Whether groups wait for each other: one worker runs them all.
    lane_count
        What the code counts lanes in, if it does.
    long_runs
        Whether runs of groups are as long as may be.
    """

    def __init__(
        self,
        code: LoadedCode,
        entry: str,
        packer: ArgumentPacker,
        arena_bytes: Callable[[tuple[int, int, int], int, int], int] = lambda block, dynamic, groups: 0,
        chunk: Callable[[tuple[int, int, int]], int] = lambda block: 1,
        barrier_lines: Sequence[int] = (),
        prints: bool = False,
        lanes: int = 1,
        dimension: int = 0,
        goes_on: bool = False,
        resident: bool = False,
        lane_count: LaneCount | None = None,
        long_runs: bool = False,
    ) -> None:
        self._lane_count = lane_count
        self._code = code
        self._entry = code.address(entry)
        self._packer = packer
        self._arena_bytes = arena_bytes
        self._chunk = chunk
        self._long_runs = long_runs
        self._barrier_lines = barrier_lines
        self._prints = prints
        self._resident = resident
        self._lanes = lanes, dimension, goes_on
        self._frames: list[_Frame] = []
        # Padding packs as zeros: the error record is cleared by each launch.
        self._format = struct.Struct(JOB.format + RECORD.format[1:] + f"{8 * ERROR_WORDS}x" + packer.formats)

    def launch(self, shape: LaunchShape, args: Sequence[Any], *, checked: bool = False) -> None:
        """Run the kernel and return when all its groups have run.

        Parameters
        ----------
        shape
            Groups and threads.
        args
            As many as the packer has parameters.
        checked
            Whether the arguments are known to be of the parameters' types.

        Raises
        ------
        ArgumentError
            The arguments do not fit; nothing has run.
        BarrierDivergence
            Threads wait at different barriers; the rest of the groups have not been started.
        """
        slots = self._packer.pack(args, checked=checked)
        prepare_pool()
        groups = shape.groups
        chunk = groups if self._resident else self._chunk(shape.block)
        threads = min(thread_limit(get_num_threads()), -(-groups // chunk))
        arenas = take_arenas()
        table = arenas.reserve(threads, self._arena_bytes(shape.block, shape.dynamic_bytes, groups))
        frame = self._take_frame()
        try:
            self._format.pack_into(
                frame.memory, 0, self._entry, frame.record, groups, threads, self._in_runs(chunk), *shape.grid,
                *shape.block, frame.slots, table, shape.dynamic_bytes, frame.error, *slots,
            )  # fmt: skip
        except (struct.error, OverflowError):
            raise self._packer.blame(args) from None
        run = self._run_printing if self._prints else self._run_quietly
        if WATCHERS:
            counted = (0, 0) if self._lane_count is None else self._lane_count.now()
            start = time.perf_counter()
            status = run(frame, groups, threads)
            self._tell(start, shape, args, threads, counted)
        else:
            status = run(frame, groups, threads)
        give_arenas(arenas)
        if status:
            raise self._divergence(frame.error_words(), shape)
        self._frames.append(frame)

    def _tell(
        self, start: float, shape: LaunchShape, args: Sequence[Any], threads: int, counted: tuple[int, int]
    ) -> None:
        """Tell who looks on of a launch that is done."""
        lanes, dimension, goes_on = self._lanes
        tell(
            "launch", self._packer.kernel, start, grid=shape.grid, block=shape.block, threads=threads,
            bytes=bytes_of(args), lanes=lanes,
            filled=filled_lanes(shape.grid, shape.block, lanes, dimension, goes_on),
            active=None if self._lane_count is None else self._lane_count.active_since(counted),
        )  # fmt: skip

    def record(
        self, shape: LaunchShape, arguments: LaunchArguments | None, overlap: Overlap
    ) -> Record | None:
        """What machine code launches the kernel by; None where a launch takes more than that knows."""
        arena = self._arena_bytes(shape.block, shape.dynamic_bytes, shape.groups)
        by_python = self._prints or self._resident or self._lane_count is not None
        if by_python or arguments is None or arena > _LARGEST_ARENA:
            return None
        chunk = self._chunk(shape.block)
        stops = bool(self._barrier_lines)
        threads = -(-shape.groups // chunk)
        record = launch_record(
            arguments, self._code, self._entry, shape, self._in_runs(chunk), threads, arena, overlap, stops
        )
        if record is not None and stops:
            record.finish = functools.partial(self._stopped, shape)
        return record

    def _in_runs(self, chunk: int) -> int:
        """What a job says of its runs (`weft.runtime.pool_ir`)."""
        return -chunk if self._long_runs else chunk

    def _stopped(self, shape: LaunchShape, words: bytes, args: tuple[Any, ...]) -> None:
        raise self._divergence(struct.unpack(f"@{ERROR_WORDS}q", words), shape)

    def accepts(self, args: Sequence[Any]) -> bool:
        """Whether `launch` would take the arguments."""
        return self._packer.accepts(args)

    def _divergence(self, words: tuple[int, ...], shape: LaunchShape) -> BarrierDivergence:
        """The exception for a launch that stopped, for which there is one reason."""
        group, first, second = words[:3]
        if second == NOBODY:
            return BarrierDivergence(
                f"threads of block {shape.group_at(group)} of {self._packer.kernel} wait for others that do not come, "
                f"line {self._barrier_lines[first - 1]}",
                hint="let as many threads arrive at the barrier as it waits for",
            )
        places = " and ".join(f"line {self._barrier_lines[number - 1]}" for number in (first, second))
        return BarrierDivergence(
            f"threads of block {shape.group_at(group)} of {self._packer.kernel} wait at different barriers, {places}",
            hint="let every thread of a block reach the same syncthreads(), or return before it",
        )

    def _take_frame(self) -> _Frame:
        try:
            return self._frames.pop()
        except IndexError:
            return _Frame(self._format.size)

    def _run_printing(self, frame: _Frame, groups: int, threads: int) -> int:
        with printing():
            return self._run_quietly(frame, groups, threads)

    def _run_quietly(self, frame: _Frame, groups: int, threads: int) -> int:
        pool = default_pool()
        return pool.launch(frame.job, threads) if pool else self._run_alone(frame, groups)

    def _run_alone(self, frame: _Frame, groups: int) -> int:
        entry = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32
        )(self._entry)
        return entry(frame.record, 0, groups, 0)


class _Frame:
    """Memory of one launch, and where its parts are."""

    __slots__ = ("_export", "error", "job", "memory", "record", "slots")

    def __init__(self, size: int) -> None:
        self.memory = bytearray(size)
        self._export = ctypes.c_char.from_buffer(self.memory)
        self.job: int = ctypes.addressof(self._export)
        self.record = self.job + _RECORD_AT
        self.error = self.job + _ERROR_AT
        self.slots = self.job + _SLOTS_AT

    def error_words(self) -> tuple[int, ...]:
        return struct.unpack_from(f"@{ERROR_WORDS}q", self.memory, _ERROR_AT)
