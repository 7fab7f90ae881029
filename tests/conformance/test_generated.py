"""Random kernels mean the same to plain Python, to the interpreter and to machine code, bit for bit."""

import os
from unittest import mock

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

from conformance.cases import Case
from conformance.programs import FLOATING, SIGNED, THREADS, UNSIGNED, Program, control_flow, expressions
from conformance.runner import check

SEEDS = st.integers(0, 2**32 - 1)

FEWER = settings(max_examples=settings.default.max_examples // 20)
"""Each example compiles a kernel."""


WIDTHS = (None, 1, 2, 4, 8, 16, 32, 64)


def agree(program: Program, seed: int) -> None:
    note(program.source)
    case = Case(
        "generated",
        program.kernel(),
        lambda rng: program.args(np.random.default_rng(seed)),
        grid=2,
        block=THREADS // 2,
    )
    # Every other one has its passes checked, too, which takes as long as all the rest.
    with mock.patch.dict(os.environ, WEFT_CHECK=str(seed // len(WIDTHS) % 2)):
        check(case, width=WIDTHS[seed % len(WIDTHS)])


@FEWER
@given(expressions(SIGNED, UNSIGNED), SEEDS)
def test_integer_expressions_agree(program: Program, seed: int) -> None:
    agree(program, seed)


@FEWER
@given(expressions(FLOATING), SEEDS)
def test_float_expressions_agree(program: Program, seed: int) -> None:
    agree(program, seed)


@FEWER
@given(control_flow(SIGNED, UNSIGNED), SEEDS)
def test_integer_control_flow_agrees(program: Program, seed: int) -> None:
    agree(program, seed)


@FEWER
@given(control_flow(FLOATING), SEEDS)
def test_float_control_flow_agrees(program: Program, seed: int) -> None:
    agree(program, seed)
