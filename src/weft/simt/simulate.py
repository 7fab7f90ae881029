"""Running a kernel under the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from weft.analysis.liveness import ValueSet, liveness
from weft.diag.errors import LaunchError
from weft.interp.execute import Argument, launch
from weft.interp.memory.memory import Memory
from weft.interp.program import Program
from weft.ir import BasicBlock, Function, Instruction, Module
from weft.ir.intrinsics import SHARED_ATTRIBUTE
from weft.ir.locations import span_of
from weft.ir.types import FloatType, IntType, Type, VectorType
from weft.machine.gpu_devices import GpuDevice, variations
from weft.machine.gpus import occupancy
from weft.simt.memory import Counts
from weft.simt.observer import Observer
from weft.simt.result import Access, Simulation, total_of
from weft.simt.weights import Weight

_ADDRESSES = 4
"""Registers that machine code needs beside values: addresses under construction, parameters."""


def simulate(
    module: Module,
    kernel: str,
    arguments: Sequence[Argument],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    device: GpuDevice,
    *,
    memory: Memory | None = None,
    dynamic_shared: int = 0,
    registers: int | None = None,
    sensitivity: bool = False,
    weights: Mapping[Instruction, Weight] | None = None,
    hooks: Iterable[object] = (),
) -> Simulation:
    """Run a kernel on the interpreter, and return what the model says of it; arrays hold its results.

    Parameters
    ----------
    module, kernel
        The program, P-LLVM for one thread, and the name of the kernel.
    arguments, memory, dynamic_shared
        As for `weft.interp.launch`.
    grid, block
        Work-groups of the grid, and threads of each, along x, y and z.
    device
        The GPU.
    registers
        32-bit registers of a thread; by default the most that are live at a time and some for addresses.
    sensitivity
        Whether cycles are predicted with each figure of the GPU halved and doubled, too.
    weights
        What instructions become on the GPU; by default as `weft.simt.weights.weight_of` has it.
    hooks
        Who else watches.

    Raises
    ------
    LaunchError
        No work-group fits a multiprocessor.
    """
    function = module.functions[kernel]
    used = _registers(function) if registers is None else registers
    used = min(used, device.arch.thread_registers) if registers is None else used
    threads = block[0] * block[1] * block[2]
    shared = _static_shared(function) + dynamic_shared
    fits = occupancy(device.arch, threads, used, shared)
    if not fits.blocks:
        raise LaunchError(
            f"no work-group of {threads} threads with {used} registers and {shared} bytes of shared memory fits a"
            f" multiprocessor of {device.name}: {fits.limit}",
            hint="take smaller work-groups, or fewer registers",
        )
    groups = grid[0] * grid[1] * grid[2]
    at_once = min(fits.blocks, -(-groups // device.multiprocessors))
    observer = Observer(device, module, weights)
    others = (
        {name: Observer(changed, module, weights) for name, changed in variations(device).items()}
        if sensitivity
        else {}
    )
    launch(
        Program(module), kernel, arguments, grid, block, memory=memory, dynamic_shared=dynamic_shared, width=32,
        at_once=at_once, hooks=(observer, *others.values(), *hooks),
    )  # fmt: skip
    observer.finish()
    cycles, bounds = total_of(observer.batches, device)
    found = Simulation(
        kernel,
        device,
        fits,
        used,
        groups,
        cycles,
        bounds,
        observer.issued,
        observer.threads,
        _accesses(module, observer),
    )
    return replace(found, sensitivity=_changes(found, others)) if others else found


def _changes(found: Simulation, others: dict[str, Observer]) -> dict[str, float]:
    changes = {}
    for name, observer in others.items():
        observer.finish()
        changes[name] = total_of(observer.batches, observer.device)[0] / found.cycles
    return changes


def _accesses(module: Module, observer: Observer) -> tuple[Access, ...]:
    order: dict[Instruction, int] = {}
    for function in module.definitions():
        for instruction in function.instructions():
            order[instruction] = len(order)
    keys = sorted(observer.accesses, key=lambda key: order[key[0]])
    return tuple(
        Access(space, kind, span_of(instruction), _copied(observer.accesses[instruction, space, kind]))
        for instruction, space, kind in keys
    )


def _copied(counts: Counts) -> Counts:
    made = Counts()
    made.add(counts)
    return made


def _static_shared(kernel: Function) -> int:
    end = 0
    for item in filter(None, (kernel.attribute(SHARED_ATTRIBUTE) or "").split(",")):
        size, align = (int(part) for part in item.split(":"))
        end = -(-end // align) * align + size
    return end


def _registers(kernel: Function) -> int:
    """The 32-bit registers that are live at a time at most, and those for addresses."""
    live = liveness(kernel)
    return _ADDRESSES + max(_pressure(block, live.live_out[block]) for block in kernel.blocks)


def _pressure(block: BasicBlock, out: ValueSet) -> int:
    # Parameters are constants of the launch, and in no register.
    alive = {value: None for value in out if isinstance(value, Instruction)}
    most = current = sum(_words(value.type) for value in alive)
    for instruction in reversed(block.instructions):
        if instruction in alive:
            current -= _words(instruction.type)
            del alive[instruction]
        if instruction.op != "phi":
            for operand in instruction.operands:
                if isinstance(operand, Instruction) and operand not in alive:
                    alive[operand] = None
                    current += _words(operand.type)
        most = max(most, current)
    return most


def _words(type: Type) -> int:
    if isinstance(type, IntType) and type.bits == 1:
        # Predicates have registers of their own.
        return 0
    count = type.count if isinstance(type, VectorType) else 1
    bits = type.scalar.bits if isinstance(type.scalar, (IntType, FloatType)) else 64
    return -(-bits * count // 32)
