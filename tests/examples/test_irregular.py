"""Every kernel of irregular control flow agrees with its reference: as SIMD code, between passes, without faults."""

import importlib
import os

import pytest

from examples.irregular.__main__ import NAMES, problems_of
from examples.irregular.problem import Problem
from examples.tiny import IRREGULAR as TINY
from weft import cuda

SIZES = {
    "mandelbrot": 70,
    "collatz": 2_003,
    "binary_search": 1_501,
    "binary_tree": 701,
    "kd_tree": 401,
    "barnes_hut": 150,
    "ambient_occlusion": 37,
    "cross_sections": 301,
    "nab_cascade": 101,
    "barrier_option": 301,
}
SHORT = {
    "mandelbrot": {"LIMIT": 8},
    "ambient_occlusion": {"SAMPLES": 2},
    "cross_sections": {"POINTS": 8, "NUCLIDES": 4, "MATERIALS": 3},
    "barrier_option": {"STEPS": 6},
}
"""What makes threads short enough for the interpreter, which runs some twenty programs."""

CHECKED = (
    NAMES if os.environ.get("WEFT_FUZZ") else ("collatz", "binary_tree", "cross_sections", "barrier_option")
)


def launched(problem: Problem) -> str | None:
    problem.launch()
    return problem.complaint(problem.expected())


@pytest.fixture
def problems(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Problem]:
    """Return the problems of an example, their kernels as if none had been compiled before."""
    name, size = request.param
    module = importlib.import_module(f"examples.irregular.{name}")
    if size == TINY[name]:
        for constant, value in SHORT.get(name, {}).items():
            monkeypatch.setattr(module, constant, value)
    for kernel in vars(module).values():
        if isinstance(kernel, cuda.Kernel):
            monkeypatch.setattr(kernel, "overloads", {})
    return problems_of(name, size)


@pytest.mark.parametrize("problems", SIZES.items(), ids=SIZES, indirect=True)
def test_agrees_with_its_reference(problems: list[Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    # Too large for the interpreter, which checks each pass in the tests.
    monkeypatch.setenv("WEFT_CHECK", "0")
    assert [launched(problem) for problem in problems] == [None] * len(problems)


@pytest.mark.parametrize("problems", [(n, TINY[n]) for n in CHECKED], ids=CHECKED, indirect=True)
def test_no_pass_changes_what_it_computes(problems: list[Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    assert [launched(problem) for problem in problems] == [None] * len(problems)


@pytest.mark.parametrize("problems", TINY.items(), ids=TINY, indirect=True)
def test_has_no_race_nor_other_undefined_step(
    problems: list[Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    for problem in problems:
        monkeypatch.setattr(problem.kernel, "debug", True)
    assert [launched(problem) for problem in problems] == [None] * len(problems)


def test_each_example_is_run_here() -> None:
    assert set(NAMES) == set(SIZES) == set(TINY)


def test_a_wrong_result_is_complained_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    (problem,) = problems_of("collatz", 50)
    problem.launch()
    (expected,) = problem.expected()
    expected[7] += 1
    assert "[7]" in str(problem.complaint((expected,)))
