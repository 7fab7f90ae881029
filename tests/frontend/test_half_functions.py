"""``cuda.fp16`` beside NumPy's float16, and `operator`'s functions beside Python's."""

import math
import operator

import numpy as np
import pytest

import weft
from weft import cuda

OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"),
    *("eq", "ne", "lt", "le", "gt", "ge", "iadd", "isub"),
)
VALUES = np.array(
    [0, -0.0, 1, -1, 0.1, 2.5, 3.5, -7.25, 1000, 65504, 6e-8, np.inf, -np.inf, np.nan], np.float16
)
BINARY = {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.divide, "hmin": np.fmin, "hmax": np.fmax,
    "heq": np.equal, "hne": np.not_equal, "hlt": np.less, "hle": np.less_equal, "hgt": np.greater,
    "hge": np.greater_equal,
}  # fmt: skip
UNARY = {
    "hneg": np.negative, "habs": np.abs, "hfloor": np.floor, "hceil": np.ceil, "htrunc": np.trunc, "hrint": np.rint,
    "hsqrt": np.sqrt,
}  # fmt: skip
WIDE = {
    "hsin": np.sin, "hcos": np.cos, "htanh": np.tanh, "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10,
    "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda x: 10.0**x, "hrcp": lambda x: 1 / x,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_are_numpys(name):
    function = getattr(cuda.fp16, name)
    a, b = (x.ravel() for x in np.meshgrid(VALUES, VALUES))

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(a[i], b[i])

    with np.errstate(all="ignore"):
        wanted = BINARY[name](a, b)
    out = np.zeros(a.size, wanted.dtype)
    kernel.forall(a.size)(a, b, out)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("name", [*UNARY, *WIDE])
def test_functions_of_one_are_numpys(name):
    function = getattr(cuda.fp16, name)

    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(a[i])

    with np.errstate(all="ignore"):
        wanted = (
            UNARY[name](VALUES) if name in UNARY else WIDE[name](VALUES.astype(np.float64)).astype(np.float16)
        )
    out = np.zeros_like(VALUES)
    kernel[1, 32](VALUES, out)
    if name in UNARY:
        np.testing.assert_array_equal(out, wanted)
    else:
        np.testing.assert_allclose(out, wanted, rtol=2e-3)


def test_the_fused_product_is_rounded_once():
    @weft.jit
    def f(a, b, c):
        return cuda.fp16.hfma(a, b, c)

    a, c = np.float16(1 + 2**-10), np.float16(-1 - 2**-9)
    assert f(a, a, c) == np.float16(2**-20) and a * a + c == 0


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and_",
        "or_",
        "xor",
        "lshift",
        "rshift",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "iadd",
        "isub",
    ],
)
def test_operators_have_names(name):
    function = getattr(operator, name)
    assert weft.njit(lambda a, b: function(a, b))(13, 5) == function(13, 5)


def test_operators_of_one_have_names():
    @weft.jit
    def f(a):
        return (
            operator.neg(a),
            operator.pos(a),
            operator.abs(a),
            operator.invert(a),
            operator.not_(a),
            math.pi,
        )

    assert f(-3) == (3, -3, 3, 2, False, math.pi)


def test_types_have_numbas_short_names():
    assert weft.double is weft.float64 and weft.f4 is weft.float32 and weft.types.u1 is weft.uint8
    assert weft.int32(weft.f8).return_type is weft.int32


def test_floats_of_text():
    @weft.jit
    def f(x):
        return x < float("inf"), float("-inf"), float("nan"), float("1e3") * x

    found = f(2.0)
    assert found[:2] == (True, -math.inf) and math.isnan(found[2]) and found[3] == 2000
    with pytest.raises(weft.errors.TypingError, match="could not convert"):
        weft.jit(lambda: float("many"))()
