"""Counters that lanes have for themselves: each lane updates its own where there is no scatter."""

from typing import Any

import numpy as np
import pytest

from weft import cuda
from weft.machine.host import is_runnable

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
ROUNDS, BINS = 40, 16


def counted(values, counters):
    i = cuda.grid(1)
    for k in range(values.shape[0]):
        counters[values[k, i] & 15, i] += 1


def mixed(values, counters):
    """Other operations, with the element on either side, and in lanes that go different ways."""
    i = cuda.grid(1)
    if i < counters.shape[1]:
        for k in range(values.shape[0]):
            v = values[k, i]
            counters[v & 15, i] = v - counters[v & 15, i]
            counters[(v >> 4) & 15, i] ^= v
            if v & 64:
                counters[(v >> 8) & 15, i] -= 3


def looked_at(values, counters):
    """What was there is stored elsewhere, too."""
    i = cuda.grid(1)
    for k in range(values.shape[0]):
        v = values[k, i]
        was = counters[v & 15, i]
        counters[v & 15, i] = was + 1
        counters[16, i] += was


def wanted(kernel: Any, values: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """What threads do, one after the other."""
    result, type = counters.copy(), counters.dtype.type
    with np.errstate(over="ignore"):
        for i in range(counters.shape[1]):
            for number in values[:, i]:
                v, own = int(number), result[:, i]
                cast = np.array(v).astype(type)
                if kernel is counted:
                    own[v & 15] += type(1)
                elif kernel is mixed:
                    own[v & 15] = cast - own[v & 15]
                    own[v >> 4 & 15] ^= cast
                    own[v >> 8 & 15] -= type(3) if v & 64 else type(0)
                else:
                    own[16] += own[v & 15]
                    own[v & 15] += type(1)
    return result


@pytest.mark.spread
@pytest.mark.parametrize("type", [np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("level", LEVELS)
def test_results(type: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    if not is_runnable():
        pytest.skip(f"this processor has no {level}")
    rng = np.random.default_rng(3)
    values = rng.integers(0, 1 << 30, (ROUNDS, 256)).astype(np.int32)
    for kernel, threads in ((counted, 256), (mixed, 231), (looked_at, 256)):
        start = rng.integers(0, 99, (BINS + 1, threads)).astype(type)
        counters = start.copy()
        cuda.jit(kernel)[2, 128](values, counters)
        np.testing.assert_array_equal(counters, wanted(kernel, values[:, :threads], start))


@pytest.mark.parametrize(
    ("type", "level", "apart"),
    [
        (np.uint8, "x86-64-v4", True),
        (np.int16, "x86-64-v4", True),
        (np.int32, "x86-64-v4", False),
        (np.uint8, "x86-64-v3", True),
        (np.int32, "x86-64-v3", True),
        (np.float32, "x86-64-v3", False),
    ],
)
def test_which_are_made_lane_by_lane(
    type: Any, level: str, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    if not is_runnable():
        pytest.skip(f"this processor has no {level}")
    kernel = cuda.jit(counted)
    kernel[2, 128](np.zeros((ROUNDS, 256), np.int32), np.zeros((BINS, 256), type))
    said = [str(remark) for remark in kernel.remarks]
    assert any("runs once for each active lane" in text for text in said) == apart
