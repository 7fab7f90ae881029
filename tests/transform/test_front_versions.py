"""Lane groups none of whose indices counts from the end have a version, and others still find what they ask for."""

import re

import numpy as np
import pytest

import weft
from weft import cuda, prange

REMARK = "have no index that counts from the end"


def interpolated(a, w, b):
    for i in prange(a.shape[0]):
        z = a[i] * np.float32(6.0)
        r = int(z)
        q = int(a[i] * np.float32(3.0))
        z = z - np.float32(r)
        b[i] = (1 - z) * (w[q, r] + w[q + 1, r]) + z * (w[q, r + 1] + w[q + 1, r + 1])


def kernel(a, w, b):
    i = cuda.grid(1)
    if i < a.shape[0]:
        z = a[i] * np.float32(6.0)
        r = int(z)
        q = int(a[i] * np.float32(3.0))
        z = z - np.float32(r)
        b[i] = (1 - z) * (w[q, r] + w[q + 1, r]) + z * (w[q, r + 1] + w[q + 1, r + 1])


def chained(a, w, b):
    for i in prange(a.shape[0]):
        r = int(a[i] * np.float32(6.0))
        s = int(w[0, r] * np.float32(5.0)) - 2
        b[i] = w[1, r + 1] + w[2, s] + w[3, s + 1] + w[1, r]


def in_a_loop(a, w, b):
    for i in prange(a.shape[0]):
        r = int(a[i] * np.float32(6.0))
        total = np.float32(0)
        for k in range(3):
            total += w[k, r] + w[k, r + 1] + w[k + 1, r] - w[k, -r]
        if total > 3:
            total = w[0, r]
        b[i] = total


def arguments(low: float, high: float, count: int, seed: int = 1):
    random = np.random.default_rng(seed)
    a = random.uniform(low, high, count).astype(np.float32)
    return a, random.random((6, 9)).astype(np.float32), np.zeros(count, np.float32)


RANGES = [(0.0, 1.0), (-0.9, 1.0), (-0.9, -0.2), (-0.02, 1.0)]


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("function", [interpolated, chained, in_a_loop])
def test_loops(function, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(function)
    for low, high in RANGES:
        a, w, b = arguments(low, high, 141)
        wanted = b.copy()
        function(a, w, wanted)
        compiled(a, w, b)
        assert np.allclose(b, wanted, rtol=1e-6)
    remarks = " ".join(map(str, compiled.remarks))
    assert REMARK in remarks or "iteration after iteration" in remarks


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_kernels(low, high) -> None:
    a, w, b = arguments(low, high, 141)
    compiled = cuda.jit(kernel)
    wanted = b.copy()
    interpolated(a, w, wanted)
    compiled[3, 50](a, w, b)
    assert np.allclose(b, wanted, rtol=1e-6)


@pytest.mark.usefixtures("looked_at")
def test_neighbours_are_gathered_together(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    a, w, b = (weft.typeof(x) for x in arguments(0, 1, 9))
    texts = []
    for without in ((), ("front-versions",)):
        compiled = weft.jit(interpolated, without=without)
        compiled.compile((a, w, b))
        texts.append("".join(compiled.inspect_llvm().values()))
    together = re.compile(r"gather\.v(16|32)i64")
    assert together.search(texts[0]) and not together.search(texts[1])


def test_few_accesses_have_no_copy() -> None:
    @weft.jit
    def picked(a, w, b):
        for i in prange(a.shape[0]):
            r = int(a[i] * np.float32(6.0))
            b[i] = w[0, r] + w[1, r]

    picked(*arguments(-0.5, 0.5, 40))
    assert not any(REMARK in str(r) for r in picked.remarks)


def between(a, w, b):
    for i in prange(a.shape[0]):
        z = a[i] * np.float32(w.size - 2)
        r = int(z)
        z = z - np.float32(r)
        b[i] = w[r] + z * (w[r + 1] - w[r])


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_two_neighbours_have_a_copy(low: float, high: float) -> None:
    a, w, b = arguments(low, high, 75)
    w, c = w.ravel(), b.copy()
    loops = weft.jit(between)
    loops(a, w, b)
    between(a, w, c)
    np.testing.assert_allclose(b, c, rtol=1e-5, atol=1e-6)
    assert any(REMARK in str(r) for r in loops.remarks)
