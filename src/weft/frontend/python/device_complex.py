"""Functions of complex numbers, written in the kernel language itself.

Infinite and NaN parts give what Annex G of C99 says; nothing is raised. Zeros and infinities whose sign it leaves
open have the sign that Python's `cmath` gives them where that has a result.

Functions of `NATIVE` compute in the precision of their argument. All others are written for double precision, and
serve single precision with their results rounded.
"""

from __future__ import annotations

import math
from typing import Any

_BIG, _SMALL = 2.0**500, 2.0**-500
"""Squares of what lies between are exact enough, and their sums finite."""
_DOWN, _UP = 2.0**-600, 2.0**600
_ROOT_DOWN, _ROOT_UP = 2.0**300, 2.0**-300
_SHIFT = 600 * math.log(2.0)
_LN2 = math.log(2.0)
_LN2 = math.log(2.0)
_LN10 = math.log(10.0)
_FAR = 1e150
"""Beyond this z * z + 1 is z * z."""
_SPLITTER = 2.0**27 + 1.0


def exp(z: Any) -> Any:
    """E to the power z."""
    x, y = z.real, z.imag
    scale, rest = math.exp(x), 1.0
    if math.isinf(scale):
        # The product with a small cosine or sine may be finite.
        scale = rest = math.exp(x * 0.5)
    real, imag = scale * math.cos(y) * rest, scale * math.sin(y) * rest
    if y == 0:
        imag = y
    if math.isinf(x) and not math.isfinite(y):
        real = scale
        imag = scale * 0.0
    return complex(real, imag)


def _sinh_cosh(x: Any) -> Any:
    """Two numbers whose products with the third are sinh and cosh of x."""
    s, c, rest = math.sinh(x), math.cosh(x), 1.0
    if math.isinf(c):
        rest = math.exp(abs(x) * 0.5)
        c = rest * 0.5
        s = math.copysign(c, x)
    return s, c, rest


def sinh(z: Any) -> Any:
    """The hyperbolic sine."""
    x, y = z.real, z.imag
    s, c, rest = _sinh_cosh(x)
    real, imag = s * math.cos(y) * rest, c * math.sin(y) * rest
    if y == 0:
        imag = y
    if not math.isfinite(y) and (x == 0 or math.isinf(x)):
        real = x
    return complex(real, imag)


def cosh(z: Any) -> Any:
    """The hyperbolic cosine."""
    x, y = z.real, z.imag
    s, c, rest = _sinh_cosh(x)
    real, imag = c * math.cos(y) * rest, s * math.sin(y) * rest
    if math.isnan(imag) and (x == 0 or y == 0):
        imag = math.copysign(0.0, x) * math.copysign(1.0, y)
    if math.isinf(x) and not math.isfinite(y):
        real = abs(x)
    return complex(real, imag)


def sin(z: Any) -> Any:
    """The sine."""
    w = sinh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


def cos(z: Any) -> Any:
    """The cosine."""
    return cosh(complex(-z.imag, z.real))


def rect(r: Any, phi: Any) -> Any:
    """The number of absolute value r and angle phi."""
    real, imag = r * math.cos(phi), r * math.sin(phi)
    if phi == 0:
        imag = math.copysign(0.0, r) * math.copysign(1.0, phi)
    if not math.isfinite(phi):
        if r == 0:
            real, imag = abs(r), abs(r)
        elif math.isinf(r):
            real = abs(r)
    return complex(real, imag)


def phase(z: Any) -> Any:
    """The angle of a number, from -pi to pi."""
    return math.atan2(z.imag, z.real)


def polar(z: Any) -> Any:
    """Absolute value and angle."""
    return abs(z), math.atan2(z.imag, z.real)


def _square(a: Any) -> Any:
    """The square of a number of ordinary size, and its rounding error (Dekker)."""
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    low = a - high
    product = a * a
    return product, ((high * high - product) + 2.0 * high * low) + low * low


def _sum(a: Any, b: Any) -> Any:
    """A sum and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _log_abs(x: Any, y: Any) -> Any:
    a, b = abs(x), abs(y)
    big, small = b if b > a else a, a if b > a else b
    if math.isinf(a) or math.isinf(b):
        return math.inf
    squares = big * big + small * small
    if 0.5 <= squares <= 3.0:
        # The logarithm of a number near 1 takes its distance from 1.
        p, p_error = _square(big)
        q, q_error = _square(small)
        first, first_error = _sum(p, -1.0)
        distance, error = _sum(first, q)
        return 0.5 * math.log1p(distance + (error + (first_error + (p_error + q_error))))
    scale = _DOWN if big > _BIG else _UP if big < _SMALL else 1.0
    shift = _SHIFT if big > _BIG else -_SHIFT if big < _SMALL else 0.0
    big *= scale
    small *= scale
    return 0.5 * math.log(big * big + small * small) + shift


def log(z: Any) -> Any:
    """The natural logarithm."""
    return complex(_log_abs(z.real, z.imag), math.atan2(z.imag, z.real))


def log10(z: Any) -> Any:
    """The logarithm to base 10."""
    return complex(_log_abs(z.real, z.imag) / _LN10, math.atan2(z.imag, z.real) / _LN10)


def log2(z: Any) -> Any:
    """The logarithm to base 2, which `cmath` has not."""
    return complex(_log_abs(z.real, z.imag) / _LN2, math.atan2(z.imag, z.real) / _LN2)


def sqrt(z: Any) -> Any:
    """The square root in the right half plane."""
    x, y = z.real, z.imag
    a, b = abs(x), abs(y)
    big = b if b > a else a
    scale = _DOWN if big > _BIG else _UP if big < _SMALL else 1.0
    root = _ROOT_DOWN if big > _BIG else _ROOT_UP if big < _SMALL else 1.0
    u, v = a * scale, b * scale
    larger = math.sqrt(0.5 * (u + math.sqrt(u * u + v * v))) * root
    smaller = b / (2.0 * larger)
    if larger == 0:
        smaller = larger
    if math.isinf(a) or math.isinf(b):
        larger = math.inf
        smaller = b if math.isinf(b) else b / larger
    right = x >= 0
    return complex(larger if right else smaller, math.copysign(smaller if right else larger, y))


def tanh(z: Any) -> Any:
    """The hyperbolic tangent."""
    x, y = z.real, z.imag
    s, c = math.sin(y), math.cos(y)
    if abs(x) > 22.0:
        # Here tanh(x) is 1 in this precision.
        real, imag = math.copysign(1.0, x), 4.0 * s * c * math.exp(-2.0 * abs(x))
        if not math.isfinite(y):
            real = real if math.isinf(x) else math.nan
            imag = math.copysign(0.0, y) if math.isinf(x) else math.nan
        return complex(real, imag)
    sinh_x, cosh_x = math.sinh(x), math.cosh(x)
    divisor = sinh_x * sinh_x + c * c
    real, imag = sinh_x * cosh_x / divisor, s * c / divisor
    return complex(x if x == 0 else real, y if y == 0 else imag)


def tan(z: Any) -> Any:
    """The tangent."""
    w = tanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


def asinh(z: Any) -> Any:
    """The inverse hyperbolic sine (Kahan)."""
    x, y = z.real, z.imag
    if abs(x) > _FAR or abs(y) > _FAR:
        return complex(math.copysign(_log_abs(x, y) + _LN2, x), math.atan2(y, abs(x)))
    p, q = sqrt(complex(1.0 + y, -x)), sqrt(complex(1.0 - y, x))
    real = math.asinh(p.real * q.imag - q.real * p.imag)
    imag = math.atan2(y, p.real * q.real - p.imag * q.imag)
    return complex(real, y if y == 0 else imag)


def asin(z: Any) -> Any:
    """The inverse sine."""
    w = asinh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


def acos(z: Any) -> Any:
    """The inverse cosine (Kahan)."""
    x, y = z.real, z.imag
    if abs(x) > _FAR or abs(y) > _FAR:
        return complex(math.atan2(abs(y), x), math.copysign(_log_abs(x, y) + _LN2, -y))
    p, q = sqrt(complex(1.0 - x, -y)), sqrt(complex(1.0 + x, y))
    real = 2.0 * math.atan2(p.real, q.real)
    imag = math.asinh(q.real * p.imag - q.imag * p.real)
    if x == 0 and math.isnan(y):
        real = 0.5 * math.pi
    return complex(real, imag)


def acosh(z: Any) -> Any:
    """The inverse hyperbolic cosine."""
    w = acos(z)
    return complex(abs(w.imag), math.copysign(w.real, z.imag))


def atanh(z: Any) -> Any:
    """The inverse hyperbolic tangent."""
    x, y = z.real, z.imag
    a, b = abs(x), abs(y)
    if math.isinf(a) or math.isinf(b):
        return complex(math.copysign(0.0, x), math.nan if math.isnan(y) else math.copysign(0.5 * math.pi, y))
    if a > _FAR or b > _FAR:
        big, small = b if b > a else a, a if b > a else b
        ratio = small / big
        real = 0.5 * x / big / (big * (0.5 + 0.5 * ratio * ratio))
        return complex(real, math.nan if math.isnan(real) else math.copysign(0.5 * math.pi, y))
    if a == 1 and b < 1e-100:
        real = 0.5 * (_LN2 - math.log(b))
    else:
        real = 0.25 * math.log1p(4.0 * a / ((1.0 - a) * (1.0 - a) + b * b))
    imag = 0.5 * math.atan2(2.0 * y, (1.0 - a) * (1.0 + a) - b * b)
    return complex(x if x == 0 else math.copysign(real, x), imag)


def atan(z: Any) -> Any:
    """The inverse tangent."""
    w = atanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


def power(z: Any, w: Any) -> Any:
    """Z to the power w; 0 to a power without positive real part is NaN, but for the power 0."""
    x, y = w.real, w.imag
    if x == 0 and y == 0:
        return complex(1.0, 0.0)
    if z.real == 0 and z.imag == 0:
        undefined = 0.0 if x > 0 else math.nan
        return complex(undefined, undefined)
    angle = math.atan2(z.imag, z.real)
    size = math.pow(abs(z), x)
    turn = x * angle
    if y != 0:
        size *= math.exp(-y * angle)
        turn += y * _log_abs(z.real, z.imag)
    return rect(size, turn)


def power_of_integer(z: Any, n: Any) -> Any:
    """Z to the power of an integer: multiplied out, as NumPy and Python do up to 100, which keeps integers exact."""
    size = -n if n < 0 else n
    if size > 100:
        return power(z, complex(float(n), 0.0))
    result, base = complex(1.0, 0.0), z
    while size > 0:
        if size % 2 == 1:
            result *= base
        base *= base
        size //= 2
    return 1.0 / result if n < 0 else result


NATIVE = {"exp": exp, "sinh": sinh, "cosh": cosh, "sin": sin, "cos": cos}
FUNCTIONS: dict[str, Any] = {
    **NATIVE, "log": log, "log10": log10, "log2": log2, "sqrt": sqrt, "tanh": tanh, "tan": tan,
    "asinh": asinh, "asin": asin, "acos": acos, "acosh": acosh, "atanh": atanh, "atan": atan,
}  # fmt: skip
"""What the function of that name in `cmath`, if it is there, and NumPy's, computes of a complex number."""
