"""Random kernels in OpenCL C two ways: SIMD machine code and the interpreter.

    PYTHONPATH=tests python -m codegen.opencl_programs FIRST END

runs the programs of some seeds and prints what differs.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import msgspec
import numpy as np

from codegen.machine_code import ISAS, compile_kernel
from generators.opencl_expressions import Expressions
from generators.opencl_programs import COUNTS, OUT_WORDS, OpenclProgram, opencl_program
from weft import interp, opencl
from weft.device.debug import interpreted
from weft.device.parameters import converted
from weft.interp.sanitizer.sanitizer import check_launch
from weft.machine.targets import Isa
from weft.opencl.compiled import KernelOrigin
from weft.opencl.geometry import NDRange, nd_range
from weft.opencl.source import ProgramSource, build_source
from weft.target.passes import FINAL_FAST

BATCH = 10
"""Programs in one source: clang is started once for them."""

OPTIONS = "-cl-std=CL3.0 -w"

_DEBUG = re.compile(
    r",? !dbg !\d+|^ *#dbg_.*\n|(?<=^!)(\d+ = )(?:distinct )?!DI.*$|^!llvm\.dbg\.cu.*\n", re.M
)
"""Debug information, which takes as long to read as all else."""

_NODE = re.compile(r"!\d+")
_EMPTY = re.compile(r"^(!\d+) = !\{\}\n", re.M)


@dataclass(frozen=True, slots=True)
class Choice:
    """How the program of a seed is run.

    Parameters
    ----------
    width, isa
        Lanes, and instructions.
    boxed
        Whether code is for the one shape of work-groups, where lane groups may be boxes.
    door
        Whether it goes through `weft.opencl.Program`, for this machine, with all of LLVM's passes.
    """

    program: OpenclProgram
    seed: int
    width: int
    isa: Isa
    boxed: bool
    door: bool


def choice_of(seed: int, large: bool = False) -> Choice:
    """One width and one instruction set for each seed."""
    rng = random.Random(f"opencl run {seed}")
    program = opencl_program(seed, *((4, 3) if large else (2, 1)))
    # Vectors of vectors: what LLVM takes for code of many registers says nothing new.
    widths = (1, 2, 4, 8, 8, 16, 16, 32) if program.vector.width * program.vector.bytes <= 16 else (2, 4, 8)
    width = 32 if program.sub_groups else rng.choice(widths)
    return Choice(program, seed, width, rng.choice(ISAS), rng.random() < 0.4, rng.random() < 0.06)


@dataclass(frozen=True, slots=True)
class Data:
    """What a launch reads and writes."""

    read: np.ndarray
    written: np.ndarray
    counts: np.ndarray
    u: int

    @staticmethod
    def of(choice: Choice) -> Data:
        rng = np.random.default_rng(choice.seed)
        given = rng.integers(0, 100, Expressions.IN_WORDS, dtype=np.uint32)
        given[:64:7] = rng.integers(0, 1 << 32, 10, dtype=np.uint32)
        given[Expressions.SAME :] = rng.integers(0, 8)
        out = np.zeros(OUT_WORDS * prod(choice.program.size), np.uint32)
        return Data(given, out, np.full(COUNTS, 7, np.uint32), int(rng.integers(0, 16)))

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.read, self.written, self.counts, self.u


def differences(choices: Sequence[Choice], sanitized: bool = False) -> Iterator[str]:
    """What differs, in programs that are compiled together."""
    source = build_source("\n".join(choice.program.text for choice in choices), OPTIONS)
    source = msgspec.structs.replace(source, text=_without_debug(source.text))
    for choice in choices:
        wrong = _difference(source, choice, sanitized)
        if wrong is not None:
            yield f"seed {choice.seed}, {choice.isa.name}, width {choice.width}: {wrong}"


def _without_debug(text: str) -> str:
    text = _DEBUG.sub(lambda found: f"{found[1]}!{{}}" if found[1] else "", text)
    mentioned = Counter(_NODE.findall(text))
    return _EMPTY.sub(lambda found: found[0] if mentioned[found[1]] > 1 else "", text)


def _difference(source: ProgramSource, choice: Choice, sanitized: bool) -> str | None:
    program = choice.program
    info = source.kernel(program.name)
    launch = nd_range(info, source.options, program.size, program.local, program.offset)
    origin = KernelOrigin(source, info, not launch.is_plain)
    wanted, got = Data.of(choice), Data.of(choice)
    judge = interpreted(origin)
    for _, grid, block, slots in _parts(origin, launch, wanted):
        width = info.sub_group_size if info.uses_sub_groups else None
        memory = interp.Memory()
        for array in wanted.arguments[:3]:
            memory.map_array(array, "a buffer")
        run = check_launch if sanitized else interp.launch
        run(judge, program.name, slots, grid, block, memory=memory, width=width)
    if choice.door:
        door = opencl.Program(program.text, OPTIONS, width=choice.width).kernel(program.name)
        door(program.size, program.local, *got.arguments, global_offset=program.offset)
    else:
        _run_lanes(choice, origin, launch, got)
    for name, one, other in (("out", got.written, wanted.written), ("counts", got.counts, wanted.counts)):
        places = np.flatnonzero(one != other)
        if places.size:
            item, word = divmod(int(places[0]), OUT_WORDS)
            what = f"word {word} of work-item {item}" if name == "out" else f"count {places[0]}"
            return f"{what} is {one[places[0]]}, not {other[places[0]]} ({places.size} words differ)"
    return None


def _parts(origin: KernelOrigin, launch: NDRange, data: Data) -> Iterator[tuple[bool, Any, Any, list[Any]]]:
    """Parts of a launch: whether rows are whole lane groups, groups, work-items, and slots."""
    packer = origin.packer()
    values, _ = converted(origin.info, data.arguments)
    for part in launch.parts(0):
        own = launch.placement(part) if origin.placed else ()
        slots = packer.pack([*values, None, launch.dimensions, *own], checked=True)
        yield part.shape.block[0] % 32 == 0, part.shape.grid, part.shape.block, slots


def _run_lanes(choice: Choice, origin: KernelOrigin, launch: NDRange, data: Data) -> None:
    info = origin.info
    for whole, grid, block, slots in _parts(origin, launch, data):
        code = compile_kernel(
            origin.module(small=True), choice.width, choice.isa, info.name, level=0, passes=FINAL_FAST,
            whole_rows=whole and not choice.boxed, block=block if choice.boxed else None,
            warp=info.sub_group_size,
        )  # fmt: skip
        status = code.run(slots, block, grid)
        assert status == 0, f"ends with {status}"


def main() -> int:
    first, end = int(sys.argv[1]), int(sys.argv[2])
    found = 0
    for seed in range(first, end, BATCH):
        choices = [choice_of(s, large=True) for s in range(seed, min(end, seed + BATCH))]
        try:
            for wrong in differences(choices):
                print(wrong, flush=True)
                found += 1
        except Exception as error:
            # One of them; which one is said by running them alone.
            print(f"seeds from {seed}: {type(error).__name__}: {error}"[:1500], flush=True)
            found += 1
    print(f"{end - first} programs, {found} findings", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
