"""``cuda.fp16``: numba.cuda's functions of half-precision numbers, in the kernel language itself.

Operators, roots, quotients and `hfma` are rounded once to float16; functions of mathematics are computed in float32 and
rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_F16, _F32, _F64 = np.float16, np.float32, np.float64


def hadd(a: Any, b: Any) -> Any:
    """A + b."""
    return _F16(a) + _F16(b)


def hsub(a: Any, b: Any) -> Any:
    """A - b."""
    return _F16(a) - _F16(b)


def hmul(a: Any, b: Any) -> Any:
    """A * b."""
    return _F16(a) * _F16(b)


def hdiv(a: Any, b: Any) -> Any:
    """A / b."""
    return _F16(a) / _F16(b)


def hfma(a: Any, b: Any, c: Any) -> Any:
    """A * b + c, rounded once."""
    # The product has 22 bits, and the sum is exact in float64 wherever a rounding of it could be in doubt.
    return _F16(_F64(_F16(a)) * _F64(_F16(b)) + _F64(_F16(c)))


def hneg(a: Any) -> Any:
    """-a."""
    return -_F16(a)


def habs(a: Any) -> Any:
    """The absolute value."""
    return abs(_F16(a))


def heq(a: Any, b: Any) -> Any:
    """A == b."""
    return _F16(a) == _F16(b)


def hne(a: Any, b: Any) -> Any:
    """A != b."""
    return _F16(a) != _F16(b)


def hlt(a: Any, b: Any) -> Any:
    """A < b."""
    return _F16(a) < _F16(b)


def hle(a: Any, b: Any) -> Any:
    """A <= b."""
    return _F16(a) <= _F16(b)


def hgt(a: Any, b: Any) -> Any:
    """A > b."""
    return _F16(a) > _F16(b)


def hge(a: Any, b: Any) -> Any:
    """A >= b."""
    return _F16(a) >= _F16(b)


def hmin(a: Any, b: Any) -> Any:
    """The lesser; of NaN and a number the number."""
    return np.fmin(_F16(a), _F16(b))


def hmax(a: Any, b: Any) -> Any:
    """The greater; of NaN and a number the number."""
    return np.fmax(_F16(a), _F16(b))


def hsin(a: Any) -> Any:
    """The sine."""
    return _F16(math.sin(_F32(_F16(a))))


def hcos(a: Any) -> Any:
    """The cosine."""
    return _F16(math.cos(_F32(_F16(a))))


def htanh(a: Any) -> Any:
    """The hyperbolic tangent."""
    return _F16(math.tanh(_F32(_F16(a))))


def hlog(a: Any) -> Any:
    """The natural logarithm."""
    return _F16(math.log(_F32(_F16(a))))


def hlog2(a: Any) -> Any:
    """The logarithm to base 2."""
    return _F16(math.log2(_F32(_F16(a))))


def hlog10(a: Any) -> Any:
    """The logarithm to base 10."""
    return _F16(math.log10(_F32(_F16(a))))


def hexp(a: Any) -> Any:
    """E to the power of a."""
    return _F16(math.exp(_F32(_F16(a))))


def hexp2(a: Any) -> Any:
    """2 to the power of a."""
    return _F16(math.exp2(_F32(_F16(a))))


def hexp10(a: Any) -> Any:
    """10 to the power of a."""
    return _F16(math.pow(_F32(10), _F32(_F16(a))))


def hsqrt(a: Any) -> Any:
    """The square root."""
    return _F16(math.sqrt(_F32(_F16(a))))


def hrsqrt(a: Any) -> Any:
    """1 / sqrt(a)."""
    return _F16(_F64(1) / math.sqrt(_F64(_F16(a))))


def hrcp(a: Any) -> Any:
    """1 / a."""
    return _F16(_F32(1) / _F32(_F16(a)))


def hfloor(a: Any) -> Any:
    """The greatest integer not above a."""
    return _F16(np.floor(_F16(a)))


def hceil(a: Any) -> Any:
    """The least integer not below a."""
    return _F16(np.ceil(_F16(a)))


def htrunc(a: Any) -> Any:
    """The integer part."""
    return _F16(np.trunc(_F16(a)))


def hrint(a: Any) -> Any:
    """The nearest integer, halves to the even one."""
    return _F16(np.rint(_F16(a)))


FUNCTIONS = {name: value for name, value in globals().items() if name.startswith("h")}
