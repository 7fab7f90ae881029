"""Lanes load one by one on cores whose gathers are slower than that."""

from typing import Any

import numpy as np
import pytest

from pairs import WHOLE
from weft import cuda
from weft.machine.host import is_runnable


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


TYPES = [np.float32, np.float64, np.int16, np.int64]
OTHERS = ["skylake", "skylake-avx512", "icelake-server", "x86-64-v3", "x86-64-v4"]


@pytest.mark.parametrize("type", TYPES)
def test_results(type: Any, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    places = rng.integers(0, 97, 300)
    table = (rng.random(97) * 2).astype(type)
    results = []
    for name in ("x86-64", *(OTHERS if WHOLE else OTHERS[TYPES.index(type) :: len(TYPES)])):
        monkeypatch.setenv("WEFT_CPU", name)
        if name != "x86-64" and not is_runnable():
            continue
        for kernel in (looked_up, followed):
            out = np.zeros(300, type)
            cuda.jit(kernel)[2, 160](places, table, out)
            results.append(out)
    np.testing.assert_array_equal(results[0], table[places])
    for one, other in zip(results[2::2], results[3::2], strict=True):
        np.testing.assert_array_equal(results[0], one)
        np.testing.assert_array_equal(results[1], other)


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
