"""How often code runs, and what it costs, before anything has run.

A block is taken to run eight times as often as what is around its loop. Costs are those of the GPU model
(`weft.machine.gpu_devices`): cycles of the busiest unit, bandwidth for what misses the cache, and a share of the
latency that grows as warps get fewer. They are a model's.

`expected` compares versions of a kernel as the model does when it runs one: a multiprocessor needs as long as its
slowest warp, or as the resource that is busiest. Spill code that a busier resource hides costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weft.graph.loops import loop_forest
from weft.machine.gpu_devices import GpuDevice, Unit
from weft.ptx.flow import Flow
from weft.ptx.regalloc.rewrite import Inserted
from weft.ptx.syntax import Instruction

_TIMES = 8.0
_DEEPEST = 6
_WAITS = 0.5
"""The share of a latency that a warp waits for, others being under way at the same time."""
_ACCESSES = ("ld", "ldu", "st", "atom", "red")


def frequencies(flow: Flow) -> list[float]:
    """For each instruction, how often it is taken to run."""
    forest = loop_forest(flow.cfg)
    found: list[float] = []
    for block in range(len(flow.blocks)):
        depth, loop = 0, forest.innermost[block]
        while loop is not None:
            depth, loop = depth + 1, loop.parent
        found += [_TIMES ** min(depth, _DEEPEST)] * len(flow.instructions(block))
    return found


def access_weights(kernel) -> dict[str, float]:
    """For each register, how often it is read and written."""
    often = frequencies(kernel.liveness.flow)
    found: dict[str, float] = {}
    number = 0
    for row in kernel.liveness.accesses:
        for access in row:
            for name in kernel.liveness.names(access.reads | access.writes):
                found[name] = found.get(name, 0.0) + often[number]
            number += 1
    return found


def cost_of(
    inserted: Iterable[Inserted], often: list[float], device: GpuDevice, *, local: int, warps: int
) -> dict[str, float]:
    """Cycles of the model for each warp, by the value that spill code is for (empty: set-up and moves).

    Parameters
    ----------
    inserted, often
        What was inserted, and how often each instruction of the source runs.
    device
        The GPU.
    local
        Bytes of local memory of a thread, which decide how much of it the cache holds.
    warps
        That a multiprocessor holds.
    """
    footprint = max(1, local * 32 * warps)
    missed = max(0.0, 1.0 - device.l1 / footprint)
    found: dict[str, float] = {}
    for each in inserted:
        times = often[each.at] if each.at >= 0 else 1.0
        cycles = instruction_cost(each.instruction, device, missed, warps)
        found[each.register] = found.get(each.register, 0.0) + times * cycles
    return found


def instruction_cost(i: Instruction, device: GpuDevice, missed: float, warps: int) -> float:
    """Cycles that an inserted instruction takes for a warp."""
    words = 2 if i.modifiers and i.modifiers[-1].endswith("64") else 1
    waits = 1 / max(1, warps)
    if i.opcode in ("ld", "st") and "local" in i.modifiers:
        hit = device.cycles[Unit.MEMORY] + (words - 1) * device.transaction + device.hit_latency * waits
        miss = 128 * words / device.bandwidth + device.memory_latency * waits
        return hit + missed * miss
    if i.opcode in ("ld", "st"):
        return device.cycles[Unit.MEMORY] + device.shared_latency * waits
    return words * max(device.cycles[Unit.ALU], 1 / device.issue) + device.latency[Unit.ALU] * waits


@dataclass(frozen=True, slots=True)
class Expected:
    """Cycles that a multiprocessor full of warps needs, by what it needs them for."""

    latency: float
    issue: float
    memory: float
    bandwidth: float

    @property
    def cycles(self) -> float:
        """What limits it."""
        return max(self.latency, self.issue, self.memory, self.bandwidth)


def expected(
    source: Iterable[Instruction],
    inserted: Iterable[Inserted],
    often: list[float],
    device: GpuDevice,
    *,
    local: int,
    warps: int,
) -> Expected:
    """What a kernel with spill code is expected to need.

    Parameters
    ----------
    source
        The instructions as they were.
    inserted, often, device, local, warps
        As for `cost_of`.
    """
    missed = max(0.0, 1.0 - device.l1 / max(1, local * 32 * warps))
    latency = issue = memory = bandwidth = 0.0
    rows = [(i, often[number]) for number, i in enumerate(source)]
    rows += [(each.instruction, often[each.at] if each.at >= 0 else 1.0) for each in inserted]
    for i, times in rows:
        words = 2 if i.modifiers and i.modifiers[-1].endswith("64") else 1
        if i.opcode not in _ACCESSES or "param" in i.modifiers:
            issue += times * words / device.issue
            latency += times * device.latency[Unit.ALU] * _WAITS
            continue
        space = next((m for m in i.modifiers if m in ("local", "shared", "global")), "global")
        issue += times / device.issue
        memory += times * (device.cycles[Unit.MEMORY] + (words - 1) * device.transaction)
        misses = {"local": missed, "shared": 0.0}.get(space, 1.0)
        bandwidth += times * misses * 128 * words / device.bandwidth
        if i.opcode != "st":
            near = device.shared_latency if space == "shared" else device.hit_latency
            latency += times * (near + misses * (device.memory_latency - near)) * _WAITS
    return Expected(latency, warps * issue, warps * memory, warps * bandwidth)
