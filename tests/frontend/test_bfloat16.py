"""bfloat16 beside ml_dtypes, and where that rounds twice, beside exact arithmetic."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import weft
from weft import bfloat16, cuda
from weft.errors import TypingError
from weft.frontend.python.bfloat import nearest
from weft.frontend.python.device_bfloat import CONVERSIONS

BF = ml_dtypes.bfloat16
ALL = np.arange(1 << 16, dtype=np.uint16).view(BF)
pytestmark = pytest.mark.filterwarnings("ignore:invalid value")
VALUES = np.concatenate(
    [
        np.array([0, -0.0, 1, -1, 0.1, 2.5, 3.5, -7.25, 1000, 3e38, 1e-40, np.inf, -np.inf, np.nan], BF),
        ALL[::4099],
    ]
)
BINARY = {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.divide, "hmin": np.fmin, "hmax": np.fmax,
    "hmin_nan": np.minimum, "hmax_nan": np.maximum, "heq": np.equal, "hlt": np.less, "hle": np.less_equal,
    "hgt": np.greater, "hge": np.greater_equal, "hneu": np.not_equal,
    "hne": lambda a, b: (a < b) | (a > b), "hequ": lambda a, b: ~((a < b) | (a > b)),
    "hltu": lambda a, b: ~(a >= b), "hgeu": lambda a, b: ~(a < b),
    "hadd_sat": lambda a, b: np.where(a + b > 0, np.minimum(a + b, BF(1)), BF(0)),
}  # fmt: skip
UNARY = {
    "hneg": np.negative, "habs": np.abs, "hfloor": np.floor, "hceil": np.ceil, "htrunc": np.trunc, "hrint": np.rint,
    "hsqrt": np.sqrt, "hisnan": np.isnan, "hisinf": lambda x: np.where(np.isinf(x), np.sign(x), BF(0)).astype(np.int32),
}  # fmt: skip
WIDE = {
    "hsin": np.sin, "hcos": np.cos, "htanh": np.tanh, "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10,
    "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda x: 10.0**x, "hrcp": lambda x: 1 / x,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


def launched(function, result, *args):
    @cuda.jit
    def of_one(out, x):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i])

    @cuda.jit
    def of_two(out, x, y):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i], y[i])

    out = np.zeros(args[0].shape, result)
    (of_one if len(args) == 1 else of_two).forall(out.size)(out, *args)
    return out


def same(found, wanted):
    nan = np.isnan(wanted.astype(np.float64))
    assert np.isnan(found.astype(np.float64))[nan].all()
    np.testing.assert_array_equal(found[~nan].view(np.uint8), wanted[~nan].view(np.uint8))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    a, b = (x.ravel() for x in np.meshgrid(VALUES, VALUES))
    with np.errstate(all="ignore"):
        wanted = np.asarray(BINARY[name](a, b))
    found = launched(getattr(cuda.bf16, name), wanted.dtype, a, b)
    if wanted.dtype == BF and "m" in name:
        # Which of two zeros is the lesser one differs between NumPy's machines.
        found, wanted = found + BF(0), wanted + BF(0)
    same(found, wanted)


@pytest.mark.parametrize("name", [*UNARY, *WIDE])
def test_functions_of_one(name):
    with np.errstate(all="ignore"):
        wanted = UNARY[name](ALL) if name in UNARY else WIDE[name](ALL.astype(np.float64)).astype(BF)
    found = launched(getattr(cuda.bf16, name), wanted.dtype, ALL)
    if name in UNARY:
        same(found, wanted)
    else:
        # One step off at the most: the float32 that is rounded is next to the exact value, not it.
        nan = np.isnan(wanted)
        assert (np.isnan(found) == nan).all()
        steps = np.abs(found.view(np.int16)[~nan].astype(int) - wanted.view(np.int16)[~nan].astype(int))
        assert steps.max() <= 1
        assert (steps == 1).mean() < 0.01


def test_operators_are_rounded_as_each_is_done():
    @weft.jit
    def f(a, b):
        return a * b + a, a // b, a % b, -a, abs(a), a**3, a < b

    a, b = BF(1.2265625), BF(-0.71875)
    found = f(a, b)
    assert found[:2] == (float(a * b + a), float(a // b)) and found[3:5] == (float(-a), float(abs(a)))
    assert found[5] == float(a) ** 3 or found[5] == nearest(float(a) ** 3)
    assert found[6] is False


@pytest.mark.spread
@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("number", ["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"])
def test_numbers_are_rounded_once_in_each_direction(number, mode):
    dtype = np.dtype(number)
    rng = np.random.default_rng(3)
    if dtype.kind == "f":
        x = rng.integers(0, 1 << 32, 4000, dtype=np.uint32).view(dtype)
        x = np.concatenate([x, np.array([0, -0.0, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45], dtype)])
    else:
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max, 4000, dtype, endpoint=True) >> rng.integers(
            0, dtype.itemsize * 8, 4000
        ).astype(dtype)
        ties = [(256 + k) << s for k in (1, 3) for s in range(limits.bits - 10)]
        x = np.concatenate(
            [x, np.array([t + d for t in ties for d in (-1, 0, 1)] + [limits.min, limits.max], dtype)]
        )
    function = getattr(cuda.bf16, f"{number}_to_bfloat16_{mode}")
    found = launched(function, BF, x)
    for given, made in zip(x.tolist(), found, strict=True):
        if given != given:
            assert np.isnan(made)
        else:
            assert float(made) == exactly(given, mode), (given, made)


def exactly(value, mode):
    """The neighbour of a number among all of them."""
    if math.isinf(value):
        return value
    middle = nearest(value)
    if mode == "rn" or (not math.isinf(middle) and Fraction(middle) == Fraction(value)):
        return middle
    down = mode == "rd" or (mode == "rz" and value > 0)
    beyond = middle > value
    if beyond != down:
        return middle
    toward = BF(-math.inf) if down else BF(math.inf)
    return float(np.nextafter(BF(middle), toward))


def test_a_double_is_rounded_once():
    ties = 1 + 2.0**-8 * np.arange(1, 256, 2)
    x = np.concatenate(
        [ties, ties + 2.0**-40, ties - 2.0**-40, -ties - 2.0**-40, ties * 2.0**-134, [1e300, -1e300, 1e-300]]
    )
    x = np.concatenate([x, np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)])
    found = launched(bfloat16, BF, x)
    assert [float(v) for v in found] == [nearest(v) for v in x.tolist()]


def test_numpys_function_rounds_as_nearest_does():
    x = np.random.default_rng(1).integers(0, 1 << 32, 3000, dtype=np.uint32).view(np.float32)
    x = x[np.isfinite(x)]
    with np.errstate(over="ignore"):
        assert [nearest(v) for v in x.tolist()] == x.astype(BF).astype(float).tolist()


@pytest.mark.parametrize("number", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_from_it(number):
    for mode, rounds in {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}.items():
        name = f"bfloat16_to_{number}_{mode}"
        if name not in CONVERSIONS:
            continue
        found = launched(getattr(cuda.bf16, name), number, ALL)
        limits = np.iinfo(number)
        exact = rounds(ALL.astype(np.float64))
        for given, made in zip(exact.tolist(), found.tolist(), strict=True):
            wanted = 0 if given != given else min(max(given, limits.min), limits.max)
            assert made == int(wanted)


def test_bits():
    assert (launched(cuda.bf16.bfloat16_as_uint16, np.uint16, ALL) == ALL.view(np.uint16)).all()
    same(launched(cuda.bf16.int16_as_bfloat16, BF, ALL.view(np.int16)), ALL)
    same(launched(cuda.bf16.ushort_as_bfloat16, BF, ALL.view(np.uint16)), ALL)


def test_the_next_one():
    finite = ALL[np.isfinite(ALL)]
    found = launched(lambda a, b: np.nextafter(a, b), BF, finite, np.full_like(finite, 1))
    same(found, np.nextafter(finite, BF(1)))


def test_the_fused_product_is_rounded_once():
    @weft.jit
    def f(a, b, c):
        return cuda.bf16.hfma(a, b, c), cuda.bf16.hfma_sat(a, b, c), cuda.bf16.hfma_relu(a, b, c)

    # The product is in the middle of two neighbours: what is added says which it is, however little.
    a, b = 1 + 2.0**-7, 1 + 2.0**-1
    for c in (2.0**-100, -(2.0**-100), 1e-38, 0.0, -3.0, 5.0, 2.0**127):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        want = _of_fraction(exact)
        assert f(a, b, c) == (want, min(max(want, 0.0), 1.0), max(want, 0.0))
    assert math.isnan(f(math.inf, 0.0, 1.0)[0]) and f(math.inf, 1.0, 1.0)[0] == math.inf


def _of_fraction(exact):
    step = Fraction(2) ** (math.frexp(float(exact))[1] - 8)
    return float(round(exact / step) * step)


def test_elementwise_functions_and_results():
    @weft.vectorize
    def scaled(x, y):
        return x * y + 1

    a = VALUES[:14]
    made = scaled(a, a)
    assert made.dtype == BF
    with np.errstate(all="ignore"):
        same(made, a * a + BF(1))

    @weft.jit
    def made_here(n):
        x = np.empty(n, bfloat16)
        x[:] = 1.5
        return x, x[0], (x * 2).sum()

    x, first, total = made_here(5)
    assert x.dtype == BF and (x == 1.5).all() and (first, total) == (1.5, 15.0)


def test_arguments_are_rounded_where_they_become_one():
    @weft.jit("bfloat16(bfloat16, float32)")
    def f(x, y):
        return x + y

    assert f(1.1, 2.0) == nearest(nearest(1.1) + 2.0) == f(BF(1.1), np.float32(2))
    assert weft.jit(lambda x: x * 1.0)(BF(1.1)) == nearest(1.1)
    assert weft.jit("float32(float32)")(lambda x: x)(BF(1.5)) == 1.5


def test_a_view_of_integers_needs_no_package(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)

    @cuda.jit
    def twice(bits):
        x = bits.view(bfloat16)
        x[cuda.grid(1)] *= 2

    bits = np.array([0x3FC0, 0xC020], np.uint16)
    twice[1, 2](bits)
    assert bits.tolist() == [0x4040, 0xC0A0]
    with pytest.raises(weft.errors.UnsupportedError, match="needs the package ml_dtypes"):
        bfloat16(1.5)


def test_in_shared_memory_in_shuffles_and_printed(capfd):
    @cuda.jit
    def kernel(x):
        i = cuda.threadIdx.x
        block = cuda.shared.array(32, bfloat16)
        own = cuda.local.array(1, cuda.bf16.bfloat16)
        block[i] = x[i]
        own[0] = block[31 - i]
        cuda.syncthreads()
        x[i] = cuda.shfl_down_sync(0xFFFFFFFF, block[31 - i], 1) + own[0]
        if i == 0:
            print(own[0], (cuda.bfloat16(0.1),))

    x = np.arange(32).astype(BF)
    kernel[1, 32](x)
    i = np.arange(32)
    assert (x == (np.maximum(30 - i, 0) + 31 - i).astype(BF)).all()
    assert capfd.readouterr().out == "31.0 (0.10009765625,)\n"


def test_atomics_are_refused():
    @cuda.jit
    def kernel(x):
        cuda.atomic.add(x, 0, 1)

    with pytest.raises(TypingError, match="not supported on elements of bfloat16"):
        kernel[1, 1](np.zeros(1, BF))


def test_numbas_names_mean_the_same():
    numba = pytest.importorskip("numba.cuda.bf16")

    @weft.jit
    def f(x):
        return numba.hadd(numba.bfloat16(x), numba.float32_to_bfloat16_rz(x)), numba.bfloat16_as_int16(
            numba.hneg(x)
        )

    x = np.float32(1.1)
    assert f(x) == (float(BF(1.1) + BF(1.09375)), -(1 << 15) | int(BF(1.1).view(np.uint16)))
