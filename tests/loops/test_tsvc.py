"""Loops like those of TSVC: found parallel and run so, or run in order with the reason."""

import numpy as np
import pytest

import weft
from loops.tsvc import LOOPS


def arguments(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [*rng.random((5, n)), rng.integers(0, n, n)]


@pytest.mark.parametrize("name", LOOPS)
def test_runs_as_python_would(name: str) -> None:
    function, fate = LOOPS[name]
    compiled = weft.jit(function, parallel="if-legal", width=8)
    for n in (13, 100):
        got, wanted = arguments(n), arguments(n)
        compiled(*got)
        function(*wanted)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    (remark,) = [r for r in compiled.remarks if r.message.startswith(("this loop", "this prange"))]
    if fate == "parallel":
        assert remark.message.startswith("this loop runs 8 iterations at a time on all cores, as asked for")
    else:
        assert fate in remark.message


def test_there_are_many() -> None:
    assert len(LOOPS) >= 40
