"""Choices between compared floats take over the comparison's flags where these leave NaNs and zeros open."""

import numpy as np
import pytest

from weft import cuda
from weft.ir.reader import read_module
from weft.transform.loops.flag_choices import flag_choices

TEXT = """
define float @choose(float %a, float %b, float %c) {{
  %t = fcmp {flags} ogt float %a, %b
  %s = select i1 %t, float {first}, float {second}
  ret float %s
}}
"""


def flags_of(flags: str, first: str, second: str) -> tuple[str, ...]:
    function = read_module(TEXT.format(flags=flags, first=first, second=second)).functions["choose"]
    flag_choices(function)
    return next(i for i in function.instructions() if i.op == "select").flags


@pytest.mark.parametrize("flags", ["fast", "nnan nsz", "nnan ninf nsz"])
@pytest.mark.parametrize(("first", "second"), [("%a", "%b"), ("%b", "%a")])
def test_minima_and_maxima_are_marked(flags: str, first: str, second: str) -> None:
    assert set(flags_of(flags, first, second)) == set(flags.split())


@pytest.mark.parametrize(
    ("flags", "first", "second"),
    [("", "%a", "%b"), ("nnan", "%a", "%b"), ("nsz", "%a", "%b"), ("fast", "%a", "%c"), ("fast", "%a", "%a")],
)
def test_other_choices_stay(flags: str, first: str, second: str) -> None:
    assert flags_of(flags, first, second) == ()


@pytest.mark.parametrize("fastmath", [False, True])
def test_kernels_take_minima_and_maxima_as_one_instruction_where_signs_of_zeros_are_open(
    fastmath: bool,
) -> None:
    @cuda.jit(fastmath=fastmath)
    def beyond(x, limit, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = max(x[i] - limit, -limit - x[i], np.float32(0))

    x = np.linspace(-2, 2, 64, dtype=np.float32)
    y = np.zeros_like(x)
    beyond[1, 64](x, np.float32(0.5), y)
    np.testing.assert_array_equal(y, np.maximum(np.abs(x) - np.float32(0.5), 0))
    assert ("llvm.maxnum" in str(beyond.inspect_llvm())) == fastmath
