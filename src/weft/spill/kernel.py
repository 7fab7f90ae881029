"""A kernel with what all policies need to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.diag.errors import PtxError
from weft.machine.gpu_devices import GpuDevice
from weft.machine.gpu_devices import device as named
from weft.machine.gpus import GpuArchitecture, architecture
from weft.ptx.flow import flow_of
from weft.ptx.regalloc.allocation import unspillable
from weft.ptx.regalloc.intervals import pressure_of
from weft.ptx.regalloc.liveness import Liveness, liveness_of
from weft.ptx.regalloc.sizes import register_words
from weft.ptx.regalloc.webs import renamed_webs
from weft.ptx.registers import reads, register_types, writes
from weft.ptx.syntax import Address, Element, Float, Function, Instruction, Integer, Module, Symbol, Variable
from weft.ptx.types import bits_of
from weft.spill.convergence import Convergence, convergence_of, writers_of
from weft.spill.facts import KernelFacts, facts_of
from weft.spill.policies import Value

_MOST_THREADS = 1024
LATER = ("wgmma", "tcgen05")
"""Instructions that read and write registers after they were issued: nobody else may touch these."""


@dataclass(slots=True)
class Kernel:
    """A kernel with what all policies need to know of it; made once for several budgets.

    Attributes
    ----------
    module, source
        Where it is, and the kernel as it was written.
    function
        With webs for registers.
    arch, block, threads
        The architecture; the exact size of work-groups, where known; threads of a work-group at most.
    device
        The GPU of the model by which costs are estimated.
    """

    module: Module
    source: Function
    function: Function
    arch: GpuArchitecture
    block: tuple[int, int, int] | None
    threads: int
    liveness: Liveness
    words: dict[str, int]
    types: dict[str, str]
    writers: dict[str, list[int]]
    fixed: frozenset[str]
    facts: KernelFacts
    convergence: Convergence
    values: dict[str, Value]
    static_shared: int
    device: GpuDevice

    @classmethod
    def of(
        cls,
        module: Module,
        name: str,
        *,
        arch: str | None = None,
        block: tuple[int, int, int] | None = None,
        degree: int = 1,
        device: str | None = None,
    ) -> Kernel:
        """Analyse a kernel.

        Parameters
        ----------
        module, name
            A checked module, and the kernel in it.
        arch, block, degree, device
            As `weft.spill.settings.Settings` has them.

        Raises
        ------
        PtxError
            There is no such kernel.
        """
        source = next((f for f in module.entries() if f.name == name), None)
        if source is None:
            names = ", ".join(f.name for f in module.entries())
            raise PtxError(f"there is no kernel {name}", hint=f"there are {names}")
        function = renamed_webs(source)
        flow = flow_of(function)
        exact, threads = _sizes(source, block)
        facts = facts_of(module, function, degree=degree, block=exact)
        instructions = list(function.instructions())

        def parts(number: int) -> bool:
            i = instructions[number]
            if i.guard is not None and facts.parts(number, i.guard.register.name):
                return True
            return i.opcode == "brx" and any(facts.parts(number, r) for r in _index_of(i))

        machine = architecture(arch or module.target[0])
        gpu = _nearest(machine) if device is None else named(device)
        if device is not None and gpu.arch.capability == machine.capability:
            machine = gpu.arch
        convergence = convergence_of(flow, parts, machine.capability)
        writers = writers_of(flow)
        types = register_types(function)
        fixed = unspillable(function) | _self_guarded(instructions) | _touched_later(instructions)
        made = cls(
            module, source, function, machine, exact, threads, liveness_of(flow), register_words(function), types,
            writers, fixed, facts, convergence, {}, static_shared_of(module, function), gpu,
        )  # fmt: skip
        states = facts.by_register()
        for register, words in made.words.items():
            if words and register in writers:
                sharing = convergence.sharing(
                    writers[register],
                    lambda n: instructions[n].guard is not None and parts(n),
                )
                literal = _literal([instructions[n] for n in writers[register]], bits_of(types[register]))
                bits = bits_of(types[register])
                made.values[register] = Value(register, bits, states.get(register), literal, sharing)
        return made

    @property
    def pressure(self) -> int:
        """Registers of 32 bits that are needed without spilling."""
        return pressure_of(self.liveness, self.words).words


def _nearest(arch: GpuArchitecture) -> GpuDevice:
    """The GPU of the model that is nearest to an architecture."""
    return named("gtx570" if arch.capability < 50 else "h200")


def _index_of(i: Instruction) -> list[str]:
    return list(reads(i))


def _self_guarded(instructions: list[Instruction]) -> frozenset[str]:
    """Registers that are written under a guard which the same instruction writes: it is gone when they are stored."""
    found: set[str] = set()
    for i in instructions:
        if i.guard is not None and i.guard.register.name in writes(i):
            found.update(writes(i))
    return frozenset(found)


def _touched_later(instructions: list[Instruction]) -> frozenset[str]:
    """Registers of instructions that go on behind the next one."""
    found: set[str] = set()
    for i in instructions:
        if i.opcode in LATER:
            found.update((*reads(i), *writes(i)))
    return frozenset(found)


def _sizes(function: Function, block: tuple[int, int, int] | None) -> tuple[tuple[int, int, int] | None, int]:
    """The exact size of work-groups, where it is known, and how many threads there are at most."""
    if block is None and (required := function.directive("reqntid")) is not None:
        x, y, z = [*(int(v) for v in required.values), 1, 1][:3]
        block = (x, y, z)
    if block is not None:
        return block, block[0] * block[1] * block[2]
    most = function.directive("maxntid")
    threads = _MOST_THREADS
    if most is not None:
        threads = 1
        for value in most.values:
            threads *= int(value)
    return None, min(threads, _MOST_THREADS)


def static_shared_of(module: Module, function: Function) -> int:
    """Bytes of shared memory that a kernel has for certain: variables of its own, and those of the module it names."""
    named = {operand for i in function.instructions() for operand in _symbols(i)}
    sizes = [
        _bytes(v)
        for v in (*module.variables(), *(s for s in function.body or () if isinstance(s, Variable)))
        if v.space.startswith("shared") and (v.name in named or v not in module.body)
    ]
    return sum(-(-size // 16) * 16 for size in sizes)


def _symbols(i: Instruction) -> Iterator[str]:
    for operand in i.operands:
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Symbol | Element):
            yield base.name


def _bytes(variable: Variable) -> int:
    size = bits_of(variable.type) // 8 * max(variable.vector, 1)
    for extent in variable.extents:
        size *= extent or 0
    return size


def _literal(instructions: list[Instruction], bits: int) -> int | None:
    """The constant that all of these move, by its bits."""
    found: set[int] = set()
    for i in instructions:
        if i.opcode != "mov" or i.guard is not None or len(i.operands) != 2:
            return None
        source = i.operands[1]
        if not isinstance(source, Integer | Float):
            return None
        if isinstance(source, Integer) and any(m.startswith("f") for m in i.modifiers):
            return None
        found.add(source.bits(bits))
    return found.pop() if len(found) == 1 and bits <= 64 else None
