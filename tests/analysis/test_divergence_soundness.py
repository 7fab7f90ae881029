"""No shape that is claimed is contradicted by what the interpreter sees, on random programs."""

from functools import cache

import numpy as np
import pytest

from analysis.divergence_soundness import ClaimChecker, SharingChecker
from analysis.fuzz_progress import Progress
from generators.programs import INPUT_BYTES, SLICE_BYTES, Options, random_program
from transform.chain import canonical, vectorization_stages
from weft.analysis.divergence import Scope, Summaries, analyze_divergence
from weft.analysis.shapes import DOMAINS, Domain, Product
from weft.diag.errors import InterpError
from weft.interp.execute import launch, run_function
from weft.interp.memory.memory import Memory
from weft.interp.program import Program
from weft.ir.writer import write_module

PROGRAMS = 240
TRANSFORMED = 20
GROUPS = 60
PARTS = 8
RUNS = 2
WIDTHS = (4, 8)


@cache
def domain_of(name: str, width: int) -> Domain:
    """One domain for all programs, which keeps what it computed."""
    return DOMAINS[name]((width,))


def check_program(seed: int, options: Options, domain_name: str) -> ClaimChecker:
    """Analyse and run the program of a seed."""
    module = random_program(seed, options)
    width = WIDTHS[seed % len(WIDTHS)]
    domain = domain_of(domain_name, width)
    summaries = Summaries()
    divergence = {
        function.name: analyze_divergence(
            function, domain=domain, summaries=summaries, partial_entry=function.name != "kernel"
        )
        for function in module.definitions()
    }
    checker, sharing = ClaimChecker(divergence), SharingChecker(divergence)
    program = Program(module)
    for run in range(RUNS):
        checker.is_open = False
        hooks = (checker, sharing)
        run_once(program, width, hooks, np.random.default_rng((seed, run)), options.poison)
    wrong = [*checker.contradicted, *sharing.spoilt]
    assert not wrong, f"seed {seed}, {options}\n{wrong[0]}\n{write_module(module)}"
    return checker


def run_once(
    program: Program,
    width: int,
    hooks: tuple,
    rng: np.random.Generator,
    may_fail: bool,
    semantics: str = "FR",
) -> None:
    """One run of a program on random input."""
    memory = Memory()
    given = rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8)
    out = np.zeros(width * SLICE_BYTES, np.uint8)
    arguments = [
        memory.map_array(given), memory.map_array(out), int(rng.integers(-5, 40)), int(rng.integers(0, 1 << 33)),
    ]  # fmt: skip
    try:
        run_function(
            program,
            "kernel",
            arguments,
            width,
            semantics=semantics,
            memory=memory,
            hooks=hooks,
            step_limit=20_000,
        )
    except InterpError:
        # Undefined behaviour, which only programs with poison have: what was seen before it counts.
        assert may_fail


def options_of(seed: int) -> Options:
    """A mix of everything, by seed; every other eight programs are small ones."""
    return Options(
        blocks=6 + seed % 9 if seed % 16 < 8 else 3 + seed % 5,
        statements=2 + seed % 3,
        poison=seed % 4 == 1,
        single_return=seed % 5 != 2,
        horizontal=seed % 3 == 0,
        atomics=seed % 7 == 0,
        memory_share=0.7 if seed % 6 in (1, 3) else 0.3,
        stack_share=0.9 if seed % 6 in (1, 3) else 0.3,
        floats=seed % 6 not in (1, 3),
    )


DOMAIN_NAMES = ("product", "product", "basic", "product", "stride-alignment", "affine")


@pytest.mark.parametrize("part", range(PARTS))
def test_claims_hold_in_random_programs(part: int, record_property) -> None:
    """`PROGRAMS` programs; with ``WEFT_FUZZ=n`` n more than in all fuzzing before."""
    with Progress(f"divergence-{part}", PROGRAMS // PARTS) as progress:
        for number in progress:
            seed = number * PARTS + part
            progress.claims += check_program(seed, options_of(seed), DOMAIN_NAMES[seed % 6]).checked
    assert progress.claims > 1000
    progress.record(record_property)


@pytest.mark.parametrize("part", range(2))
def test_claims_hold_after_each_pass_of_vectorization(part: int, record_property) -> None:
    """P-LLVM with predicates, shadows, total instructions and horizontal operations, under OBL."""
    with Progress(f"divergence-passes-{part}", TRANSFORMED // 2) as progress:
        for number in progress:
            progress.claims += check_transformed(2 * number + part)
    assert progress.claims > 1000
    progress.record(record_property)


def check_transformed(seed: int) -> int:
    """Take the program of a seed through the passes, and check the claims about it after each."""
    options = Options(blocks=6 + seed % 6, floats=False, memory_share=0.5, stack_share=0.6)
    module = canonical(write_module(random_program(seed, options)))
    kernel = module.functions["kernel"]
    width = WIDTHS[seed % len(WIDTHS)]
    domain = domain_of("product", width)
    claims = 0
    for stage in vectorization_stages(module, kernel, lambda: analyze_divergence(kernel, domain=domain)):
        divergence = {"kernel": analyze_divergence(kernel, domain=domain)}
        checker, sharing = ClaimChecker(divergence), SharingChecker(divergence)
        program = Program(module)
        for run in range(RUNS):
            checker.is_open = False
            run_once(program, width, (checker, sharing), np.random.default_rng((seed, run)), False, "OBL")
        claims += checker.checked
        wrong = [*checker.contradicted, *sharing.spoilt]
        assert not wrong, f"seed {seed}, after {stage}\n{wrong[0]}\n{write_module(module)}"
    return claims


def test_claims_about_a_work_group_hold_across_its_lane_groups(record_property) -> None:
    with Progress("divergence-group", GROUPS) as progress:
        for seed in progress:
            progress.claims += check_group(seed)
    assert progress.claims > 1000
    progress.record(record_property)


def check_group(seed: int) -> int:
    """Run a work-group of four lane groups, and check what is claimed of all its threads."""
    module = random_program(seed, Options(blocks=6 + seed % 6, horizontal=True, calls=False))
    kernel = module.functions["kernel"]
    checker = ClaimChecker({"kernel": analyze_divergence(kernel, domain=Product((None,)), scope=Scope.GROUP)})
    rng = np.random.default_rng(seed)
    given = rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8)
    out = np.zeros(16 * SLICE_BYTES, np.uint8)
    arguments = [given, out, int(rng.integers(-5, 40)), int(rng.integers(0, 1 << 33))]
    launch(Program(module), "kernel", arguments, 1, 16, width=4, hooks=(checker,), step_limit=20_000)
    assert not checker.contradicted, f"seed {seed}\n{checker.contradicted[0]}\n{write_module(module)}"
    return checker.checked
