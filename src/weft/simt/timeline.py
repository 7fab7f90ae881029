"""When the warps of a multiprocessor issue: in order, each instruction when its operands are there.

A warp issues a block's instructions one after the other and waits where one needs what is not ready, a load for the
most part. Warps do not wait for each other but at barriers; how far they keep the units busy is `weft.simt.result`'s.
A φ is ready when all that it may stand for is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from weft.ir import BasicBlock, Instruction
from weft.ir.values import Value
from weft.machine.gpu_devices import GpuDevice, Unit
from weft.simt.weights import FREE, Weight, weight_of

Array = np.ndarray


class Step(Struct, frozen=True):
    """An instruction as a device executes it.

    Parameters
    ----------
    instruction
        The instruction.
    weight
        What it becomes.
    operands
        The values that it waits for.
    issued
        Instructions that a warp issues for it.
    latency
        Cycles until its result is there, without what memory takes.
    is_barrier
        Whether threads meet there.
    """

    instruction: Instruction
    weight: Weight
    operands: tuple[Value, ...]
    issued: int
    latency: float
    is_barrier: bool


def steps_of(
    block: BasicBlock, device: GpuDevice, weights: Mapping[Instruction, Weight] | None = None
) -> list[Step]:
    """The steps of a block; `weights` says what its instructions become, where `weight_of` is not to."""
    return [
        _step(i, weight_of(i) if weights is None else weights.get(i, FREE), device)
        for i in block.instructions
    ]


def _step(instruction: Instruction, weight: Weight, device: GpuDevice) -> Step:
    latency = weight.chain * device.latency[weight.unit]
    if weight.special:
        latency += device.latency[Unit.SPECIAL]
    operands = tuple(o for o in instruction.operands if isinstance(o, Instruction))
    name = instruction.callee_name or ""
    is_barrier = name.startswith("weft.barrier")
    return Step(instruction, weight, operands, weight.count + weight.special, latency, is_barrier)


class Timeline:
    """The clocks of the warps that a multiprocessor holds.

    Parameters
    ----------
    device
        The GPU.
    warps
        How many there are.

    Attributes
    ----------
    now
        The cycle in which each warp can issue next; shape ``(warps,)``.
    issued
        Instructions issued so far.
    busy
        Cycles for which each unit was busy.
    """

    __slots__ = ("_ready", "busy", "device", "issued", "now")

    def __init__(self, device: GpuDevice, warps: int) -> None:
        self.device = device
        self.now: Array = np.zeros(warps)
        self.issued = 0
        self.busy: dict[Unit, float] = dict.fromkeys(Unit, 0.0)
        self._ready: dict[Value, Array] = {}

    def run(self, step: Step, warps: Array, memory: Mapping[Instruction, Array]) -> None:
        """Let warps, given by their numbers, execute a step; `memory` has the latency of each for accesses."""
        start = self.now[warps]
        for operand in step.operands:
            ready = self._ready.get(operand)
            if ready is not None:
                start = np.maximum(start, ready[warps])
        done = start + step.latency
        waited = memory.get(step.instruction)
        if waited is not None:
            done = start + waited[warps]
        if step.issued:
            self.now[warps] = start + step.issued * self.device.interval
            self.issued += step.issued * len(warps)
            self.busy[step.weight.unit] += (
                step.weight.count * len(warps) * self.device.cycles[step.weight.unit]
            )
            if step.weight.special:
                extra = step.weight.special * len(warps) * self.device.cycles[Unit.SPECIAL]
                self.busy[Unit.SPECIAL] += extra
        if not step.instruction.type.is_void:
            ready = self._ready.get(step.instruction)
            if ready is None:
                ready = self._ready[step.instruction] = np.zeros(len(self.now))
            ready[warps] = done

    def stall(self, warps: Array, cycles: Array) -> None:
        """Let warps wait."""
        self.now[warps] += cycles[warps]

    def meet(self, warps: Array, group: int) -> None:
        """Let warps go on together with those of their work-group, `group` warps each."""
        for number in np.unique(warps // group):
            members = warps[warps // group == number]
            self.now[members] = self.now[members].max()
