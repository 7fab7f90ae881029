"""Remainders of what is near the divisor: which are choices, and that they are what divisions give."""

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.interp import Lanes, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.near_remainders import replace_near_remainders

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
FLOORED = (
    "%r = srem i64 %v, %n\n  %low = icmp slt i64 %r, 0\n  %more = select i1 %low, i64 %n, i64 0\n"
    "  %index = add i64 %r, %more\n  %is_low = icmp slt i64 %index, 0\n  %end = select i1 %is_low, i64 %n, i64 0\n"
    "  %result = add i64 %index, %end"
)
"""As Python's ``a[v % n]``."""


def program(number: str, remainder: str, guard: str = "icmp ult i64 %x, %n") -> str:
    return f"""
define i64 @f(i64 range(i64 0, 1024) %x, i64 range(i64 0, 1024) %n) {{
entry:                              ;   entry
  %near = {guard}                   ;   |   |
  br i1 %near, label %in, label %no ;   in  no
in:
  {number}
  {remainder}
  ret i64 %result
no:
  ret i64 -7
}}
"""


def results(text: str) -> list[int]:
    """What comes of all numbers to 6 and divisors from 1 to 6."""
    x, n = (part.reshape(-1) for part in np.meshgrid(np.arange(7), np.arange(1, 7)))
    lanes = [Lanes(part.astype(np.uint64)) for part in (x, n)]
    return run_function(read_module(text), "f", lanes, x.size).data.tolist()


@pytest.mark.parametrize(
    ("number", "remainder"),
    [
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, 0", "%result = urem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, 1", "%result = srem i64 %v, %n"),
        ("%s = add nuw nsw i64 %x, %n\n  %v = add nsw i64 %s, -1", "%result = urem i64 %v, %n"),
        ("%s = add nsw i64 %n, -1\n  %v = add nsw i64 %x, %s", "%result = srem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, %x", "%result = urem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, 1", FLOORED),
        ("%v = add nsw i64 %x, -1", FLOORED),
        ("%v = sub nsw i64 %x, %n", FLOORED),
    ],
)
@pytest.mark.parametrize("guard", ["icmp ult i64 %x, %n", "icmp slt i64 %x, %n"])
def test_what_is_near_is_chosen(number: str, remainder: str, guard: str) -> None:
    text = program(number, remainder, guard)
    module = read_module(text)
    assert replace_near_remainders(module.functions["f"]) == 1
    verify(module)
    made = write_module(module)
    assert "rem" not in made and "is_low" not in made
    assert results(made) == results(text)


@pytest.mark.parametrize(
    ("number", "remainder", "guard"),
    [
        # n may be 1.
        ("%v = add nuw nsw i64 %x, 2", "%result = urem i64 %v, %n", "icmp ult i64 %x, %n"),
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n", "icmp ule i64 %x, %n"),
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n", "icmp ugt i64 %x, %n"),
        # Its remainder is -1 or 0, which is not set right.
        ("%v = add nsw i64 %x, -1", "%result = srem i64 %v, %n", "icmp ult i64 %x, %n"),
        ("%v = add nsw i64 %x, -2", FLOORED, "icmp ult i64 %x, %n"),
        ("%v = add nsw i64 %x, -1", FLOORED, "icmp ule i64 %x, %n"),
        (
            "%v = add nsw i64 %x, -1",
            "%r = srem i64 %v, %n\n  %low = icmp slt i64 %r, 0\n  %more = select i1 %low, i64 %x, i64 0\n"
            "  %result = add i64 %r, %more",
            "icmp ult i64 %x, %n",
        ),
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, 9", "icmp ult i64 %x, 9"),
    ],
)
def test_what_may_be_further_away_is_divided(number: str, remainder: str, guard: str) -> None:
    module = read_module(program(number, remainder, guard))
    before = write_module(module)
    assert replace_near_remainders(module.functions["f"]) == 0
    assert write_module(module) == before


def test_numbers_of_32_bits() -> None:
    text = program("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n")
    text = text.replace("i64", "i32")
    assert replace_near_remainders(read_module(text).functions["f"]) == 1


def spread(u, out):
    x, y = cuda.grid(2)
    high, wide = u.shape
    if y < high and x < wide:
        out[y, x] = u[(y + 1) % high, x] + 2 * u[(y - 1) % high, x] + 3 * u[y, (x + 1) % wide]
        out[y, x] += 5 * u[y, (x + wide - 1) % wide]


def spread_in_loops(u, out):
    high, wide = u.shape
    for y in prange(high):
        for x in prange(wide):
            out[y, x] = u[(y + 1) % high, x] + 2 * u[(y - 1) % high, x] + 3 * u[y, (x + 1) % wide]
            out[y, x] += 5 * u[y, (x + wide - 1) % wide]


@pytest.mark.parametrize("level", LEVELS)
def test_arrays_that_go_on_at_their_other_end(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    kernel, loop = cuda.jit(spread), weft.jit(spread_in_loops)
    for shape in ((1, 1), (3, 1), (1, 40), (4, 33)):
        u = np.random.default_rng(3).integers(0, 99, shape)
        wanted = np.roll(u, -1, 0) + 2 * np.roll(u, 1, 0) + 3 * np.roll(u, -1, 1) + 5 * np.roll(u, 1, 1)
        for run in (kernel[(2, 2), (32, 2)], loop):
            out = np.zeros_like(u)
            run(u, out)
            assert (out == wanted).all()
    assert " rem" not in loop.inspect_llvm() and "srem" not in str(loop.inspect_llvm())
