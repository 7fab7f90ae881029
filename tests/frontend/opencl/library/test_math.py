"""Math functions against multiple-precision arithmetic, within the full profile's errors in units in the last place.

The table is that of the OpenCL C specification (1.2, 7.4; 3.0, 7.4). What is run here is scalar code, with glibc's
functions where the library calls C's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from mpmath import mp, mpf

from frontend.opencl.library.running import TYPES, Call, Program, load

mp.prec = 160
DRAWS = 2000 if os.environ.get("WEFT_FUZZ") else 60
"""Random arguments of a function and type."""

Number = float | int


@dataclass(frozen=True, slots=True)
class Function:
    """A function, its errors and its reference.

    Parameters
    ----------
    ulp
        The error that is allowed for float and for double.
    exact
        The value in multiple precision, for finite arguments where it is defined; None where it is not.
    special
        Arguments and results that the standard fixes.
    integer
        Whether the last argument is an int.
    """

    ulp: tuple[float, float]
    exact: Callable[..., mpf | None]
    arity: int = 1
    special: tuple[tuple[tuple[Number, ...], float], ...] = ()
    integer: bool = False


INF, NAN = math.inf, math.nan
SAME = (((0.0,), 0.0), ((-0.0,), -0.0), ((NAN,), NAN))


def _domain(low: float, high: float, f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf | None]:
    return lambda x: f(x) if low <= x <= high else None


def _rootn(x: mpf, n: int) -> mpf | None:
    if n == 0 or (x < 0 and n % 2 == 0) or x == 0:
        return None
    size = mp.power(abs(x), mpf(1) / n)
    return -size if x < 0 else size


def _pow(x: mpf, y: mpf) -> mpf | None:
    if x < 0 and y != mp.floor(y):
        return None
    if x == 0:
        return None
    return mp.power(x, int(y)) if x < 0 and abs(y) < 2**62 else mp.power(abs(x), y)


def _atan2(y: mpf, x: mpf) -> mpf | None:
    return None if x == 0 and y == 0 else mp.atan2(y, x)


def _gamma(x: mpf) -> mpf | None:
    return None if x <= 0 and x == mp.floor(x) else mp.gamma(x) if abs(x) < 1000 else None


def _scaled_trigonometry(f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf | None]:
    def of(x: mpf) -> mpf | None:
        rest = x - 2 * mp.floor(x / 2)
        return None if rest * 2 == mp.floor(rest * 2) else f(rest)

    return of


FUNCTIONS: dict[str, Function] = {
    "acos": Function((4, 4), _domain(-1, 1, mp.acos), special=(((1.0,), 0.0), ((1.5,), NAN))),
    "acosh": Function(
        (4, 4), _domain(1, INF, mp.acosh), special=(((1.0,), 0.0), ((INF,), INF), ((0.5,), NAN))
    ),
    "acospi": Function(
        (5, 5), _domain(-1, 1, lambda x: mp.acos(x) / mp.pi), special=(((1.0,), 0.0), ((2.0,), NAN))
    ),
    "asin": Function((4, 4), _domain(-1, 1, mp.asin), special=SAME),
    "asinh": Function((4, 4), mp.asinh, special=(*SAME, ((-INF,), -INF))),
    "asinpi": Function((5, 5), _domain(-1, 1, lambda x: mp.asin(x) / mp.pi), special=SAME),
    "atan": Function((5, 5), mp.atan, special=SAME),
    "atan2": Function(
        (6, 6), _atan2, 2, (((0.0, -0.0), math.pi), ((-0.0, 1.0), -0.0), ((INF, INF), math.pi / 4))
    ),
    "atanh": Function(
        (5, 5), _domain(-0.9999999, 0.9999999, mp.atanh), special=(*SAME, ((1.0,), INF), ((2.0,), NAN))
    ),
    "atanpi": Function((5, 5), lambda x: mp.atan(x) / mp.pi, special=(*SAME, ((INF,), 0.5))),
    "atan2pi": Function(
        (6, 6),
        lambda y, x: None if x == 0 and y == 0 else mp.atan2(y, x) / mp.pi,
        2,
        (((0.0, -0.0), 1.0), ((-1.0, 0.0), -0.5), ((INF, -INF), 0.75)),
    ),
    "cbrt": Function(
        (2, 2), lambda x: mp.cbrt(x) if x >= 0 else -mp.cbrt(-x), special=(*SAME, ((-INF,), -INF))
    ),
    "cos": Function((4, 4), mp.cos, special=(((0.0,), 1.0), ((INF,), NAN))),
    "cosh": Function(
        (4, 4), lambda x: mp.cosh(x) if abs(x) < 1000 else mpf("1e999"), special=(((-INF,), INF),)
    ),
    "cospi": Function(
        (4, 4),
        _scaled_trigonometry(mp.cospi),
        special=(
            ((0.5,), 0.0),
            ((-1.5,), 0.0),
            ((1.0,), -1.0),
            ((2.0,), 1.0),
            ((1e30,), 1.0),
            ((INF,), NAN),
            ((NAN,), NAN),
        ),
    ),
    "erf": Function((16, 16), mp.erf, special=(*SAME, ((INF,), 1.0))),
    "erfc": Function(
        (16, 16),
        lambda x: mp.erfc(x) if x < 100 else mpf(0),
        special=(((0.0,), 1.0), ((INF,), 0.0), ((-INF,), 2.0)),
    ),
    "exp": Function(
        (3, 3),
        lambda x: mp.exp(x) if abs(x) < 1e5 else mpf(0) if x < 0 else mpf("1e9999"),
        special=(((0.0,), 1.0), ((-INF,), 0.0), ((INF,), INF), ((NAN,), NAN)),
    ),
    "exp2": Function(
        (3, 3), lambda x: mp.power(2, x), special=(((3.0,), 8.0), ((-INF,), 0.0), ((INF,), INF))
    ),
    "exp10": Function(
        (3, 3),
        lambda x: mp.power(10, x),
        special=(((0.0,), 1.0), ((-INF,), 0.0), ((INF,), INF), ((NAN,), NAN)),
    ),
    "expm1": Function((3, 3), mp.expm1, special=(*SAME, ((-INF,), -1.0), ((INF,), INF))),
    "hypot": Function((4, 4), mp.hypot, 2, (((INF, NAN), INF), ((0.0, -0.0), 0.0))),
    "log": Function(
        (3, 3),
        lambda x: mp.log(x) if x > 0 else None,
        special=(
            ((1.0,), 0.0),
            ((0.0,), -INF),
            ((-0.0,), -INF),
            ((-1.0,), NAN),
            ((INF,), INF),
            ((NAN,), NAN),
        ),
    ),
    "log2": Function(
        (3, 3),
        lambda x: mp.log(x, 2) if x > 0 else None,
        special=(((8.0,), 3.0), ((0.0,), -INF), ((-1.0,), NAN)),
    ),
    "log10": Function(
        (3, 3),
        lambda x: mp.log10(x) if x > 0 else None,
        special=(((1.0,), 0.0), ((0.0,), -INF), ((INF,), INF)),
    ),
    "log1p": Function(
        (2, 2), lambda x: mp.log1p(x) if x > -1 else None, special=(*SAME, ((-1.0,), -INF), ((-2.0,), NAN))
    ),
    "pow": Function(
        (16, 16),
        _pow,
        2,
        (
            ((0.0, 0.0), 1.0),
            ((NAN, 0.0), 1.0),
            ((1.0, NAN), 1.0),
            ((-0.0, -3.0), -INF),
            ((-1.0, INF), 1.0),
            ((0.5, -INF), INF),
            ((-2.0, 0.5), NAN),
        ),
    ),
    "pown": Function(
        (16, 16),
        lambda x, n: mp.power(x, n) if x else None,
        2,
        (
            ((0.0, 0), 1.0),
            ((NAN, 0), 1.0),
            ((-0.0, -3), -INF),
            ((1e-310, -1), INF),
            ((-1e-310, -1), -INF),
            ((-0.0, -2), INF),
            ((-2.0, 3), -8.0),
            ((-INF, 3), -INF),
            ((-1.0, -2147483647), -1.0),
        ),
        integer=True,
    ),
    "powr": Function(
        (16, 16),
        lambda x, y: mp.power(x, y) if x > 0 else None,
        2,
        (
            ((0.0, 0.0), NAN),
            ((INF, 0.0), NAN),
            ((1.0, INF), NAN),
            ((-1.0, 2.0), NAN),
            ((0.0, -1.0), INF),
            ((3.0, NAN), NAN),
            ((0.0, 2.0), 0.0),
            ((-0.0, -1.0), INF),
            ((2.0, INF), INF),
            ((2.0, 0.0), 1.0),
            ((NAN, 0.0), NAN),
        ),
    ),
    "rootn": Function(
        (16, 16),
        _rootn,
        2,
        (
            ((-8.0, 3), -2.0),
            ((-8.0, 2), NAN),
            ((8.0, 0), NAN),
            ((-0.0, 3), -0.0),
            ((-0.0, -3), -INF),
            ((-0.0, 2), 0.0),
            ((0.0, -2), INF),
            ((INF, 2), INF),
            ((-INF, 3), -INF),
            ((-INF, -3), -0.0),
            ((3.0, 1), 3.0),
        ),
        integer=True,
    ),
    "rsqrt": Function(
        (2, 2),
        lambda x: 1 / mp.sqrt(x) if x > 0 else None,
        special=(((0.0,), INF), ((-0.0,), -INF), ((INF,), 0.0)),
    ),
    "sin": Function((4, 4), mp.sin, special=(*SAME, ((INF,), NAN))),
    "sinh": Function(
        (4, 4),
        lambda x: mp.sinh(x) if abs(x) < 1000 else mp.sign(x) * mpf("1e999"),
        special=(*SAME, ((-INF,), -INF)),
    ),
    "sinpi": Function(
        (4, 4),
        _scaled_trigonometry(mp.sinpi),
        special=(
            *SAME,
            ((1.0,), 0.0),
            ((-3.0,), -0.0),
            ((0.5,), 1.0),
            ((-0.5,), -1.0),
            ((1e30,), 0.0),
            ((-1e30,), -0.0),
            ((INF,), NAN),
        ),
    ),
    "sqrt": Function(
        (0.5, 0.5), lambda x: mp.sqrt(x) if x >= 0 else None, special=(((-0.0,), -0.0), ((-1.0,), NAN))
    ),
    "tan": Function((5, 5), mp.tan, special=(*SAME, ((INF,), NAN))),
    "tanh": Function((5, 5), mp.tanh, special=(*SAME, ((INF,), 1.0))),
    "tanpi": Function(
        (6, 6),
        _scaled_trigonometry(lambda x: mp.sinpi(x) / mp.cospi(x)),
        special=(
            *SAME,
            ((1.0,), -0.0),
            ((2.0,), 0.0),
            ((-1.0,), 0.0),
            ((0.5,), INF),
            ((1.5,), -INF),
            ((-0.5,), -INF),
            ((INF,), NAN),
        ),
    ),
    "tgamma": Function(
        (16, 16), _gamma, special=(((0.0,), INF), ((-0.0,), -INF), ((-1.0,), NAN), ((INF,), INF))
    ),
    "fma": Function((0.5, 0.5), lambda x, y, z: x * y + z, 3),
    "fdim": Function(
        (0.5, 0.5), lambda x, y: x - y if x > y else mpf(0), 2, (((NAN, 1.0), NAN), ((-INF, -INF), 0.0))
    ),
    "fmod": Function(
        (0, 0),
        lambda x, y: mp.sign(x) * (abs(x) % abs(y)) if y else None,
        2,
        (
            ((-0.0, 1.0), -0.0),
            ((1.0, 0.0), NAN),
            ((INF, 1.0), NAN),
            ((1.0, INF), 1.0),
        ),
    ),
    "remainder": Function(
        (0, 0),
        lambda x, y: _remainder(x, y)[0] if y else None,
        2,
        (
            ((-0.0, 1.0), -0.0),
            ((-4.0, 2.0), -0.0),
            ((1.0, 0.0), NAN),
            ((INF, 1.0), NAN),
            ((1.5, INF), 1.5),
            ((NAN, 1.0), NAN),
        ),
    ),
    "ldexp": Function(
        (0.5, 0.5),
        lambda x, n: mp.ldexp(x, n),
        2,
        (
            ((1.0, 5), 32.0),
            ((-0.0, 3), -0.0),
            ((INF, -2), INF),
            ((1.0, 2147483647), INF),
            ((1.0, -2147483648), 0.0),
        ),
        integer=True,
    ),
}


AS_HALVES = (
    FUNCTIONS.keys()
    if os.environ.get("WEFT_FUZZ")
    else ("exp10", "log", "pown", "sinpi", "ldexp", "fma", "sqrt")
)
"""Those that are tried for halves: all others are the functions of floats, rounded."""


def _remainder(x: mpf, y: mpf) -> tuple[mpf, int]:
    with mp.workprec(2400):
        quotient = x / y
        down = int(mp.floor(quotient))
        rest = quotient - down
        n = down + (1 if rest > 0.5 or (rest == 0.5 and down % 2) else 0)
        return x - n * y, n


def arguments(t: str, count: int, seed: int) -> np.ndarray:
    """Numbers of a type: of all magnitudes, many around 1, subnormal ones, and the largest."""
    draw = np.random.default_rng(seed)
    info = np.finfo(TYPES[t])
    third = count // 3
    wide = (
        draw.integers(0, 2 ** (info.bits - 1), third, dtype=np.uint64)
        .astype(f"u{info.bits // 8}")
        .view(TYPES[t])
    )
    near = (draw.standard_normal(count - third) * 10.0 ** draw.integers(-3, 3, count - third)).astype(
        TYPES[t]
    )
    edges = np.array(
        [info.max, -info.max, info.tiny, info.smallest_subnormal, -info.smallest_subnormal, 1, -1, 0.5, 2]
    )
    wide = wide[np.isfinite(wide)]
    return np.concatenate([wide, near, edges.astype(TYPES[t]), -wide[:9]])


def ulp_error(got: float, exact: mpf, t: str) -> float:
    """The error in units in the last place of the exact value; 0 where both are too large to be finite."""
    info = np.finfo(TYPES[t])
    limit = mpf(float(info.max)) * (1 + mpf(2) ** (-info.nmant - 2))
    if abs(exact) > limit:
        return 0.0 if (abs(got) >= float(info.max)) and (got > 0) == (exact > 0) else INF
    if math.isnan(got) or math.isinf(got):
        return (
            0.0
            if abs(exact) > mpf(float(info.max)) * (1 - 4 * mpf(float(info.eps))) and not math.isnan(got)
            else INF
        )
    unit = mpf(float(info.smallest_subnormal))
    if exact:
        unit = max(unit, mp.ldexp(1, int(mp.floor(mp.log(abs(exact), 2))) - info.nmant))
    return float(abs(mpf(got) - exact) / unit)


def same(got: float, wanted: float, t: str) -> bool:
    """Whether a special result is there: zeros with their signs, other numbers to the last bits."""
    if math.isnan(wanted) or math.isinf(wanted) or wanted == 0:
        return (math.isnan(got) and math.isnan(wanted)) or (
            got == wanted and math.copysign(1, got) == math.copysign(1, wanted)
        )
    return abs(got - wanted) <= 8 * float(np.finfo(TYPES[t]).eps) * abs(wanted)


def worst_error(program: Program, name: str, function: Function, t: str, count: int) -> tuple[float, tuple]:
    """The largest error of a function over random arguments, and where."""
    columns = [arguments(t, count, 7 * k + len(name)) for k in range(function.arity)]
    columns = [c[: min(map(len, columns))] for c in columns]
    if function.integer:
        draw = np.random.default_rng(len(name))
        n = len(columns[0])
        columns[-1] = np.where(
            draw.random(n) < 0.7, draw.integers(-20, 21, n), draw.integers(-400, 400, n)
        ).astype(np.int32)
    result = np.zeros(len(columns[0]), TYPES[t])
    program(f"{name}_{t}", *columns, result, len(result))
    worst, where = 0.0, ()
    for *row, got in zip(*(c.tolist() for c in columns), result.tolist(), strict=True):
        exact = function.exact(*(x if isinstance(x, int) else mpf(x) for x in row))
        if exact is None:
            continue
        error = ulp_error(got, exact, t)
        if error > worst:
            worst, where = error, (*row, got)
    return worst, where


@pytest.fixture(scope="module")
def program() -> Program:
    kernels = ""
    for t in ("float", "double", "half"):
        for name, function in FUNCTIONS.items():
            if t == "half" and name not in AS_HALVES:
                continue
            parameters = (t,) * (function.arity - 1) + (("int",) if function.integer else (t,))
            kernels += Call(name, t, parameters).kernel(f"{name}_{t}")
    return load(kernels)


@pytest.mark.parametrize("t", ["float", "double"])
def test_errors_are_within_the_table(program: Program, t: str) -> None:
    late = {}
    for name, function in FUNCTIONS.items():
        allowed = function.ulp[t == "double"]
        worst, where = worst_error(program, name, function, t, DRAWS)
        if worst > allowed:
            late[name] = (worst, where)
    assert not late


def test_halves(program: Program) -> None:
    """Computed as float and rounded: hardly more than half a unit, whatever the function."""
    late = {}
    for name, function in FUNCTIONS.items():
        if name not in AS_HALVES:
            continue
        worst, where = worst_error(program, name, function, "half", DRAWS // 2)
        if worst > min(function.ulp[0], 0.55):
            late[name] = (worst, where)
    assert not late


@pytest.mark.parametrize("t", ["float", "double", "half"])
def test_special_values(program: Program, t: str) -> None:
    wrong = []
    for name, function in FUNCTIONS.items():
        if t == "half" and name not in AS_HALVES:
            continue
        for row, wanted in function.special:
            if (
                t == "half"
                and any(abs(x) > 60000 and not math.isinf(x) for x in row)
                and not function.integer
            ):
                continue
            last = np.int32 if function.integer else TYPES[t]
            columns = [np.array([x], TYPES[t]) for x in row[:-1]] + [np.array([row[-1]], last)]
            result = np.zeros(1, TYPES[t])
            program(f"{name}_{t}", *columns, result, 1)
            if not same(float(result[0]), wanted, t):
                wrong.append((name, row, float(result[0]), wanted))
    assert not wrong
