"""Functions of single precision by weft itself: each writes the lines of its body and returns the name of the result.

An argument is reduced to an interval around zero, where a polynomial stands for the function; what was taken off is put
on again. All results are those of the C library but for the last bits, for subnormal numbers, zeros, infinities and NaN
too: what a function cannot do by itself is odd, and left to the C library.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping

from msgspec import Struct

from weft.target.own_math import coefficients as table
from weft.target.own_math.writing import Lines

_LEAST_NORMAL_BITS = 0x00800000
_INFINITY_BITS = 0x7F800000
_FRACTION_OF_LEAST = 149
"""The least number is two to the power of this, negated."""

_MAGIC_DOUBLE = 1.5 * 2**52
_THREE_QUARTERS_BITS = 0x3F400000

_TANH_SMALL = 0.625
"""Up to where the hyperbolic tangent is a polynomial; from there on a quotient of powers loses nothing."""

_ORDINARY_ANGLE = 1e4
"""Up to where sine and cosine reduce an angle by themselves."""


class OwnFunction(Struct, frozen=True):
    """A function.

    Parameters
    ----------
    write
        Writes it, of the arguments.
    ulp
        The largest error, in units in the last place, as the tests find it on each level.
    odd
        Writes which arguments are not for `write`; None where there are none.
    careful
        Writes it of arguments that are odd or not; where there is none the C library is asked for those that are.
    flushed
        Writes it with zero for results that are subnormal, or next to that, where the machine has an instruction that
        scales: calls that may be approximate have that.
    arguments
        How many there are.
    long_for_subnormal
        Which of them are computed with as they are: processors take long for that where one is subnormal.
    faster_bits
        From this width of registers on it is as fast as the libraries' functions or faster, on x86-64.
    """

    write: Callable[..., str]
    ulp: float
    odd: Callable[..., str | None] = lambda w, x: None
    careful: Callable[..., str] | None = None
    flushed: Callable[..., str] | None = None
    arguments: int = 1
    long_for_subnormal: tuple[int, ...] = (0,)
    faster_bits: int = 128


def _parts(value: float, bits: int, count: int) -> tuple[float, ...]:
    """Numbers of so many bits that add up to a value; the last is rounded to single precision."""
    parts: list[float] = []
    for _ in range(count - 1):
        exponent = math.frexp(value)[1]
        parts.append(math.ldexp(math.floor(math.ldexp(value, bits - exponent)), exponent - bits))
        value -= parts[-1]
    return (*parts, struct.unpack("<f", struct.pack("<f", value))[0])


def _without(w: Lines, x: str, n: str, parts: tuple[float, ...]) -> str:
    """Subtract n times the sum of the parts from x."""
    for part in parts:
        x = w.fma(n, w.float(-part), x)
    return x


_LN2 = _parts(math.log(2), 15, 2)
_LOG10_2 = _parts(math.log10(2), 15, 2)
# A product with one of the first parts is exact: in a fused operation, or as numbers of half turns have 13 bits.
_PI_FUSED = _parts(math.pi, 24, 3)
_PI = _parts(math.pi, 11, 4)


def _exp(
    base: float, parts: tuple[float, ...], polynomial: tuple[float, ...], low: float, high: float
) -> OwnFunction:
    """Powers of a base: `parts` add up to the logarithm of 2 to it; zero below `low`, infinity above `high`."""
    least = -126 / math.log2(base)

    def parts_of(w: Lines, x: str) -> tuple[str, str, str]:
        n, bits = w.nearest(x, math.log2(base))
        return w.polynomial(_without(w, x, n, parts), polynomial), n, bits

    def careful(w: Lines, x: str) -> str:
        x = w.clamp(x, low, high)
        p, n, bits = parts_of(w, x)
        # The bits of a subnormal number are how many times it has the least one. Computing with it takes long.
        is_tiny = w.compare("olt", x, w.float(least * (1 + 2**-20)))
        n = w.select(is_tiny, w.add(n, w.float(_FRACTION_OF_LEAST)), n)
        bits = w.select_integers(is_tiny, w.integers_of("add", bits, w.integer(_FRACTION_OF_LEAST)), bits)
        product = w.scale(p, n, bits)
        return w.select(is_tiny, w.from_bits(w.whole(product)), product)

    def is_extreme(w: Lines, x: str) -> str | None:
        if w.has_parts:
            return w.compare("olt", x, w.float(least * (1 - 2**-20)))
        return w.larger(x, 125 / math.log2(base))

    def write(w: Lines, x: str) -> str:
        if w.has_parts:
            return w.scale(*parts_of(w, w.clamp(x, least * (1 - 2**-20), high)))
        return w.scale_normal(*parts_of(w, x))

    def flushed(w: Lines, x: str) -> str:
        first = least * (1 - 2**-20)
        # Lanes that the mask leaves out would take long as well.
        return w.scale_where(w.compare("uge", x, w.float(first)), *parts_of(w, w.clamp(x, first, high)))

    return OwnFunction(write, 1.4, is_extreme, careful, flushed=flushed)


def _split(w: Lines, x: str) -> tuple[str, str]:
    """Return m - 1 and e with x = m * 2**e, m from 0.75 to 1.5."""
    one, minus_one = w.float(1.0), w.float(-1.0)
    if w.has_parts:
        m, e = w.mantissa(x), w.exponent(x)
        e = w.select(w.compare("olt", m, one), w.add(e, one), e)
        return w.add(m, minus_one), e
    bits = w.bits(x)
    whole = w.integers_of("ashr", w.integers_of("sub", bits, w.integer(_THREE_QUARTERS_BITS)), w.integer(23))
    m = w.from_bits(w.integers_of("sub", bits, w.integers_of("shl", whole, w.integer(23))))
    e = w.line(f"sitofp {w.integers} {whole} to {w.floats}")
    return w.add(m, minus_one), e


def _natural(w: Lines, x: str) -> tuple[str, str]:
    """The natural logarithm of m, and e."""
    f, e = _split(w, x)
    p = w.fma(f, w.polynomial(f, table.LOG), w.float(-0.5))
    return w.fma(p, w.mul(f, f), f), e


def _log(w: Lines, x: str) -> str:
    of_mantissa, e = _natural(w, x)
    return w.fma(e, w.float(math.log(2)), of_mantissa)


def _log2(w: Lines, x: str) -> str:
    of_mantissa, e = _natural(w, x)
    return w.fma(of_mantissa, w.float(1 / math.log(2)), e)


def _log10(w: Lines, x: str) -> str:
    return w.mul(_log(w, x), w.float(1 / math.log(10)))


def _is_no_normal(w: Lines, x: str) -> str:
    """Which numbers are zero, subnormal, negative, infinite or NaN."""
    above = w.integers_of("sub", w.bits(x), w.integer(_LEAST_NORMAL_BITS))
    return w.line(f"icmp uge {w.integers} {above}, {w.integer(_INFINITY_BITS - _LEAST_NORMAL_BITS)}")


def _has_no_exponent(w: Lines, x: str) -> str | None:
    """The same, where the exponent has to be taken from bits."""
    return None if w.has_parts else _is_no_normal(w, x)


def _exponent_of_power(w: Lines, x: str, y: str) -> str:
    """The logarithm of the power to the base 2, as doubles: it may be large, and what is behind its point counts."""
    d = w.doubles
    f, e = (w.convert("fpext", part, w.floats, d.floats) for part in _split(w, x))
    return d.mul(w.convert("fpext", y, w.floats, d.floats), d.fma(f, d.polynomial(f, table.LOG2), e))


def _pow(w: Lines, x: str, y: str) -> str:
    d = w.doubles
    t = _exponent_of_power(w, x, y)
    magic = d.float(_MAGIC_DOUBLE)
    n = d.sub(d.add(t, magic), magic)
    r = w.convert("fptrunc", d.sub(t, n), d.floats, w.floats)
    power = w.convert("fptrunc", n, d.floats, w.floats)
    return w.scale_normal(
        w.polynomial(r, (1.0, *table.EXP2)), power, w.convert("fptosi", power, w.floats, w.integers)
    )


def _is_no_power(w: Lines, x: str, y: str) -> str:
    """Which powers are no normal numbers, or of what is none."""
    d = w.doubles
    extreme = d.larger(_exponent_of_power(w, x, y), 125.0)
    return w.line(f"or {w.bools} {extreme}, {_is_no_normal(w, x)}")


def _is_large(w: Lines, x: str) -> str:
    return w.larger(x, _ORDINARY_ANGLE)


def _circular(quarter: float) -> Callable[[Lines, str], str]:
    """The sine of an angle and half a turn times `quarter`, which is 0 or 0.5."""

    def write(w: Lines, x: str) -> str:
        turns, bits = w.nearest(x, 1 / math.pi, quarter)
        r = _without(w, x, turns, _PI_FUSED if w.fuses else _PI)
        square = w.mul(r, r)
        sine = w.fma(w.mul(square, r), w.polynomial(square, table.SIN), r)
        size = w.bits(sine)
        if not quarter:
            # The sum of -0.0 and the rest is 0.0.
            size = w.integers_of("or", size, w.integers_of("and", w.bits(r), w.integer(-(2**31))))
        return w.from_bits(w.integers_of("xor", size, w.integers_of("shl", bits, w.integer(31))))

    return write


def _tanh(w: Lines, x: str) -> str:
    size = w.at_most(w.absolute(x), 10.0)
    n, bits = w.nearest(size, 2 / math.log(2))
    r = _without(w, w.add(size, size), n, _LN2)
    power = w.scale_up(w.polynomial(r, (1.0, 1.0, *table.EXP)), n, bits)
    one = w.float(1.0)
    large = w.sub(one, w.divide(w.float(2.0), w.add(power, one)))
    square = w.mul(size, size)
    small = w.fma(w.mul(square, size), w.polynomial(square, table.TANH), size)
    result = w.select(w.compare("olt", size, w.float(_TANH_SMALL)), small, large)
    sign = w.integers_of("and", w.bits(x), w.integer(-(2**31)))
    return w.from_bits(w.integers_of("or", w.bits(result), sign))


FUNCTIONS: Mapping[str, OwnFunction] = {
    "exp": _exp(math.e, _LN2, (1.0, 1.0, *table.EXP), -104.0, 89.0),
    "exp2": _exp(2.0, (1.0,), (1.0, *table.EXP2), -152.0, 128.5),
    "exp10": _exp(10.0, _LOG10_2, (1.0, *table.EXP10), -45.5, 38.75),
    "log": OwnFunction(_log, 1.4, _has_no_exponent, long_for_subnormal=()),
    "log2": OwnFunction(_log2, 2.4, _has_no_exponent, long_for_subnormal=()),
    "log10": OwnFunction(_log10, 2.9, _has_no_exponent, long_for_subnormal=()),
    "sin": OwnFunction(_circular(0.0), 2.2, _is_large),
    "pow": OwnFunction(_pow, 1.5, _is_no_power, arguments=2, long_for_subnormal=(1,)),
    "tanh": OwnFunction(_tanh, 2.0, faster_bits=256),
    "cos": OwnFunction(_circular(0.5), 2.2, _is_large),
}
"""By the name of the C function for double."""
