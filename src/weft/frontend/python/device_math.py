"""Functions of `math` and `cmath` that are written in the kernel language itself.

`REPLACEMENTS` maps the function that a kernel names to the one that is compiled in its place.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from weft.frontend.python import device_complex


def _gcd(a: Any, b: Any) -> Any:
    a = abs(a)
    b = abs(b)
    while b != 0:
        a, b = b, a % b
    return a


def _lcm(a: Any, b: Any) -> Any:
    divisor = _gcd(a, b)
    return abs(a // divisor * b) if divisor != 0 else abs(a * 0)


def _factorial(n: Any) -> Any:
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


def _isqrt(n: Any) -> Any:
    root = int(math.sqrt(n))
    # The float may be off by one where n has more than 53 bits.
    while root * root > n or root > 3037000499:
        root -= 1
    while root < 3037000499 and (root + 1) * (root + 1) <= n:
        root += 1
    return root


def _comb(n: Any, k: Any) -> Any:
    result = 1 if 0 <= k <= n else 0
    for step in range(1, min(k, n - k) + 1):
        result = result * (n - step + 1) // step
    return result


def _perm(n: Any, k: Any) -> Any:
    result = 1 if 0 <= k <= n else 0
    for step in range(k):
        result *= n - step
    return result


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def _dist(p: Any, q: Any) -> Any:
    total = 0.0
    for a, b in zip(p, q):  # noqa: B905 - the kernel language has no keyword arguments of zip
        total += (a - b) * (a - b)
    return math.sqrt(total)


REPLACEMENTS: dict[Any, Any] = {
    math.gcd: _gcd,
    math.lcm: _lcm,
    math.factorial: _factorial,
    math.isqrt: _isqrt,
    math.comb: _comb,
    math.perm: _perm,
    math.isclose: _isclose,
    math.dist: _dist,
    cmath.isclose: _isclose,
    cmath.phase: device_complex.phase,
    np.angle: device_complex.phase,
    cmath.polar: device_complex.polar,
    cmath.rect: device_complex.rect,
}
