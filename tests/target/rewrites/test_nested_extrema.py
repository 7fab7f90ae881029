"""A maximum of a constant and of what was chosen with it before is not taken for the latter by LLVM's InstCombine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Program, run_function
from weft.interp.lanes import Lanes
from weft.ir.reader import read_module
from weft.target.machine import TargetSpec
from weft.target.passes import PassList, optimize
from weft.target.rewrites.nested_extrema import without_nested_extrema

INSTCOMBINE = PassList("instcombine", ("instcombine",))
NEST = """define float @f(float %x) {
  %c = fcmp FIRST
  %i = select i1 %c, ONE
  %d = fcmp SECOND
  %o = select i1 %d, TWO
  ret float %o
}
"""
NUMBERS = np.array([np.nan, -0.0, 0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, 1e-42], np.float32)


def nest(first: str, second: str, constant: str, swapped: int) -> str:
    """A nest of two selects; bits of `swapped` exchange the operands of comparisons and selects."""

    def both(number: str, exchange: int, type: str = "") -> str:
        one, other = (number, constant)[:: -1 if exchange else 1]
        return f"float {one}, {type}{other}"

    text = NEST.replace("FIRST", f"{first} {both('%x', swapped & 1)}")
    text = text.replace("ONE", both("%x", swapped & 2, "float "))
    text = text.replace("SECOND", f"{second} {both('%i', swapped & 4)}")
    return text.replace("TWO", both("%i", swapped & 8, "float "))


def run(text: str) -> np.ndarray:
    value = run_function(Program(read_module(text)), "f", [NUMBERS], len(NUMBERS)).value
    assert isinstance(value, Lanes)
    return np.asarray(value.data)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=True) and bool((np.signbit(a) == np.signbit(b))[a == a].all())


@pytest.mark.spread
@pytest.mark.parametrize("constant", ["0.0", "-0.0", "1.0"])
@pytest.mark.parametrize("first", ["ogt", "olt", "ule"])
def test_nests_stay(first: str, constant: str) -> None:
    machine = TargetSpec.host().machine
    for second, swapped in itertools.product(("ogt", "olt", "oge", "ult"), range(16)):
        text = nest(first, second, constant, swapped)
        wanted = run(text)
        once = optimize(text, INSTCOMBINE, machine)
        assert same(run(once), wanted), text
        assert same(run(optimize(once, INSTCOMBINE, machine)), wanted), text


def test_three_in_a_nest() -> None:
    text = nest("ogt", "ogt", "0.0", 3).replace(
        "  ret float %o",
        "  %e = fcmp ogt float %o, 0.0\n  %p = select i1 %e, float %o, float 0.0\n  ret float %p",
    )
    found = optimize(text, INSTCOMBINE, TargetSpec.host().machine)
    assert found.count("select") == 1
    assert same(run(found), run(text))


@pytest.mark.parametrize("constant", ["%x", "1.0"])
def test_others_are_left_alone(constant: str) -> None:
    text = nest("ogt", "ogt", "1.0", 3).replace("0.0", "2.0")
    text = text.replace(
        "fcmp ogt float %i, 1.0", f"fcmp {'nnan ' * (constant != '%x')}ogt float %i, {constant}"
    )
    assert without_nested_extrema(text) is None


def extrema(x, r, n):
    for i in range(n):
        e = np.float32(0.0)
        e = max(e, max(x[i], e))
        r[0, i] = e
        r[1, i] = min(np.float32(3.0), min(x[i], np.float32(3.0)))


def kernel_of_extrema(x, r, n):
    i = cuda.grid(1)
    if i < n:
        e = np.float32(0.0)
        e = max(e, max(x[i], e))
        r[0, i] = e
        r[1, i] = min(np.float32(3.0), min(x[i], np.float32(3.0)))


@pytest.mark.parametrize("door", ["jit", "auto", "kernel"])
def test_numbers_that_are_none_are_not_chosen(door: str) -> None:
    n = len(NUMBERS)
    wanted, got = np.zeros((2, n), np.float32), np.zeros((2, n), np.float32)
    extrema(NUMBERS, wanted, n)
    if door == "kernel":
        cuda.jit(kernel_of_extrema)[1, 32](NUMBERS, got, n)
    else:
        weft.jit(extrema, parallel="auto" if door == "auto" else True)(NUMBERS, got, n)
    assert same(got, wanted)
