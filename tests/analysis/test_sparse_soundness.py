"""No claim of the sparse analyses is contradicted by what the interpreter sees, on random programs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
import pytest

from analysis.polynomial_claims import holds
from generators.programs import INPUT_BYTES, SLICE_BYTES, Options, random_program
from weft.analysis.gated.gated_ssa import GatedSSA
from weft.analysis.gated.sparse import (
    PolynomialDivergence,
    SimpleDivergence,
    polynomial_divergence,
    simple_divergence,
)
from weft.diag.errors import InterpError
from weft.interp import Program, run_function
from weft.interp.lanes import POISON, UNDEF, Lanes
from weft.interp.memory.memory import Memory
from weft.ir import Instruction
from weft.ir.writer import write_module

PROGRAMS = 4_000 if "WEFT_FUZZ" in os.environ else 50
PARTS = 4
RUNS = 2
WIDTH = 8


@dataclass
class Checker:
    """A hook that checks every value when it is assigned, and every branch.

    What a poison lane is frozen to, the compiler chooses so that it fits. The interpreter does not: what it does from
    there on is no execution that claims are about.
    """

    simple: dict[str, SimpleDivergence]
    polynomials: dict[str, list[PolynomialDivergence]]
    checked: int = 0
    contradicted: list[str] = field(default_factory=list)
    poisoned: set[Instruction] = field(default_factory=set)
    thawed: bool = False

    def begin(self) -> None:
        """Another run."""
        self.poisoned.clear()
        self.thawed = False

    def on_value(self, machine, instruction, value, definition_mask) -> None:
        if instruction.op == "freeze" and instruction.operands[0] in self.poisoned:
            self.thawed = True
        if self.thawed or not isinstance(value, Lanes) or value.data.ndim != 1:
            return
        mask = np.broadcast_to(definition_mask, (machine.lanes,))
        if value.flags is not None:
            undefined = np.broadcast_to((value.flags & (POISON | UNDEF)) != 0, (machine.lanes,))
            if (mask & undefined).any():
                self.poisoned.add(instruction)
            mask = mask & ~undefined
        active = np.flatnonzero(mask).tolist()
        if not active:
            return
        data = (
            value.data.view(f"u{value.data.dtype.itemsize}") if value.data.dtype.kind == "f" else value.data
        )
        seen = np.broadcast_to(data, (machine.lanes,)).tolist()
        threads = [((lane,), int(seen[lane])) for lane in active]
        function = instruction.function.name
        self.checked += 1
        if len({v for _, v in threads}) > 1 and not self.simple[function].is_divergent(instruction):
            self.contradict(instruction, "uniform", threads)
        for analysis in self.polynomials[function]:
            state = analysis.state(instruction)
            if state is None or not holds(state, threads):
                self.contradict(instruction, f"{state} {state and (state.nsw, state.nuw)}", threads)

    def contradict(self, instruction: Instruction, claim: str, threads: object) -> None:
        block = instruction.block
        self.contradicted.append(
            f"{instruction!r} in {block!r} of @{instruction.function.name}: {claim} {threads}"
        )

    def on_branch(self, machine, branch, targets) -> None:
        if self.thawed:
            return
        taken = {number for number, threads in targets if threads.count}
        function = branch.function.name
        self.checked += 1
        for analysis in (self.simple[function], *self.polynomials[function]):
            if len(taken) > 1 and not analysis.is_divergent_branch(branch.block):
                self.contradict(branch, "uniform", taken)


def options_of(seed: int) -> Options:
    """A mix of everything, by seed."""
    return Options(
        blocks=6 + seed % 9,
        statements=2 + seed % 3,
        poison=seed % 4 == 1,
        single_return=seed % 5 != 2,
        horizontal=seed % 3 == 0,
        atomics=seed % 7 == 0,
        memory_share=0.6 if seed % 6 == 1 else 0.2,
        floats=seed % 6 == 3,
    )


def run(program: Program, checker: Checker, rng: np.random.Generator, may_fail: bool) -> None:
    """Run a program on random input."""
    checker.begin()
    memory = Memory()
    given = rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8)
    out = np.zeros(WIDTH * SLICE_BYTES, np.uint8)
    arguments = [
        memory.map_array(given), memory.map_array(out), int(rng.integers(-5, 40)), int(rng.integers(0, 1 << 33)),
    ]  # fmt: skip
    try:
        run_function(program, "kernel", arguments, WIDTH, memory=memory, hooks=(checker,), step_limit=20_000)
    except InterpError:
        # Undefined behaviour, which only programs with poison have: what was seen before it counts.
        assert may_fail


@pytest.mark.parametrize("part", range(PARTS))
def test_claims_hold_in_random_programs(part: int) -> None:
    claims = 0
    for seed in range(part, PROGRAMS, PARTS):
        options = options_of(seed)
        module = random_program(seed, options)
        checker = Checker({}, {})
        for function in module.definitions():
            gated = GatedSSA(function)
            checker.simple[function.name] = simple_divergence(function, gated=gated)
            checker.polynomials[function.name] = [
                polynomial_divergence(function, 1, gated=gated),
                polynomial_divergence(function, 2, gated=gated, with_ranges=True),
            ]
        program = Program(module)
        for number in range(RUNS):
            run(program, checker, np.random.default_rng((seed, number)), options.poison)
        assert not checker.contradicted, f"seed {seed}\n{checker.contradicted[0]}\n{write_module(module)}"
        claims += checker.checked
    assert claims > 1000
