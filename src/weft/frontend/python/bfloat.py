"""Numbers as bfloat16, on the host."""

from __future__ import annotations

import math


def nearest(value: float) -> float:
    """The bfloat16 next to a number, halves to the even one."""
    size = float(value)
    if not math.isfinite(size) or size == 0.0:
        return size
    from fractions import Fraction

    # The last of eight digits, or of a subnormal number.
    step = math.ldexp(1.0, max(math.frexp(size)[1] - 8, -133))
    exact = Fraction(int(value) if size.is_integer() else size)
    found = math.copysign(round(exact / Fraction(step)) * step, size)
    return found if abs(found) < 2.0**128 else math.copysign(math.inf, size)
