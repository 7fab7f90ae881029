"""Integer division in lanes against NumPy's, at the ends of every type."""

import os

import numpy as np
import pytest

import weft
from conformance.runner import passes_checked
from weft import prange

EVERY = bool(os.environ.get("WEFT_FUZZ"))


@weft.jit(width=8)
def divide(a, b, quotients, remainders):
    for i in prange(a.shape[0]):
        quotients[i] = a[i] // b[i]
        remainders[i] = a[i] % b[i]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_quotients_are_exact_at_the_ends_of_every_type(dtype: str) -> None:
    limits = np.iinfo(dtype)
    near = [limits.min + k for k in range(4)] + [limits.max - k for k in range(4)] + list(range(5))
    drawn = np.random.default_rng(3).integers(limits.min, limits.max, 50, dtype, endpoint=True)
    values = np.concatenate([np.array(near, dtype), np.array(-1).astype(dtype)[None], drawn])
    a, b = (v.ravel().copy() for v in np.meshgrid(values, values))
    quotients, remainders = np.empty_like(a), np.empty_like(a)
    with passes_checked(EVERY or dtype in ("int8", "uint64")):
        divide(a, b, quotients, remainders)
    with np.errstate(all="ignore"):
        assert np.array_equal(quotients, a // b)
        assert np.array_equal(remainders, a % b)
    assert any("8 iterations at a time" in remark.message for remark in divide.remarks)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_quotients_by_one_divisor_are_exact(dtype: str, level: str, monkeypatch) -> None:
    """Of the multiples of many divisors, and of what is next to them."""
    monkeypatch.setenv("WEFT_CPU", level)

    @weft.jit(width=8)
    def divide_all(a, b, quotients, remainders):
        for i in prange(a.shape[0]):
            quotients[i] = a[i] // b
            remainders[i] = a[i] % b

    limits, draw = np.iinfo(dtype), np.random.default_rng(5)
    divisors = [limits.min, limits.min + 1, limits.max - 1, limits.max, -1, 0, 1, 2, 3, 5, 7, 10, 49, 127]
    for b in [d for d in divisors if limits.min <= d] + list(draw.integers(1, limits.max, 5)):
        size = abs(int(b)) or 1
        times = draw.integers(limits.min // size, limits.max // size, 60, endpoint=True)
        near = (times * size)[:, None] + np.arange(-1, 2)
        a = np.append(np.clip(near, limits.min, limits.max).astype(dtype).ravel(), limits.min)
        quotients, remainders = np.empty_like(a), np.empty_like(a)
        divide_all(a, a.dtype.type(b), quotients, remainders)
        with np.errstate(all="ignore"):
            assert np.array_equal(quotients, a // a.dtype.type(b))
            assert np.array_equal(remainders, a % a.dtype.type(b))
