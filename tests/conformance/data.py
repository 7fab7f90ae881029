"""Arrays for conformance cases: values that reach the corners of their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float32, np.float64)
SIZE = 48


def ints(rng: np.random.Generator, dtype: Any, size: Any = SIZE) -> np.ndarray:
    """Return integers over the type's whole range, its corners first."""
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    corners = np.array([0, 1, info.max, info.min, info.max - 1, info.min + 1], dtype=dtype)
    count = min(len(corners), values.size)
    values.flat[:count] = rng.permutation(corners)[:count]
    return values


def small(
    rng: np.random.Generator, dtype: Any, size: Any = SIZE, low: int = 0, high: int = 100
) -> np.ndarray:
    """Return whole numbers in a small range: sums of them are exact in every type."""
    return rng.integers(low, high, size).astype(dtype)


def floats(rng: np.random.Generator, dtype: Any, size: Any = SIZE, scale: float = 4.0) -> np.ndarray:
    return (rng.standard_normal(size) * scale).astype(dtype)


def special(rng: np.random.Generator, dtype: Any, size: int = SIZE) -> np.ndarray:
    """Return floats among which are infinities, NaN, both zeros, a denormal and the extremes."""
    info = np.finfo(dtype)
    corners = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        info.min,
        info.tiny,
        info.smallest_subnormal,
        1.0,
    ]
    values = floats(rng, dtype, size)
    values[: len(corners)] = np.array(corners, dtype=dtype)
    return rng.permutation(values)


def spread(rng: np.random.Generator, dtype: Any, low: float, high: float, size: int = SIZE) -> np.ndarray:
    return rng.uniform(low, high, size).astype(dtype)


def to_out(dtype: Any, *inputs: Callable[[np.random.Generator], Any], size: Any = SIZE) -> Any:
    """Return a maker of arguments: an output array of ones, then the inputs."""
    return lambda rng: (np.ones(size, dtype), *(make(rng) for make in inputs))


def of(maker: Callable[..., np.ndarray], *details: Any, **more: Any) -> Callable[[np.random.Generator], Any]:
    """Return a maker of one argument: `maker(rng, *details)`."""
    return lambda rng: maker(rng, *details, **more)


def given(value: Any) -> Callable[[np.random.Generator], Any]:
    """Return a maker of a constant argument."""
    return lambda rng: value
