"""Random programs three ways: vectorized machine code, scalar machine code and the interpreter."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from codegen.machine_code import ISAS, WIDTHS, compile_kernel
from generators.programs import INPUT_BYTES, MAX_THREADS, SLICE_BYTES, Options, random_program
from weft import interp
from weft.interp import Program
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.writer import write_module
from weft.machine.targets import Isa

RUNS = 3

Arguments = tuple[np.ndarray, np.ndarray, int, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """How the program of a seed is run."""

    seed: int
    width: int
    isa: Isa
    options: Options


def choice_of(seed: int) -> Choice:
    """One width, one instruction set and one mix of statements for each seed."""
    rng = random.Random(f"widening {seed}")
    options = Options(
        blocks=rng.randint(4, 14),
        loop_depth=rng.randint(1, 4),
        statements=rng.randint(2, 4),
        atomics=rng.random() < 0.3,
        memory_share=rng.choice((0.3, 0.6)),
        stack_share=rng.choice((0.3, 0.8)),
        floats=rng.random() < 0.6,
        single_return=rng.random() < 0.7,
        horizontal=rng.random() < 0.25,
    )
    return Choice(seed, rng.choice(WIDTHS), rng.choice(ISAS), options)


def arguments_of(seed: int, run: int) -> tuple[Arguments, int]:
    """The arguments of a run and its number of threads."""
    rng = np.random.default_rng((seed, run))
    given = rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8)
    out = np.zeros(MAX_THREADS * SLICE_BYTES, np.uint8)
    threads = MAX_THREADS if run == 0 else int(rng.integers(1, MAX_THREADS, endpoint=True))
    return (given, out, int(rng.integers(-5, 40)), int(rng.integers(0, 1 << 33))), threads


def check(choice: Choice) -> str | None:
    """What differs, None when nothing does."""
    seed, width = choice.seed, choice.width
    vector = compile_kernel(random_program(seed, choice.options), width, choice.isa)
    judged = Program(random_program(seed, choice.options))
    # What lanes tell each other depends on the width of their group.
    scalar = (
        None
        if asks_for_lanes(judged.module)
        else compile_kernel(random_program(seed, choice.options), 1, choice.isa)
    )
    for run in range(RUNS):
        (given, out, u, n), threads = arguments_of(seed, run)
        wanted = out.copy()
        interp.launch(judged, "kernel", (given, wanted, u, n), 1, threads, width=width)
        ways = {f"width {width}": vector} | ({} if scalar is None else {"width 1": scalar})
        for name, code in ways.items():
            got = out.copy()
            code((given, got, u, n), threads)
            where = _first_difference(got, wanted)
            if where is not None:
                return f"seed {seed}, {choice.isa.name}, {name}, {threads} threads, run {run}: {where}"
    return None


def _first_difference(got: np.ndarray, wanted: np.ndarray) -> str | None:
    places = np.flatnonzero(got.view(np.uint32) != wanted.view(np.uint32))
    if not places.size:
        return None
    thread, word = divmod(int(places[0]), SLICE_BYTES // 4)
    values = [int(a.view(np.uint32)[places[0]]) for a in (got, wanted)]
    return f"word {word} of thread {thread} is {values[0]}, not {values[1]} ({places.size} words differ)"


def text_of(choice: Choice) -> str:
    """The program as text."""
    return write_module(random_program(choice.seed, choice.options))
