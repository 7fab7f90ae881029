"""Lanes load one by one on cores whose gathers are slower than that."""

from typing import Any

import numpy as np
import pytest

from weft import cuda


def looked_up(places, table, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[places[i]]


def followed(places, table, out):
    """Threads go different ways, so that some lanes must not load."""
    i = cuda.grid(1)
    if i < out.size:
        place = places[i]
        total = table[place]
        steps = 0
        while total < 3 and steps < 20:
            place = (place * 5 + steps) % table.size
            if place % 3:
                total += table[place]
            steps += 1
        out[i] = total


def assembly(kernel: Any) -> str:
    found = kernel.inspect_asm()
    return "\n".join(found.values()) if isinstance(found, dict) else found


@pytest.mark.parametrize("cpu", ["skylake", "skylake-avx512", "icelake-server", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type", [np.float32, np.float64, np.int16, np.int64])
def test_results(cpu: str, type: Any, monkeypatch: pytest.MonkeyPatch):
    results = []
    rng = np.random.default_rng(0)
    places = rng.integers(0, 97, 1000)
    table = (rng.random(97) * 2).astype(type)
    for name in ("x86-64", cpu):
        monkeypatch.setenv("WEFT_CPU", name)
        for kernel in (looked_up, followed):
            out = np.zeros(1000, type)
            cuda.jit(kernel)[7, 160](places, table, out)
            results.append(out)
    np.testing.assert_array_equal(results[0], table[places])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])


def test_which_cores(monkeypatch: pytest.MonkeyPatch):
    for cpu, gathers in (
        ("icelake-server", False),
        ("x86-64-v4", True),
        ("sapphirerapids", True),
        ("znver4", True),
    ):
        monkeypatch.setenv("WEFT_CPU", cpu)
        kernel = cuda.jit("void(int64[::1], float32[::1], float32[::1])")(looked_up)
        found = any(
            line.split()[0].startswith(("vgather", "vpgather"))
            for line in assembly(kernel).splitlines()
            if line.split()
        )
        assert found == gathers, cpu
