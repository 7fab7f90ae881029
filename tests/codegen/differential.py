"""Random programs three ways: vectorized machine code, scalar machine code and the interpreter.

The interpreter is the judge. All bytes of the output are compared, those that the program leaves alone too.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.coverage import kinds_of, passes_of
from codegen.machine_code import ISAS, WIDTHS, MachineCode, compile_kernel
from generators import accesses
from generators.programs import INPUT_BYTES, MAX_THREADS, SLICE_BYTES, Options, random_program
from weft import interp
from weft.diag.remarks import RemarkKind
from weft.interp import Program
from weft.ir import Module
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.writer import write_module
from weft.machine.targets import Isa
from weft.switches import SCALAR_REPLACEMENT, Switches

RUNS = 2

Arguments = tuple[np.ndarray, np.ndarray, int, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """How the program of a seed is run.

    Parameters
    ----------
    level
        How hard LLVM's code generator tries: its time is most of what a program costs.
    compile
        What differs from the usual `weft.options.CompileOptions`.
    """

    seed: int
    width: int
    isa: Isa
    level: int
    compile: dict[str, Any]
    options: Options

    def program(self) -> Module:
        """The program, made anew."""
        return random_program(self.seed, self.options)

    def text(self) -> str:
        """The program as text."""
        return write_module(self.program())


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a program.

    Parameters
    ----------
    wrong
        What differs, None when nothing does.
    kinds, passes
        How many of its instructions are of which kind, and what the passes did.
    """

    wrong: str | None
    kinds: Counter[str]
    passes: Counter[str]


def choice_of(seed: int) -> Choice:
    """One width, one instruction set and one mix of statements for each seed."""
    rng = random.Random(f"widening {seed}")
    width = rng.choice(WIDTHS)
    # A vector of many registers is as much code as many instructions: such programs are fewer, and smaller.
    isa = rng.choices(ISAS, (1, 2, 4)[: len(ISAS)] if width > 16 else None)[0]
    registers = 32 * width // isa.vector_bits
    large = registers <= 2 and seed % 16 == 5
    most = 16 if large else 7 if registers <= 2 else 5 if registers <= 4 else 3
    horizontal = rng.random() < 0.25
    options = Options(
        blocks=rng.randint(3, most),
        loop_depth=rng.randint(1, 4),
        statements=4 if large else rng.randint(2, 3) if registers <= 4 else 2,
        atomics=rng.random() < 0.35,
        memory_share=rng.choice((0.3, 0.6)),
        stack_share=rng.choice((0.3, 0.8)),
        floats=rng.random() < 0.6,
        single_return=rng.random() < 0.7,
        horizontal=horizontal,
        lane_ids=horizontal,
        every_kind=rng.choice((0.0, 0.5, 0.9)),
        half="f16c" in isa.features and rng.random() < 0.3,
        grid=rng.random() < 0.4,
        guard=rng.random() < 0.3,
    )
    level = 3 if registers <= 4 and rng.random() < 0.25 else 0
    compile = {
        "boscc": rng.choice(("auto", "on", "off")),
        "small_arrays": rng.random() < 0.7,
        "switches": Switches(scalar_replacement=rng.choice(SCALAR_REPLACEMENT)),
    }
    return Choice(seed, width, isa, level, compile, options)


def arguments_of(seed: int, run: int) -> Arguments:
    """The arguments of a run: the output holds something everywhere before it, too."""
    rng = np.random.default_rng((seed, run))
    given = rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8)
    out = rng.integers(0, 256, max(accesses.BYTES, MAX_THREADS * SLICE_BYTES), dtype=np.uint8)
    out[accesses.FLOAT_COUNTER : accesses.FLOAT_COUNTER + 4] = 0
    return given, out, int(rng.integers(-5, 70)), int(rng.integers(0, 1 << 33))


def launch_of(choice: Choice, run: int) -> tuple[int, tuple[int, int, int]]:
    """The groups of a run and the extents of each: at most `MAX_THREADS` threads in all."""
    rng = random.Random(f"launch {choice.seed} {run}")
    if not choice.options.grid:
        return 1, (MAX_THREADS if run == 0 else rng.randint(1, MAX_THREADS), 1, 1)
    groups = rng.randint(1, 6)
    columns = rng.randint(1, MAX_THREADS // groups)
    return groups, (columns, rng.randint(1, MAX_THREADS // groups // columns), 1)


def judge(choice: Choice) -> Verdict:
    """Run the program all ways, and see what it is made of."""
    module = choice.program()
    codes = dict(_codes(choice, asks_for_lanes(module)))
    remarks = codes[f"width {choice.width}"].lowered.remarks
    # What cannot be vectorized runs thread after thread.
    lanes = choice.width if any(r.kind is RemarkKind.VECTORIZED for r in remarks) else 1
    return Verdict(_difference(choice, codes, Program(module), lanes), kinds_of(module), passes_of(remarks))


def _codes(choice: Choice, lanes_matter: bool) -> Iterator[tuple[str, MachineCode]]:
    # What lanes tell each other depends on the width of their group. Scalar code has an easy part: a third will do.
    for width in (choice.width,) if lanes_matter or choice.seed % 3 else (choice.width, 1):
        yield (
            f"width {width}",
            compile_kernel(choice.program(), width, choice.isa, level=choice.level, **choice.compile),
        )


def _difference(choice: Choice, codes: dict[str, MachineCode], judged: Program, lanes: int) -> str | None:
    for run in range(RUNS):
        given, out, u, n = arguments_of(choice.seed, run)
        groups, extents = launch_of(choice, run)
        wanted = out.copy()
        interp.launch(judged, "kernel", (given, wanted, u, n), groups, extents, width=lanes)
        for name, code in codes.items():
            got = out.copy()
            code((given, got, u, n), extents, groups)
            places = np.flatnonzero(got != wanted)
            if places.size:
                values = f"byte {places[0]} is {got[places[0]]}, not {wanted[places[0]]}"
                return (
                    f"{choice.isa.name}, {name}, level {choice.level}, {choice.compile}, {groups} groups of "
                    f"{extents}, run {run}: {values} ({places.size} bytes differ)"
                )
    return None
