"""Device functions run on the interpreter agree with Python, for each kind of expression."""

import enum
import math
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.kernels import value_of

Point = namedtuple("Point", "x y")
TABLE = np.arange(12, dtype=np.int32).reshape(3, 4)
LIMIT = np.uint8(200)


class Colour(enum.IntEnum):
    RED = 4


def weighted(a, b=2, *, c=3):
    return a * 100 + b * 10 + c


def applied(f, x):
    return f(x)


def negated(x):
    return -x


def named_tuples(a):
    point = Point(a, y=2)
    return point.x * 10 + point.y


def unpacking(a):
    b, (c, d) = a, (a + 1, 3)
    return b * 100 + c * 10 + d


def defaults_and_keywords(a):
    return weighted(a) + weighted(a, c=5) + weighted(*(a, 1), c=0)


def functions_as_arguments(a):
    return applied(negated, a) + applied(math.floor, a + 0.5)


def walrus(a):
    return b * 2 if (b := a + 1) > 3 else b


def membership(a):
    return (a in (1, 3, 5)) + 2 * (a not in (2, 3))


def loop_over_a_tuple_with_else(a):
    total = 0
    for k, step in enumerate((1, 2, 3)):
        if step == a:
            break
        total += k + step
    else:
        total = -1
    return total


def loop_with_continue(a):
    total = 0
    for k in range(10, -1, -3):
        if k % 2 == a % 2:
            continue
        total += k
    return total


def nested_loops_with_break(a):
    total = 0
    for i in range(5):
        for j in range(5):
            if j > i:
                break
            if i * j > a:
                return total * 1000
            total += i * j
    return total


def while_else(a):
    while a > 2:
        a -= 2
        if a == 7:
            break
    else:
        a = 100 + a
    return a


def constant_arrays(a):
    total = 0
    for row in TABLE:
        total += row[a % 4]
    return total + TABLE[-1, a % 3] + TABLE.T[1][2] + len(TABLE)


def chained_comparison(a):
    return (0 < a <= 5) + 2 * (a < 3 < 4)


def values_of_and_or(a):
    return (a and 7) * 10 + (a or 9)


def enum_members(a):
    return a * Colour.RED


def quotients(a):
    return divmod(-a, 3)[0] * 10 + divmod(a, -4)[1]


def mixed_sign_power(a):
    return (-2) ** a + a**3 + 2**a


def tuple_of_tuples(a):
    t = ((1, 2), (3, a))
    u = t + ((5, 6),)  # noqa: RUF005
    return u[1][1] * 10 + len(u) + sum((1, 2, a))


@pytest.mark.parametrize("argument", [0, 1, 3, 8])
@pytest.mark.parametrize(
    "function",
    [named_tuples, unpacking, defaults_and_keywords, functions_as_arguments, walrus, membership,
     loop_over_a_tuple_with_else, loop_with_continue, nested_loops_with_break, while_else, constant_arrays,
     chained_comparison, values_of_and_or, enum_members, quotients, mixed_sign_power, tuple_of_tuples],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_agrees_with_python(function, argument: int) -> None:
    assert value_of(function, argument) == function(argument)


int64s = st.integers(-(1 << 63), (1 << 63) - 1)
uint64s = st.integers(0, (1 << 64) - 1)


def floor_division(a, b):
    return a // b


def remainder(a, b):
    return a % b


@given(int64s, int64s)
def test_integer_division_is_pythons_and_never_traps(a: int, b: int) -> None:
    quotient, rest = value_of(floor_division, a, b), value_of(remainder, a, b)
    if b == 0:
        assert (quotient, rest) == (0, 0)
    else:
        assert int(quotient) % (1 << 64) == (a // b) % (1 << 64)
        assert rest == a % b


@pytest.mark.parametrize("divisor", [1, -1, 2, 8, 7, -7, -8])
def test_division_by_a_literal_is_pythons(divisor: int) -> None:
    def both(a):
        return (a // divisor) * 1000 + a % divisor

    for a in (-17, -16, -1, 0, 1, 16, 17, 12345):
        assert value_of(both, a) == both(a)


@given(int64s, st.integers(-3, 70))
def test_shifts_of_any_count_are_defined(a: int, count: int) -> None:
    def left(x, n):
        return x << n

    def right(x, n):
        return x >> n

    expected_left = a << count if 0 <= count < 64 else 0
    expected_right = a >> count if 0 <= count < 64 else (-1 if a < 0 else 0)
    assert int(value_of(left, a, count)) % (1 << 64) == expected_left % (1 << 64)
    assert int(value_of(right, a, count)) % (1 << 64) == expected_right % (1 << 64)


@given(uint64s, int64s)
def test_signed_and_unsigned_compare_by_value(a: int, b: int) -> None:
    def order(u, s):
        return (u < s) + 2 * (u <= s) + 4 * (u == s) + 8 * (s < u)

    got = value_of(order, np.uint64(a), np.int64(b))
    assert got == (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (b < a)


@pytest.mark.parametrize("literal", [300, -1, 1 << 40])
def test_a_literal_out_of_range_compares_by_value(literal: int) -> None:
    def order(u):
        return (u < literal) + 2 * (literal <= u) + 4 * (u != literal)

    assert value_of(order, LIMIT) == order(200)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e30, -1e30, 2.9, -2.9])
def test_floats_become_integers_by_saturation(value: float) -> None:
    def to_int(x):
        return np.int32(x)

    info = np.iinfo(np.int32)
    expected = 0 if value != value else int(min(max(value, info.min), info.max))
    assert value_of(to_int, value) == expected


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%"])
def test_half_precision_rounds_after_each_operation_as_numpy(symbol: str) -> None:
    rng = np.random.default_rng(7)
    functions = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "//": lambda a, b: a // b,
        "%": lambda a, b: a % b,
    }
    for a, b in rng.normal(size=(8, 2)).astype(np.float16):
        assert value_of(functions[symbol], a, b) == functions[symbol](a, b)


@given(st.floats(width=64), st.floats(width=64))
def test_float_floor_division_and_remainder_are_numpys(a: float, b: float) -> None:
    for function in (floor_division, remainder):
        with np.errstate(all="ignore"):
            wanted = function(np.float64(a), np.float64(b))
        got = value_of(function, np.float64(a), np.float64(b))
        assert np.isnan(got) if np.isnan(wanted) else got.tobytes() == wanted.tobytes()


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_frexp_and_modf_take_floats_apart_exactly(x: float) -> None:
    def mantissa(v):
        return math.frexp(v)[0]

    def exponent(v):
        return math.frexp(v)[1]

    def fraction(v):
        return math.modf(v)[0]

    assert (value_of(mantissa, x), value_of(exponent, x)) == math.frexp(x)
    assert value_of(fraction, x) == math.modf(x)[0]
