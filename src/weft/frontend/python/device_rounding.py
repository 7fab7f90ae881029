"""Rounding to decimal digits, written in the kernel language itself.

`round_to_digits` is Python's ``round(x, n)`` of a float: what is rounded is the exact value, halves go to the even
digit, and the result is the float next to the decimal number. Up to 22 digits, where powers of ten are floats, that is
so without exception; beyond, powers of ten have 106 bits, which decide all but cases nearer than 2**-50 to a half.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

EXACT_DIGITS = 22
"""Powers of ten up to this one are floats."""
_MOST, _LEAST = 323, -308
_WHOLE = 2.0**53
"""From here on a float that is scaled by a power of ten has no digit to lose."""
_SPLITTER = 2.0**27 + 1.0
_DOWN, _UP = 2.0**-400, 2.0**400


def _parts(digits: int) -> tuple[float, float]:
    """A power of ten, scaled into the middle of the range, as the sum of two floats."""
    exact = Fraction(10) ** digits / Fraction(2) ** 400
    high = float(exact)
    return high, float(exact - Fraction(high))


_PARTS = [_parts(digits) for digits in range(EXACT_DIGITS + 1, _MOST + 1)]
_HIGH, _LOW = (np.array(column) for column in zip(*_PARTS, strict=True))
POWERS = np.array([float(f"1e{digits}") for digits in range(309)])
_INTEGER_POWERS = np.array([10**digits for digits in range(20)], np.uint64)


def _product(a: Any, b: Any) -> Any:
    """A product and its rounding error (Dekker)."""
    a_scaled, b_scaled = a * _SPLITTER, b * _SPLITTER
    a_high, b_high = a_scaled - (a_scaled - a), b_scaled - (b_scaled - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _half_even(value: Any, error: Any) -> Any:
    """The integer next to the sum of a number and a small one, the even one of two."""
    whole = np.rint(value)
    rest = value - whole
    if rest == 0.5 and error > 0:
        whole += 1.0
    if rest == -0.5 and error < 0:
        whole -= 1.0
    return whole


def to_digits(x: Any, power: Any) -> Any:
    """Round to digits behind the point, by the power of ten that makes them whole; it is exact."""
    scaled, error = _product(x, power)
    return _half_even(scaled, error) / power if abs(scaled) < _WHOLE else x


def _whole_multiple(x: Any, high: Any, low: Any) -> Any:
    """The number of times that ``high + low`` is in `x`, rounded."""
    whole = np.rint(x / high)
    product, error = _product(whole, high)
    # All that is left of x is exact but for the last difference, whose sign is right.
    rest, half = x - product, 0.5 * high
    if (rest - half) - (error + (whole + 0.5) * low) > 0:
        return whole + 1.0
    if (rest + half) - (error + (whole - 0.5) * low) < 0:
        return whole - 1.0
    return whole


def to_tens(x: Any, power: Any) -> Any:
    """Round to a multiple of a power of ten, an exact one."""
    return _whole_multiple(x, power, 0.0) * power if abs(x / power) < _WHOLE else x


def _to_many_digits(x: Any, high: Any, low: Any) -> Any:
    y = x * _UP
    product, error = _product(y, high)
    error += y * low
    scaled = product + error
    if not abs(scaled) < _WHOLE:
        return x
    whole = _half_even(scaled, error - (scaled - product))
    quotient = whole / high
    product, error = _product(quotient, high)
    correction = (((whole - product) - error) - quotient * low) / high
    if abs(quotient) < 2.0**-622:
        # Among the subnormals the result is a multiple of the least one, to which it is rounded once.
        return _half_even(quotient * 2.0**674, correction * 2.0**674) * 2.0**-1074
    return (quotient + correction) * _DOWN


def _to_high_tens(x: Any, high: Any, low: Any) -> Any:
    y = x * _DOWN
    if not abs(y / high) < _WHOLE:
        return x
    whole = _whole_multiple(y, high, low)
    product, error = _product(whole, high)
    return (product + (error + whole * low)) * _UP


def round_to_digits(x: Any, digits: Any) -> Any:
    """Round a float64 as Python does; where that raises, since the result is too large, it is infinite."""
    if not math.isfinite(x) or digits > _MOST:
        return x
    if digits < _LEAST:
        return x * 0.0
    size = abs(digits)
    if size <= EXACT_DIGITS:
        power = POWERS[size]
        return to_digits(x, power) if digits >= 0 else to_tens(x, power)
    high, low = _HIGH[size - (EXACT_DIGITS + 1)], _LOW[size - (EXACT_DIGITS + 1)]
    result = _to_many_digits(x, high, low) if digits > 0 else _to_high_tens(x, high, low)
    return math.copysign(result, x)


def round_unsigned(x: Any, digits: Any) -> Any:
    """Round a uint64 to a multiple of a power of ten, halves to the even one; what is too large wraps."""
    if digits >= 0:
        return x
    if digits < -19:
        return np.uint64(0)
    power = _INTEGER_POWERS[-digits]
    rest = x % power
    left = power - rest
    up = rest > left or (rest == left and (x // power) % 2 == 1)
    return x - rest + (power if up else np.uint64(0))


def round_signed(x: Any, digits: Any) -> Any:
    """Round an int64 to a multiple of a power of ten, as `round_unsigned`."""
    if x < 0:
        return -np.int64(round_unsigned(np.uint64(-x), digits))
    return np.int64(round_unsigned(np.uint64(x), digits))


def numpy_round(x: Any, digits: Any) -> Any:
    """Round as NumPy does, scaled, rounded and scaled back in the type of x; what cannot be scaled stays itself."""
    # A weak number takes the type of x.
    power = float(POWERS[min(abs(digits), 308)])
    if digits >= 0:
        result = np.rint(x * power) / power
        return result if math.isfinite(result) else x
    whole = np.rint(x / power)
    return whole if whole == 0 else whole * power
