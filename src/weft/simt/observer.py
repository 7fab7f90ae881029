"""Watches a launch on the interpreter as a GPU would execute it: multiprocessor after multiprocessor, warp by warp."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from weft.interp.machine import Machine
from weft.interp.threads.active import ActiveSet
from weft.ir import BasicBlock, Function, Instruction, Module
from weft.ir.constants import ConstInt
from weft.machine.gpu_devices import GpuDevice, Unit
from weft.machine.gpus import WARP
from weft.simt.memory import Counts, GpuMemory, Request
from weft.simt.places import Places, Space
from weft.simt.result import Batch
from weft.simt.timeline import Step, Timeline, steps_of
from weft.simt.weights import Weight

Array = np.ndarray
Key = tuple[Instruction, Space, str]


class Observer:
    """A hook of the interpreter that keeps the time of one GPU.

    Precondition: lane groups are warps, and the work-groups of each machine are those that a multiprocessor holds at a
    time. Where threads of a warp part, each way is a run of its own, and they join as the interpreter joins them.

    Parameters
    ----------
    device
        The GPU.
    module
        The program.
    weights
        What its instructions become; by default as `weft.simt.weights.weight_of` has it.

    Attributes
    ----------
    accesses
        What the accesses of each instruction took.
    batches
        Each set of work-groups that a multiprocessor held, in order.
    threads, issued
        Instructions that threads executed, and those that warps issued for them, of those that became some.
    """

    def __init__(
        self, device: GpuDevice, module: Module, weights: Mapping[Instruction, Weight] | None = None
    ) -> None:
        self._weights = weights
        self.device = device
        self.accesses: defaultdict[Key, Counts] = defaultdict(Counts)
        self.batches: list[Batch] = []
        self.threads = 0
        self.issued = 0
        self._memory = GpuMemory(device, _local_words(module))
        self._steps: dict[BasicBlock, list[Step]] = {}
        self._machine: Machine | None = None
        self._time = Timeline(device, 0)
        self._pending: tuple[list[Step], Array] | None = None
        self._latency: dict[Instruction, Array] = {}
        self._places = Places()

    def on_block(self, machine: Machine, block: BasicBlock, active: ActiveSet) -> None:
        """Warps with active threads begin a block; what was begun before is done."""
        if machine is not self._machine:
            self.finish()
            self._machine = machine
            self._memory.start(len(self.batches) % self.device.multiprocessors)
            self._time = Timeline(self.device, machine.lane_groups)
            self._places.forget_local()
        self._flush()
        self._begin(machine, _up_to_barrier(self._of(block)), active)

    def on_barrier(self, machine: Machine, instruction: Instruction, active: ActiveSet) -> None:
        """Threads pass a barrier: their warps go on when the last of their work-group is there."""
        if not (instruction.callee_name or "").startswith("weft.barrier"):
            return
        self._flush()
        block = instruction.block
        assert block is not None
        warps = _warps_of(machine, active)[0]
        self._time.meet(warps, machine.geometry.group_lanes // WARP)
        barrier, *behind = self._of(block)[block.instructions.index(instruction) :]
        self._begin(machine, [barrier, *_up_to_barrier(behind)], active)

    def on_access(
        self, machine: Machine, instruction: Instruction, addresses: Array, mask: Array, kind: str, size: int
    ) -> None:
        """Active threads access memory: one request for each of their warps."""
        if not mask.any():
            return
        space, places = self._places.of(machine, addresses, mask, size)
        active, places = mask.reshape(-1, WARP), places.reshape(-1, WARP)
        latency = np.zeros(machine.lane_groups)
        found = self.accesses[instruction, space, kind]
        for warp in np.flatnonzero(active.any(axis=1)).tolist():
            lanes = np.flatnonzero(active[warp])
            request = Request(space, kind, places[warp, lanes], lanes, size, warp)
            counts, latency[warp] = self._memory.access(request)
            found.add(counts)
            turns = counts.transactions if space is Space.SHARED else counts.lines
            self._time.busy[Unit.MEMORY] += max(0, turns - 1) * self.device.transaction
        known = self._latency.get(instruction)
        self._latency[instruction] = latency if known is None else known + latency

    def finish(self) -> None:
        """Note the end of what the latest machine ran."""
        if self._machine is None:
            return
        self._flush()
        time = self._time
        self.batches.append(
            Batch(
                float(time.now.max(initial=0.0)),
                time.issued,
                dict(time.busy),
                self._memory.bytes,
                self._memory.l2_bytes,
                self._machine.geometry.groups,
            )
        )
        self.issued += time.issued
        self._machine = None

    def _begin(self, machine: Machine, steps: list[Step], active: ActiveSet) -> None:
        warps, threads = _warps_of(machine, active)
        self._pending = (steps, warps)
        self.threads += threads * sum(step.issued for step in steps)

    def _of(self, block: BasicBlock) -> list[Step]:
        known = self._steps.get(block)
        if known is None:
            known = self._steps[block] = steps_of(block, self.device, self._weights)
        return known

    def _flush(self) -> None:
        """Execute what has begun, up to the next barrier; its accesses are known by now."""
        if self._pending is None:
            return
        steps, warps = self._pending
        self._pending = None
        if len(warps):
            for step in steps:
                self._time.run(step, warps, self._latency)
                self._latency.pop(step.instruction, None)
        for late in self._latency.values():
            # Accesses behind a call come when the callee's block is the latest.
            self._time.stall(np.arange(len(late)), late)
        self._latency.clear()


def _warps_of(machine: Machine, active: ActiveSet) -> tuple[Array, int]:
    """The numbers of the warps with active threads, and how many threads these are."""
    if not active.count:
        return np.zeros(0, np.int64), 0
    rows = active.mask(machine.lanes).reshape(-1, WARP)
    return np.flatnonzero(rows.any(axis=1)), active.count


def _up_to_barrier(steps: list[Step]) -> list[Step]:
    """The steps before the first barrier, which tells itself when threads pass it."""
    return next((steps[:number] for number, step in enumerate(steps) if step.is_barrier), steps)


def _local_words(module: Module) -> int:
    """32-bit words of the stack objects of all functions."""
    total = 0
    for function in module.definitions():
        total += sum(_bytes(function, i) for i in function.instructions() if i.op == "alloca")
    return max(1, -(-total // 4))


def _bytes(function: Function, alloca: Instruction) -> int:
    count = alloca.operands[0]
    size = function.layout.size(alloca.attrs["allocated_type"])
    return -(-size // 4) * 4 * (count.value if isinstance(count, ConstInt) else 1)
