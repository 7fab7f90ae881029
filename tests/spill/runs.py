"""Running PTX on the interpreter: in lock step, every access as the text has it."""

from typing import Any

from weft.cuda.c.memory import VariableMemory
from weft.cuda.ptx.build import PtxProgram
from weft.cuda.ptx.simulation import watched as watch
from weft.device.parameters import converted
from weft.device.simulation import mapped_memory
from weft.interp.execute import launch
from weft.interp.program import Program
from weft.ptx.reader import read_module
from weft.spill.module import SpilledModule, spill


def interpret(text: str, grid: int, block: int, *arguments: Any) -> None:
    """Launch the only kernel of a module on the interpreter; arrays are changed in place."""
    parsed = read_module(text, "<test>")
    name = next(parsed.entries()).name
    program = PtxProgram.of(parsed, "<test>")
    watched = watch(program, name)
    values, _ = converted(watched.origin.info, list(arguments))
    packer = watched.origin.packer()
    values = (*values, VariableMemory(program.scope).bytes)
    memory = mapped_memory(packer, values)
    slots = packer.pack(values, checked=True)
    launch(
        Program(watched.module),
        watched.origin.symbol,
        slots,
        (grid, 1, 1),
        (block, 1, 1),
        memory=memory,
        width=32,
    )


def with_spilled(text: str, register: str, policy: str, **options: Any) -> SpilledModule:
    """A kernel so allocated that a register of it is spilled."""
    for registers in (6, 5, 4):
        for allocator in ("linear", "chordal"):
            for farthest in ("last", "next"):
                made = spill(
                    text, registers, policy, block=64, allocator=allocator, farthest=farthest,
                    count_bases=False, **options,
                )  # fmt: skip
                if register in next(iter(made.kernels.values())).places:
                    return made
    raise AssertionError(f"{register} stays in a register")
