"""Functions of complex numbers: at infinities, NaN and zeros as C99's Annex G has them, elsewhere within a few ulp.

The reference is Python's `cmath`, and NumPy where that raises. Where the two differ Annex G leaves a sign open, or has
been amended since, and either will do; beside a NaN part the sign of the other one is not compared.
"""

import cmath
import contextlib
import functools
import math
import os
import sys

import mpmath
import numpy as np
import pytest

import weft
from conformance.runner import passes_checked, ulp_distance
from weft import cuda, prange

NAMES = (
    "exp", "sinh", "cosh", "sin", "cos", "log", "log10", "sqrt", "tanh", "tan", "asinh", "asin", "acos", "acosh",
    "atanh", "atan",
)  # fmt: skip
ULP = 8
EVERY = bool(os.environ.get("WEFT_FUZZ"))
_ORDINARY = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, math.inf, -math.inf, math.nan)
_EXTREME = {
    np.complex128: (1e-310, 1e-30, -1e30, 1e300, -720.0, 720.0, 1.7e308),
    np.complex64: (1e-42, 1e-15, -1e15, 1e38, -95.0, 95.0, 3.3e38),
}
DTYPES = tuple(_EXTREME)


def functions(out, z):
    i = cuda.grid(1)
    if i < z.size:
        out[0, i] = cmath.exp(z[i])
        out[1, i] = cmath.sinh(z[i])
        out[2, i] = cmath.cosh(z[i])
        out[3, i] = cmath.sin(z[i])
        out[4, i] = cmath.cos(z[i])
        out[5, i] = cmath.log(z[i])
        out[6, i] = cmath.log10(z[i])
        out[7, i] = cmath.sqrt(z[i])
        out[8, i] = cmath.tanh(z[i])
        out[9, i] = cmath.tan(z[i])
        out[10, i] = cmath.asinh(z[i])
        out[11, i] = cmath.asin(z[i])
        out[12, i] = cmath.acos(z[i])
        out[13, i] = cmath.acosh(z[i])
        out[14, i] = cmath.atanh(z[i])
        out[15, i] = cmath.atan(z[i])


def grid(dtype):
    """Return all pairs of special values."""
    values = _ORDINARY + _EXTREME[dtype]
    return np.array([complex(a, b) for a in values for b in values]).astype(dtype)


def _authorities(name, z):
    """What `cmath` and NumPy say of a number in double precision."""
    numpy_name = name.replace("a", "arc", 1) if name[0] == "a" else name
    with np.errstate(all="ignore"):
        found = [complex(getattr(np, numpy_name)(np.complex128(z)))]
    with contextlib.suppress(ValueError, OverflowError):
        found.append(getattr(cmath, name)(z))
    return found


def _same(got, wanted, sign_matters):
    if not sign_matters and not math.isnan(got):
        got, wanted = abs(got), abs(wanted)
    return int(ulp_distance(np.array([got]), np.array([wanted], got.dtype))[0]) <= ULP


def assert_functions(out, z):
    part = z.real.dtype.type
    with np.errstate(over="ignore"):
        for name, row in zip(NAMES, out, strict=True):
            for number, got in zip(z, row, strict=True):
                wanted = _authorities(name, complex(number))
                for mine, other, which in ((got.real, got.imag, "real"), (got.imag, got.real, "imag")):
                    values = [part(getattr(w, which)) for w in wanted]
                    assert any(_same(mine, w, not math.isnan(other)) for w in values), (
                        f"{name}({number}) is {got}, not {wanted}"
                    )


def _run(z, **options):
    out = np.zeros((len(NAMES), z.size), z.dtype)
    cuda.jit(**options)(functions).forall(z.size)(out, z)
    return out


@functools.cache
def _machine_code(dtype):
    """What machine code computes of special and of ordinary numbers."""
    special, ordinary = grid(dtype), _ordinary(np.random.default_rng(7), dtype)
    # All functions in one kernel: its passes take as long to check as all the rest, and others have some of them.
    with passes_checked(EVERY):
        out = _run(np.concatenate([special, ordinary]))
    return out[:, : special.size], ordinary, out[:, special.size :]


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    assert_functions(_machine_code(dtype)[0], grid(dtype))


@pytest.mark.parametrize(
    "options", [{"debug": True}, *([{"width": 1}] if EVERY else [])], ids=lambda options: next(iter(options))
)
def test_special_values_without_lanes(options):
    z = grid(np.complex128)
    assert_functions(_run(z, **options), z)


def _ordinary(rng, dtype, count=40):
    """Return numbers of all sizes, and numbers near 0, the units, and the unit circle."""
    angles = np.exp(1j * rng.uniform(-np.pi, np.pi, count))
    near = 10.0 ** rng.uniform(-14, -1, count)
    sizes = np.exp(rng.uniform(-6, 4, count))
    far_apart = 10.0 ** rng.uniform(-30, 2, count) + 1j * 10.0 ** rng.uniform(-30, 2, count)
    units = rng.choice([1, -1, 1j, -1j], count)
    return np.concatenate([angles * sizes, angles * (1 + near), units + angles * near, far_apart]).astype(
        dtype
    )


def _units_off(got, exact):
    kind = type(got)
    with np.errstate(over="ignore"):
        rounded = kind(float(exact))
    if not np.isfinite(rounded) or abs(float(exact)) < np.finfo(kind).tiny:
        return 0.0 if abs(got) <= np.finfo(kind).tiny or got == rounded else math.inf
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(float(np.spacing(abs(rounded)))))


@pytest.mark.parametrize("dtype", DTYPES)
def test_accuracy(dtype):
    _, z, out = _machine_code(dtype)
    with mpmath.workprec(300):
        for name, row in zip(NAMES, out, strict=True):
            for number, got in zip(z, row, strict=True):
                exact = getattr(mpmath, name)(mpmath.mpc(complex(number)))
                worst = max(_units_off(got.real, exact.real), _units_off(got.imag, exact.imag))
                assert worst <= ULP, f"{name}({number}) is {got}, not {complex(exact)}: {worst:.1f} ulp"


def test_doors_agree():
    z, out = grid(np.complex128), _machine_code(np.complex128)[0]

    @weft.vectorize
    def elementwise(z):
        return np.arctan(z)

    @weft.jit
    def loop(z, out):
        for i in prange(z.size):
            out[i] = cmath.acosh(z[i])

    looped = np.zeros_like(z)
    loop(z, looped)
    np.testing.assert_array_equal(elementwise(z), out[NAMES.index("atan")])
    np.testing.assert_array_equal(looped, out[NAMES.index("acosh")])
    assert elementwise(np.ones(2, np.complex64)).dtype == np.complex64


def others(out, flags, z, r):
    i = cuda.grid(1)
    if i < z.size:
        out[0, i], out[1, i] = cmath.polar(z[i])
        out[2, i] = np.angle(z[i])
        out[3, i] = cmath.rect(r[i], z[i].imag)
        out[4, i] = cmath.log(z[i], 2)
        out[5, i] = cmath.sqrt(r[i])
        out[6, i] = abs(z[i])
        flags[0, i] = cmath.isnan(z[i])
        flags[1, i] = cmath.isinf(z[i])
        flags[2, i] = cmath.isfinite(z[i])
        flags[3, i] = cmath.isclose(z[i], z[i] * (1 + 1e-12))
        flags[4, i] = cmath.isclose(z[i], r[i], rel_tol=0.1, abs_tol=2)


@pytest.mark.parametrize("options", [{}, {"debug": True}], ids=["machine", "interpreter"])
def test_other_functions(options):
    z = grid(np.complex128)
    r = np.array([1.0, -2.0, math.inf, 0.0, -math.inf, math.nan, 3.0])[np.arange(z.size) % 7]
    out, flags = np.zeros((7, z.size), z.dtype), np.zeros((5, z.size), np.bool_)
    cuda.jit(**options)(others).forall(z.size)(out, flags, z, r)
    for row, compute in (
        (0, lambda z, r: cmath.polar(z)[0]),
        (1, lambda z, r: cmath.polar(z)[1]),
        (2, lambda z, r: cmath.phase(z)),
        (3, lambda z, r: cmath.rect(r, z.imag)),
        (4, lambda z, r: cmath.log(z, 2)),
        (5, lambda z, r: cmath.sqrt(r)),
        (6, lambda z, r: abs(z)),
    ):
        for number, real, got in zip(z, r, out[row], strict=True):
            try:
                wanted = complex(compute(complex(number), float(real)))
                if row == 4 and sys.version_info >= (3, 14) and not cmath.isfinite(number):
                    # Python's quotients of infinities keep them from there on.
                    continue
            except (ValueError, OverflowError):
                continue
            for mine, theirs, other in (
                (got.real, wanted.real, wanted.imag),
                (got.imag, wanted.imag, wanted.real),
            ):
                assert _same(mine, theirs, not math.isnan(other)), (row, number, real, got, wanted)
    for row, test in ((0, cmath.isnan), (1, cmath.isinf), (2, cmath.isfinite)):
        assert flags[row].tolist() == [test(complex(number)) for number in z]
    with np.errstate(all="ignore"):
        near = [cmath.isclose(complex(n), complex(n * (1 + 1e-12))) for n in z]
    assert flags[3].tolist() == near
    near = [cmath.isclose(complex(n), float(x), rel_tol=0.1, abs_tol=2) for n, x in zip(z, r, strict=True)]
    assert flags[4].tolist() == near


def arithmetic(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] * y[i]
        out[1, i] = x[i] / y[i]
        out[2, i] = np.reciprocal(y[i])
        out[3, i] = np.square(x[i])


def _product(x, y):
    out = np.empty_like(x)
    out.real = x.real * y.real - x.imag * y.imag
    out.imag = x.real * y.imag + x.imag * y.real
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_of_special_values(dtype):
    z = grid(dtype)
    x, y = (a.ravel() for a in np.meshgrid(z[::3], z[::4]))
    out = np.zeros((4, x.size), dtype)
    cuda.jit(arithmetic).forall(x.size)(out, x, y)
    with np.errstate(all="ignore"):
        # NumPy multiplies with fused operations where the machine has them.
        wanted = np.stack([_product(x, y), x / y, 1 / y, _product(x, x)])
    part = np.dtype(x.real.dtype)
    for row, (mine, theirs) in enumerate(zip(out, wanted, strict=True)):
        distance = ulp_distance(mine.view(part), theirs.view(part))
        assert distance.max() <= 4, (row, x[distance.argmax() // 2], y[distance.argmax() // 2])


def powers(out, x, y, n):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] ** y[i]
        out[1, i] = x[i] ** n[i]
        out[2, i] = x[i] ** -3
        out[3, i] = np.power(y[i], 0.5)


def test_powers():
    bases = [0, 1, -1, 1j, 2 - 3j, 1e200, 1e-200j, 3e150 + 4e150j]
    exponents = [0, 1, 2 + 1j, -1 - 2j, 0.5, -0.25j, 1e-3]
    x, y = (a.ravel() for a in np.meshgrid(np.array(bases, complex), np.array(exponents, complex)))
    n = np.resize([0, 1, 2, 5, 20], x.size)
    out = np.zeros((4, x.size), complex)
    cuda.jit(powers).forall(x.size)(out, x, y, n)
    with np.errstate(all="ignore"):
        wanted = np.stack([x**y, x ** n.astype(complex), x**-3.0, y**0.5])
    wanted[2, x == 0] = out[2, x == 0] = 0
    finite = np.isfinite(wanted)
    assert np.isnan(out[0][(x == 0) & (y.real <= 0) & (y != 0)]).all()
    np.testing.assert_allclose(out[finite], wanted[finite], rtol=2e-12, atol=1e-300)


def test_powers_of_integers_are_exact():
    @weft.vectorize
    def powers(z, n):
        return z**n

    z, n = np.meshgrid(
        np.array([2 + 3j, -1j, 1 - 1j, 0.5, 1e-3 + 2j]), np.array([0, 1, 2, 7, 100, -1, -2, 150, -150])
    )
    got, wanted = powers(z, n), z ** n.astype(complex)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-300)
    whole = (n >= 0) & (n < 8) & (z != z[0, -1])
    assert got[whole].tolist() == [complex(a) ** int(b) for a, b in zip(z[whole], n[whole], strict=True)]


def test_constants():
    @cuda.jit
    def kernel(out):
        out[0] = cmath.pi + cmath.e + cmath.tau
        out[1] = cmath.inf
        out[2] = cmath.infj
        out[3] = cmath.nan
        out[4] = cmath.nanj

    out = np.zeros(5, complex)
    kernel[1, 1](out)
    wanted = np.array([cmath.pi + cmath.e + cmath.tau, cmath.inf, cmath.infj, cmath.nan, cmath.nanj])
    np.testing.assert_array_equal(out.view(float), wanted.view(float))
