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


@weft.jit(width=8)
def divide_some(a, b, quotients, remainders):
    for i in prange(a.shape[0]):
        if i % 3 != 1:
            quotients[i] = a[i] // b
            remainders[i] = a[i] % b


@weft.jit(width=8)
def divide_positive(a, b, quotients, remainders):
    for i in prange(a.shape[0]):
        if a[i] > 0 and i % 3 != 1:
            quotients[i] = a[i] // b
            remainders[i] = a[i] % b


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", None])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_long_numbers_are_divided_by_one_divisor_under_masks(
    dtype: str, level: str | None, monkeypatch
) -> None:
    """Around the bits that are ordinary, in all lanes or in all but one, and where passive lanes hold anything."""
    if level is not None:
        monkeypatch.setenv("WEFT_CPU", level)
    limits, draw = np.iinfo(dtype), np.random.default_rng(6)
    type = limits.dtype.type
    edges = [1 << k for k in (1, 29, 30, 31, 32, 50, 52, 53, 62)]
    divisors = [1, 2, 3, 7, 10, 49, 1000, (1 << 30) + 1, *edges, *(e - 1 for e in edges)]
    signs = (1, -1) if limits.min else (1,)
    ends = np.array([s * d for d in divisors for s in signs] + [0, limits.min, limits.max], type)
    for n, b in enumerate([type(s * d) for d in (*divisors, 0) for s in signs]):
        size = abs(int(b)) or 1
        times = draw.integers(0, max(1, (1 << 30) // size), 64)
        ordinary = np.array([s * max(0, int(t) * size - int(s)) for s in signs for t in times], type)
        odd = ordinary.copy()
        odd[5] = limits.max
        passive = ordinary.copy()
        passive[1::3] = limits.min if n % 2 else limits.max
        for a in (ordinary, odd, passive, ends):
            some = np.arange(a.size) % 3 != 1
            for divide, active in ((divide_some, some), (divide_positive, some & (a > 0))):
                quotients, remainders = np.full_like(a, 9), np.full_like(a, 9)
                with passes_checked(EVERY or (n == 3 and a is passive)):
                    divide(a, b, quotients, remainders)
                with np.errstate(all="ignore"):
                    np.testing.assert_array_equal(quotients, np.where(active, a // b, type(9)))
                    np.testing.assert_array_equal(remainders, np.where(active, a % b, type(9)))


def test_what_passive_lanes_hold_leaves_divisions_short() -> None:
    quotients, remainders = np.zeros(64, np.int64), np.zeros(64, np.int64)
    divide_some(np.arange(64), 7, quotients, remainders)
    text = "\n".join(divide_some.inspect_llvm().values())
    assert "weft.ordinary.sdiv.shared.v8i64" in text
    assert "fmul <8 x double>" in text
