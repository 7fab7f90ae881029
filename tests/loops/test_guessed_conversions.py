"""Floats become integers of 32 bits where those of all lanes fit, and what is computed is that of 64 bits."""

import math
from typing import Any

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda, prange
from weft.machine.host import chosen

REMARK = "is computed in 32 bits while its numbers fit"
LEVELS = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}


def between(x, table, out):
    for i in prange(out.size):
        at = x[i] * np.float32(3.0) - np.float32(0.5)
        k = math.floor(at)
        part = at - k
        low = min(max(k, 0), table.size - 1)
        high = min(max(k + 1, 0), table.size - 1)
        out[i] = table[low] * (1 - part) + table[high] * part


def in_two_ways(x, table, out):
    for i in prange(out.size):
        if x[i] != np.float32(7.0):
            k = int(x[i])
            j = int(x[i] * np.float32(0.5))
            total = np.float32(0)
            for m in range(3):
                total += table[min(max(k + m, 0), 8)] * table[min(max(j - m, 0), 8)]
            if total > 3:
                total -= np.float32(1)
            out[i] = total


def chained(x, table, out):
    for i in prange(out.size):
        k = int(x[i])
        y = table[min(max(k, 0), 8)] * np.float32(9.0)
        j = int(y)
        out[i] = table[min(max(j, 0), 8)] + k


def kernel(x, table, out):
    i = cuda.grid(1)
    if i < out.size:
        at = x[i] * np.float32(3.0) - np.float32(0.5)
        k = math.floor(at)
        part = at - k
        low = min(max(k, 0), table.size - 1)
        high = min(max(k + 1, 0), table.size - 1)
        out[i] = table[low] * (1 - part) + table[high] * part


FUNCTIONS = [between, in_two_ways, chained]
STRANGE = [np.nan, np.inf, -np.inf, 1e9, -1e9, 2.0**30, 2.0**31, -(2.0**31), 3e9, 9.3e18, -9.3e18, 1e30, -0.0]


def numbers(strange: bool) -> np.ndarray:
    """Numbers of which some do not fit 32 bits, in some lane groups; or of which all do."""
    x = np.random.default_rng(4).uniform(-2, 11, 150).astype(np.float32)
    if strange:
        x[5 : 5 + len(STRANGE)] = STRANGE
        x[100] = 5e10
    return x


def results(form: str, function, x: np.ndarray, width: int | None) -> tuple[np.ndarray, Any]:
    table, out = np.arange(9, dtype=np.float32) / 8, np.zeros(x.size, np.float32)
    if form == "kernel":
        compiled = cuda.jit(kernel, width=width)
        compiled[5, 32](x, table, out)
    else:
        compiled = weft.jit(function, width=width)
        compiled(x, table, out)
    return out, compiled


@pytest.mark.spread
@pytest.mark.parametrize(
    ("level", "function", "width", "strange"), pairs([*LEVELS], FUNCTIONS, [None, 8, 32], [True, False])
)
def test_loops_compute_what_one_iteration_after_the_other_does(
    level: str, function, width: int | None, strange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if LEVELS[level] not in chosen().features:
        pytest.skip("this machine does not have that level")
    monkeypatch.setenv("WEFT_CPU", level)
    x = numbers(strange)
    found, compiled = results("loop", function, x, width)
    np.testing.assert_array_equal(found, results("loop", function, x, 1)[0])
    assert any(REMARK in r.message for r in compiled.remarks)
    if not strange and function is not chained:
        wanted = np.zeros(x.size, np.float32)
        function(x, np.arange(9, dtype=np.float32) / 8, wanted)
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.spread
@pytest.mark.parametrize("strange", [True, False])
@pytest.mark.parametrize("width", [None, 8, 32])
def test_kernels_do_so_and_go_on_beyond_work_groups(width: int | None, strange: bool) -> None:
    x = numbers(strange)
    found, compiled = results("kernel", between, x, width)
    np.testing.assert_array_equal(found, results("loop", between, x, 1)[0])
    assert any(REMARK in r.message for r in compiled.remarks)
    if width is None:
        assert any("beyond work-groups" in r.message for r in compiled.remarks)


@pytest.mark.parametrize(("form", "function"), [("kernel", between), *(("loop", f) for f in FUNCTIONS)])
def test_every_pass_does_the_same(form: str, function, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    results(form, function, numbers(True)[:40], 8)


def test_numbers_that_are_known_to_fit_and_those_that_are_only_stored_are_not_asked() -> None:
    @weft.jit
    def known(x, table, out):
        for i in prange(out.size):
            out[i] = table[int(min(max(x[i], np.float32(0)), np.float32(8)))]

    @weft.jit
    def stored(x, table, out):
        for i in prange(out.size):
            out[i] = int(x[i])

    for compiled, type in ((known, np.float32), (stored, np.int64)):
        compiled(numbers(False), np.arange(9, dtype=np.float32), np.zeros(150, type))
        assert not any(REMARK in r.message for r in compiled.remarks)
