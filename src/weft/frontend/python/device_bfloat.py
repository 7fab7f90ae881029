"""``cuda.bf16``: numba.cuda's functions of bfloat16 numbers, in the kernel language itself.

Operators, roots and quotients are rounded once; functions of mathematics are computed in float32 and rounded. What the
compiler lowers itself is in `CONVERSIONS` and `FUSED`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.frontend.python.types import bfloat16

_F32, _F64 = np.float32, np.float64


def saturated(a: Any) -> Any:
    """A number in the range from 0 to 1; 0 for NaN."""
    return bfloat16(0) if not a > 0 else min(a, bfloat16(1))


def rectified(a: Any) -> Any:
    """0 in place of a negative number."""
    return bfloat16(0) if a <= 0 else a


def hadd(a: Any, b: Any) -> Any:
    """A + b."""
    return bfloat16(a) + bfloat16(b)


def hsub(a: Any, b: Any) -> Any:
    """A - b."""
    return bfloat16(a) - bfloat16(b)


def hmul(a: Any, b: Any) -> Any:
    """A * b."""
    return bfloat16(a) * bfloat16(b)


def hdiv(a: Any, b: Any) -> Any:
    """A / b."""
    return bfloat16(a) / bfloat16(b)


def hadd_sat(a: Any, b: Any) -> Any:
    """A + b in the range from 0 to 1."""
    return saturated(bfloat16(a) + bfloat16(b))


def hsub_sat(a: Any, b: Any) -> Any:
    """A - b in the range from 0 to 1."""
    return saturated(bfloat16(a) - bfloat16(b))


def hmul_sat(a: Any, b: Any) -> Any:
    """A * b in the range from 0 to 1."""
    return saturated(bfloat16(a) * bfloat16(b))


def hneg(a: Any) -> Any:
    """-a."""
    return -bfloat16(a)


def habs(a: Any) -> Any:
    """The absolute value."""
    return abs(bfloat16(a))


def heq(a: Any, b: Any) -> Any:
    """A == b."""
    return bfloat16(a) == bfloat16(b)


def hlt(a: Any, b: Any) -> Any:
    """A < b."""
    return bfloat16(a) < bfloat16(b)


def hle(a: Any, b: Any) -> Any:
    """A <= b."""
    return bfloat16(a) <= bfloat16(b)


def hgt(a: Any, b: Any) -> Any:
    """A > b."""
    return bfloat16(a) > bfloat16(b)


def hge(a: Any, b: Any) -> Any:
    """A >= b."""
    return bfloat16(a) >= bfloat16(b)


def hne(a: Any, b: Any) -> Any:
    """A != b, and neither is NaN."""
    a, b = bfloat16(a), bfloat16(b)
    return a < b or a > b


def hequ(a: Any, b: Any) -> Any:
    """A == b, or one is NaN."""
    return not hne(a, b)


def hltu(a: Any, b: Any) -> Any:
    """A < b, or one is NaN."""
    return not bfloat16(a) >= bfloat16(b)


def hleu(a: Any, b: Any) -> Any:
    """A <= b, or one is NaN."""
    return not bfloat16(a) > bfloat16(b)


def hgtu(a: Any, b: Any) -> Any:
    """A > b, or one is NaN."""
    return not bfloat16(a) <= bfloat16(b)


def hgeu(a: Any, b: Any) -> Any:
    """A >= b, or one is NaN."""
    return not bfloat16(a) < bfloat16(b)


def hneu(a: Any, b: Any) -> Any:
    """A != b, or one is NaN."""
    return bfloat16(a) != bfloat16(b)


def hmin(a: Any, b: Any) -> Any:
    """The lesser; of NaN and a number the number."""
    return np.fmin(bfloat16(a), bfloat16(b))


def hmax(a: Any, b: Any) -> Any:
    """The greater; of NaN and a number the number."""
    return np.fmax(bfloat16(a), bfloat16(b))


def hmin_nan(a: Any, b: Any) -> Any:
    """The lesser, NaN if one is NaN."""
    return np.minimum(bfloat16(a), bfloat16(b))


def hmax_nan(a: Any, b: Any) -> Any:
    """The greater, NaN if one is NaN."""
    return np.maximum(bfloat16(a), bfloat16(b))


def hisnan(a: Any) -> Any:
    """Whether it is NaN."""
    return math.isnan(bfloat16(a))


def hisinf(a: Any) -> Any:
    """1 for infinity, -1 for its negative, else 0."""
    a = bfloat16(a)
    return np.int32(0) if not math.isinf(a) else np.int32(1) if a > 0 else np.int32(-1)


def hsin(a: Any) -> Any:
    """The sine."""
    return bfloat16(math.sin(_F32(bfloat16(a))))


def hcos(a: Any) -> Any:
    """The cosine."""
    return bfloat16(math.cos(_F32(bfloat16(a))))


def htanh(a: Any) -> Any:
    """The hyperbolic tangent."""
    return bfloat16(math.tanh(_F32(bfloat16(a))))


def hlog(a: Any) -> Any:
    """The natural logarithm."""
    return bfloat16(math.log(_F32(bfloat16(a))))


def hlog2(a: Any) -> Any:
    """The logarithm to base 2."""
    return bfloat16(math.log2(_F32(bfloat16(a))))


def hlog10(a: Any) -> Any:
    """The logarithm to base 10."""
    return bfloat16(math.log10(_F32(bfloat16(a))))


def hexp(a: Any) -> Any:
    """E to the power of a."""
    return bfloat16(math.exp(_F32(bfloat16(a))))


def hexp2(a: Any) -> Any:
    """2 to the power of a."""
    return bfloat16(math.exp2(_F32(bfloat16(a))))


def hexp10(a: Any) -> Any:
    """10 to the power of a."""
    return bfloat16(math.pow(_F32(10), _F32(bfloat16(a))))


def hsqrt(a: Any) -> Any:
    """The square root."""
    return bfloat16(math.sqrt(_F32(bfloat16(a))))


def hrsqrt(a: Any) -> Any:
    """1 / sqrt(a)."""
    return bfloat16(_F64(1) / math.sqrt(_F64(bfloat16(a))))


def hrcp(a: Any) -> Any:
    """1 / a."""
    return bfloat16(1) / bfloat16(a)


def hfloor(a: Any) -> Any:
    """The greatest integer not above a."""
    return np.floor(bfloat16(a))


def hceil(a: Any) -> Any:
    """The least integer not below a."""
    return np.ceil(bfloat16(a))


def htrunc(a: Any) -> Any:
    """The integer part."""
    return np.trunc(bfloat16(a))


def hrint(a: Any) -> Any:
    """The nearest integer, halves to the even one."""
    return np.rint(bfloat16(a))


FUSED = ("hfma", "hfma_sat", "hfma_relu")
"""``a * b + c``, rounded once: as it is, in the range from 0 to 1, or 0 if it is negative."""
_C_NAMES = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "ll", "uint8": "uchar", "uint16": "ushort",
    "uint32": "uint", "uint64": "ull", "float32": "float", "float64": "double",
}  # fmt: skip


def _conversions() -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    for number, name in _C_NAMES.items():
        into, out = (number, "to", "bfloat16"), ("bfloat16", "to", number)
        modes = () if number in ("int8", "uint8", "float64") else ("rn", "rz", "rd", "ru")
        for mode in modes:
            yield f"{number}_to_bfloat16_{mode}", (*into, mode)
            yield f"{name}2bfloat16_{mode}", (*into, mode)
        if number.startswith("float"):
            yield f"{number}_to_bfloat16", (*into, "rn")
            yield f"{name}2bfloat16", (*into, "rn")
        else:
            for mode in modes or ("rz",):
                yield f"bfloat16_to_{number}_{mode}", (*out, mode)
                yield f"bfloat162{name}_{mode}", (*out, mode)
        if number in ("int16", "uint16"):
            for text in (number, name):
                yield f"bfloat16_as_{text}", ("bfloat16", "as", number, "")
                yield f"{text}_as_bfloat16", (number, "as", "bfloat16", "")
    for text in ("bfloat16_to_float32", "bfloat162float"):
        yield text, ("bfloat16", "to", "float32", "rn")


CONVERSIONS = dict(_conversions())
"""By name, CUDA's own names included: from which type, by value or bits (``to``, ``as``), to which, how rounded."""
FUNCTIONS = {name: value for name, value in globals().items() if name.startswith("h")}
FUNCTIONS |= {f"{name}_rn": FUNCTIONS[name] for name in ("hadd", "hsub", "hmul")} | {"htanh_approx": htanh}
