"""Random kernels of loops over arrays as machine code, with scalar replacement by each policy, beside the interpreter.

PYTHONPATH=tests python -m codegen.array_loops_code FIRST LAST
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections import Counter
from collections.abc import Sequence
from unittest import mock

import numpy as np

from codegen.machine_code import ISAS, compile_kernel
from generators.array_loops import REACH, THREADS, array_program
from transform.replaced_loads import ARGUMENTS, SIZES, run
from weft.analysis.questions.solution import Solution
from weft.codegen.lanes import plain_passes
from weft.interp import Program
from weft.ir import BasicBlock, Instruction
from weft.ir.reader import read_module
from weft.switches import Switches

WIDTHS = (2, 4, 8, 16)
POLICIES = ("srqp", "esrqp", "ssrqp", "ssrqp", "ssrqp_s")


class _AllAreWorthIt:
    """A judge that lets all loads be replaced that can be."""

    def not_worth_it(self, solution: Solution) -> set[Instruction]:
        return set()

    def is_worth_hoisting(self, hoisted: Instruction, served: list[Instruction]) -> bool:
        return True

    def is_worth_sinking(
        self, stores: Sequence[Instruction], exits: Sequence[BasicBlock], certain: bool
    ) -> bool:
        return True


def initialized(text: str) -> str:
    """The program with zeros in its stack object: what nobody wrote there is undefined, and may be anything."""
    alloca = next(line for line in text.splitlines() if line.startswith("%stack = alloca"))
    zeros = f"call void @llvm.memset.p0.i64(ptr %stack, i8 0, i64 {8 * REACH}, i1 false)"
    return "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n" + text.replace(alloca, f"{alloca}\n{zeros}")


def check_code(seed: int) -> Counter[str]:
    """Compile the program of a seed for a width, an instruction set and a policy, and run it; what was done."""
    rng = random.Random(f"array loops as code {seed}")
    width, isa, policy = rng.choice(WIDTHS), rng.choice(ISAS), rng.choice(POLICIES)
    text = initialized(array_program(seed))
    switches, level = Switches(scalar_replacement=policy), rng.choice((0, 0, 2))
    unweighed = mock.patch.object(plain_passes, "ReplacedLoads", return_value=_AllAreWorthIt())
    with unweighed if seed % 4 else contextlib.nullcontext():
        code = compile_kernel(text, width, isa, level=level, switches=switches)
    program = Program(read_module(text))
    for n, s in (ARGUMENTS[seed % 3], ARGUMENTS[3 + seed % 2]):
        wanted = run(program, n, s).memory
        generator = np.random.default_rng((n, s))
        arrays = [generator.integers(0, 100, size).astype(np.int32) for size in SIZES]
        code((*arrays, n, s), THREADS)
        got = b"".join(a.tobytes() for a in arrays)
        assert got == wanted, f"seed {seed}, width {width}, {isa.name}, {policy}, n = {n}, s = {s}\n{text}"
    if code.lowered.summary is None:
        return Counter()
    done = code.lowered.summary.replacement
    return Counter(removed=done.removed, inserted=done.inserted, hoisted=done.hoisted, sunk=done.sunk)


def main() -> None:
    """Check the seeds of a range; say what differs."""
    first, last = map(int, sys.argv[1:3])
    done: Counter[str] = Counter()
    wrong = 0
    for count, seed in enumerate(range(first, last), 1):
        try:
            done.update(check_code(seed))
        except AssertionError as error:
            wrong += 1
            print(error, flush=True)
        if count % 500 == 0 or seed == last - 1:
            print(f"{count} programs, {wrong} wrong, {dict(done)}", flush=True)


if __name__ == "__main__":
    main()
