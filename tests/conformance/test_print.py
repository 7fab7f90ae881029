"""`print` in kernels: the lines that plain Python prints, in any order of threads."""

import contextlib
import io
from typing import NamedTuple

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import given, small
from conformance.runner import compiled, expected
from weft import cuda

cases = Cases()


def one(*arguments):
    return lambda rng: arguments


@cases.kernel(one(np.arange(6, dtype=np.int32)), grid=1, block=6)
def numbers_of_each_thread(x):
    i = cuda.grid(1)
    print(i, x[i] * x[i])


@cases.kernel(one(np.arange(6, dtype=np.int64)), grid=2, block=3)
def text_between_values(x):
    i = cuda.grid(1)
    if i % 2:
        print("thread", i, "of block", cuda.blockIdx.x, "has", x[i] - 3)


@cases.kernel(one(), grid=1, block=1)
def text_alone():
    print("hello, world")
    print()
    print("100% of {braces}, %d and \\ stay")


@cases.kernel(one(np.array([0.5, -2.25, 1e10, 3.0])), grid=1, block=4)
def floats(x):
    print(x[cuda.grid(1)])


@cases.kernel(
    one(np.array([0, 2**64 - 1, 5], np.uint64), np.array([-1, 127, -128], np.int8)), grid=1, block=3
)
def unsigned_and_narrow(x, y):
    i = cuda.grid(1)
    print(x[i], y[i])


@cases.kernel(lambda rng: (small(rng, np.int32, 5),), grid=1, block=5)
def booleans(x):
    i = cuda.grid(1)
    print("large:", x[i] > 50)


@cases.kernel(one(given(3)(None)), grid=1, block=2)
def in_a_loop(n):
    for k in range(n):
        print(cuda.threadIdx.x, k)


class Point(NamedTuple):
    x: float
    y: int


@cases.kernel(one(np.array([0.5, 2.0])), grid=1, block=2)
def tuples(x):
    i = cuda.grid(1)
    pair = (i, float(x[i]))
    print(pair, (i > 0,), (), ("it's", pair, None), i)
    print(Point(1.5, i), (Point(float(x[i]), 2), "b"))


def _lines(text: str) -> list[str]:
    return sorted(text.splitlines())


@pytest.mark.parametrize("debug", [False, True], ids=["machine", "interpreter"])
@pytest.mark.parametrize("case", cases, ids=str)
def test_prints_what_python_prints(case: Case, debug: bool, capfd: pytest.CaptureFixture[str]) -> None:
    wanted = io.StringIO()
    with contextlib.redirect_stdout(wanted):
        expected(case)
    capfd.readouterr()
    compiled(case, **({"debug": True} if debug else {}))
    assert _lines(capfd.readouterr().out) == _lines(wanted.getvalue())
