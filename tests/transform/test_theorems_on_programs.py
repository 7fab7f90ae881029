"""Moll's Theorems 4 and 5 on random programs, through the divergent loop transform and linearization.

The graphs of `test_partial_linearization` have no values; here programs run, loops and all, and what is counted is
how often each block runs for a lane group.
"""

from collections import Counter

import numpy as np
import pytest

from generators.programs import INPUT_BYTES, SLICE_BYTES, Options, random_program
from transform.chain import analysed, canonical, vectorization_stages
from weft.analysis.divergence import Divergence
from weft.interp import Memory, Program, run_function
from weft.ir import BasicBlock, Function, Module
from weft.ir.writer import write_module

WIDTH = 8
PROGRAMS = 60
PARTS = 4


class Visits:
    """How often each block runs."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()

    def on_block(self, machine, block: BasicBlock, active) -> None:
        self.runs[block.name] += 1


def visits(module: Module, seed: int) -> Counter[str]:
    """Run the kernel once and count."""
    rng = np.random.default_rng(seed)
    memory = Memory()
    given = memory.map_array(rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8))
    out = memory.map_array(np.zeros(WIDTH * SLICE_BYTES, np.uint8))
    hook = Visits()
    arguments = [given, out, int(rng.integers(-5, 40)), int(rng.integers(0, 1 << 33))]
    run_function(Program(module), "kernel", arguments, WIDTH, memory=memory, hooks=[hook], step_limit=20_000)
    return hook.runs


def uniform_blocks(function: Function, facts: Divergence) -> list[str]:
    """Blocks that all threads of the group run, or none does."""
    return [b.name for b in function.blocks if not facts.has_varying_predicate(b)]


@pytest.mark.parametrize("part", range(PARTS))
def test_theorem_4_a_block_of_uniform_predicate_runs_as_often_as_it_ran(part: int) -> None:
    found = 0
    for seed in range(part, PROGRAMS, PARTS):
        options = Options(blocks=5 + seed % 8, statements=2, calls=False, trips=3)
        module = canonical(write_module(random_program(seed, options), plain=True))
        function = module.functions["kernel"]
        facts = analysed(WIDTH)(function)
        uniform = uniform_blocks(function, facts)
        before = visits(module, seed)
        list(vectorization_stages(module, function, lambda f=function: analysed(WIDTH)(f)))
        after = visits(module, seed)
        assert {name: after[name] for name in uniform} == {name: before[name] for name in uniform}, seed
        found += sum(before[name] == 0 for name in uniform)
    assert found, "no block was skipped"


@pytest.mark.parametrize("part", range(PARTS))
def test_theorem_5_uniform_branches_of_blocks_of_uniform_predicate_stay(part: int) -> None:
    found = 0
    for seed in range(part, PROGRAMS, PARTS):
        options = Options(blocks=5 + seed % 8, statements=1, calls=False, memory=False, stack=False)
        module = canonical(write_module(random_program(seed, options), plain=True))
        function = module.functions["kernel"]
        facts = analysed(WIDTH)(function)
        branches = {
            b: len(set(b.terminator.blocks))
            for b in function.blocks
            if not facts.has_varying_predicate(b) and not facts.is_divergent_branch(b)
        }
        list(vectorization_stages(module, function, lambda f=function: analysed(WIDTH)(f)))
        for block, ways in branches.items():
            assert len(set(block.terminator.blocks)) == ways, f"seed {seed}: {block.name}"
            found += ways > 1
    assert found > PROGRAMS // PARTS // 4
