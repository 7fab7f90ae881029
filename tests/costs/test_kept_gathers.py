"""Rows that lanes gather stay known over a loop, even where they have no registers."""

import numpy as np
import pytest

from weft import cuda
from weft.machine.host import is_runnable


def nearest(points, centres, found):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best, least = 0, 1e300
        for c in range(centres.shape[0]):
            squared = 0.0
            for d in range(points.shape[1]):
                step = points[i, d] - centres[c, d]
                squared += step * step
            if squared < least:
                best, least = c, squared
        found[i] = best


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4", "icelake-server"])
def test_gathers_before_a_loop_are_not_repeated_in_it(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # 9 numbers of 32 lanes are 36 registers with AVX-512, of which there are 32.
    monkeypatch.setenv("WEFT_CPU", cpu)
    if not is_runnable():
        pytest.skip(f"needs {cpu}")
    random = np.random.default_rng(2)
    points, centres, found = random.random((250, 9)), random.random((20, 9)), np.zeros(250, np.int64)
    kernel = cuda.jit(fastmath=True, width=32)(nearest)
    kernel[1, 250](points, centres, found)
    assert np.array_equal(found, ((points[:, None] - centres) ** 2).sum(2).argmin(1))
    (code,) = kernel._specializations.made.values()
    told = [str(remark) for remark in code.remarks if "reads the same in each iteration" in str(remark)]
    assert len(told) == 1
    assert not any("stays" in str(remark) for remark in code.remarks)
