"""Random kernels of work-groups two ways: SIMD machine code and the interpreter."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from codegen.machine_code import ISAS, compile_kernel
from generators.group_programs import IN_WORDS, OUT_WORDS, SAME, group_program
from weft import interp
from weft.codegen.launch_record import ErrorCode
from weft.diag.errors import BarrierDivergence
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.targets import Isa
from weft.target.machine import TargetSpec
from weft.target.passes import FINAL_FAST, PassList, optimize

_INLINED = PassList("inlined", ("always-inline", "globaldce"))
"""The interpreter lets nobody wait inside a called function."""

Block = tuple[int, int, int]

WIDTHS = (1, 2, 4, 8, 8, 16, 16, 32)
BOXED: tuple[Block, ...] = (
    (8, 8, 1), (4, 16, 1), (4, 4, 4), (2, 3, 8), (1, 64, 1), (3, 5, 1), (5, 7, 1), (16, 3, 1), (2, 9, 1), (4, 2, 3),
    (3, 3, 5), (9, 2, 2), (1, 1, 12),
)  # fmt: skip
SMALL: tuple[Block, ...] = (
    (1, 1, 1), (2, 1, 1), (5, 1, 1), (8, 1, 1), (16, 1, 1), (17, 1, 1), (31, 1, 1), (32, 1, 1), (40, 1, 1), (64, 1, 1),
    (100, 1, 1), *BOXED,
)  # fmt: skip
LARGE: tuple[Block, ...] = (
    *((n, 1, 1) for n in (128, 200, 255, 256, 257, 500, 512, 1000, 1024)),
    *((16, 16, 1), (32, 32, 1), (7, 100, 1), (33, 5, 1), (8, 8, 8), (5, 6, 7), (10, 10, 10), (1, 30, 30)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """How the program of a seed is run; if `boxed`, by code for the one shape of work-groups."""

    seed: int
    width: int
    isa: Isa
    blocks: tuple[Block, ...]
    text: str
    boxed: bool = False


def choice_of(seed: int, large: bool = False) -> Choice:
    """One width and one instruction set for each seed, and two shapes of work-groups.

    In a third of the choices their rows are whole lane groups, for which there is code of its own. In another third
    lane groups are boxes of threads, and there is one shape.
    """
    rng = random.Random(f"groups {seed}")
    shapes = (*SMALL, *LARGE) if large or seed % 8 == 0 else SMALL
    size = (
        (rng.choice((3, 4, 5)), rng.choice((1, 2, 3))) if large else (rng.choice((2, 3)), rng.choice((1, 2)))
    )
    text = group_program(seed, *size)
    width = rng.choice(WIDTHS)
    if seed % 3 == 0:
        shapes = tuple(shape for shape in shapes if shape[0] % width == 0)
    if seed % 3 == 1:
        return Choice(seed, max(2, width), rng.choice(ISAS), (rng.choice(BOXED),), text, True)
    return Choice(seed, width, rng.choice(ISAS), tuple(rng.sample(shapes, 2)), text)


def check(choice: Choice) -> str | None:
    """What differs, None when nothing does."""
    whole = all(block[0] % choice.width == 0 for block in choice.blocks)
    code = compile_kernel(
        choice.text, choice.width, choice.isa, level=0, passes=FINAL_FAST,
        whole_rows=whole and not choice.boxed, block=choice.blocks[0] if choice.boxed else None,
    )  # fmt: skip
    judged = Program(read_module(optimize(choice.text, _INLINED, TargetSpec.chosen().machine)))
    for run, block in enumerate(choice.blocks):
        rng = np.random.default_rng((choice.seed, run))
        given = rng.integers(-20, 100, IN_WORDS, dtype=np.int32)
        given[SAME:] = rng.integers(-8, 8)
        u = int(rng.integers(0, 16))
        wanted = np.zeros(OUT_WORDS * block[0] * block[1] * block[2], np.int32)
        got = wanted.copy()
        where = f"seed {choice.seed}, {choice.isa.name}, width {choice.width}, block {block}, run {run}"
        try:
            interp.launch(judged, "kernel", (given, wanted, u), 1, block, width=choice.width)
        except BarrierDivergence:
            status = code.run((given, got, u), block)
            if status != ErrorCode.BARRIER_DIVERGENCE:
                return f"{where}: no barrier divergence, but {status}"
            continue
        status = code.run((given, got, u), block)
        if status != ErrorCode.OK:
            return f"{where}: ends with {status}"
        places = np.flatnonzero(got != wanted)
        if places.size:
            thread, word = divmod(int(places[0]), OUT_WORDS)
            values = f"{got[places[0]]}, not {wanted[places[0]]}"
            return f"{where}: word {word} of thread {thread} is {values} ({places.size} words differ)"
    return None
