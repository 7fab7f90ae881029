"""Divergent loops and linearization keep the meaning of programs: checked on the interpreter, FR before, FR and
OBL after each pass, at several widths; once with every branch called divergent, once with what the analysis finds."""

import functools
import os
from pathlib import Path

import numpy as np
import pytest

from generators.programs import Options, random_program
from pairs import in_turn
from transform.chain import (
    SIMPLE_LOOPS,
    SSA,
    analysed,
    canonical,
    check_chain,
    every_branch,
    returned,
    vectorization_stages,
    written,
)
from weft.ir import Module
from weft.ir.clone import clone_module
from weft.ir.reader import read_module
from weft.ir.writer import write_module

FORMS = {"as written": SIMPLE_LOOPS, "optimized": SSA}
KERNELS = Path(__file__).with_name("kernels.ll").read_text()
NAMES = tuple(f.name for f in read_module(KERNELS).definitions())
PROGRAMS = max(60, int(os.environ["WEFT_FUZZ"])) if os.environ.get("WEFT_FUZZ") else 20
PARTS = 4


@functools.cache
def kernels(form: str) -> Module:
    return canonical(KERNELS, FORMS[form])


def arguments(name: str, width: int, n: int) -> list[object]:
    given: list[object] = [np.arange(width, dtype=np.int32) * 3 % 64]
    return given if len(kernels("as written").functions[name].args) == 1 else [*given, n]


@pytest.mark.spread
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_keep_their_results(name: str, form: str) -> None:
    launches = ((1, 4), (4, 9), (16, 0), (64, 6))
    first = (NAMES.index(name) + list(FORMS).index(form)) % 2
    for width, n in launches if os.environ.get("WEFT_FUZZ") else launches[first::2]:
        run = returned(name, arguments(name, width, n), width)
        check_chain(clone_module(kernels(form)), name, run, analysed(width))
    check_chain(clone_module(kernels(form)), name, run, every_branch)


@pytest.mark.parametrize("name", NAMES)
def test_threads_that_do_not_call_change_nothing(name: str) -> None:
    width = 8
    some = ([0, 0, 0, 0, 0, 1, 0, 0], [1, 0, 1, 1, 0, 0, 1, 0])
    for active in in_turn(some, NAMES.index(name), 2):
        run = returned(name, arguments(name, width, 5), width, np.array(active, bool))
        check_chain(clone_module(kernels("as written")), name, run, analysed(width))


def test_no_divergent_branch_is_left() -> None:
    width = 8
    for name in NAMES:
        module = clone_module(kernels("as written"))
        function = module.functions[name]
        facts = analysed(width)
        list(vectorization_stages(module, function, functools.partial(facts, function)))
        after = facts(function)
        assert not [b.name for b in function.blocks if after.is_divergent_branch(b)], name


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_keep_what_they_write(part: int) -> None:
    for seed in range(part * PROGRAMS // PARTS, (part + 1) * PROGRAMS // PARTS):
        check_random_program(seed)


def check_random_program(seed: int) -> None:
    width = (4, 8, 1, 16, 64, 3)[seed % 6]
    options = Options(
        blocks=5 + seed % 10, statements=1 + seed % 3, horizontal=seed % 3 == 0, calls=seed % 4 == 0
    )
    text = write_module(random_program(seed, options), plain=True)
    facts = every_branch if seed % 2 else analysed(width)
    check_chain(canonical(text), "kernel", written(width, seed), facts, gadgets=seed % 3 != 1)
