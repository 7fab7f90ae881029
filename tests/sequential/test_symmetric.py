"""Matrices that are filled from both sides: the verdicts of their loops, and what they compute in lanes."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from sequential.test_loops import differing
from weft.loops.analysis import analyze_file
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

FILE = Path(__file__).parent / "symmetric.c"


def test_verdicts() -> None:
    assert differing(FILE, analyze_file(FILE).loops) == []


@pytest.mark.parametrize("name", ["symmetric", "symmetric_above"])
def test_results(name: str) -> None:
    made = vectorize_ir(FILE, name, loop="auto")
    assert any("runs" in r.message and "at a time" in r.message for r in made.remarks)
    code = load_object(emit_object(made.llvm, TargetSpec.chosen()), [name])
    function = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        code.address(name)
    )
    for n, m in ((0, 3), (5, 0), (1, 1), (7, 33), (3, 70)):
        d = np.random.default_rng(m).integers(-4, 5, (80, 400)).astype(float)
        c = np.full((80, 400), 9.0)
        function(n, m, c.ctypes.data, d.ctypes.data)
        wanted = np.full((80, 400), 9.0)
        if name == "symmetric":
            wanted[:m, :m] = d[:n, :m].T @ d[:n, :m]
        else:
            for i in range(m - 1):
                wanted[i, i] = 1
                wanted[i, i + 1 : m] = wanted[i + 1 : m, i] = d[i, i + 1 : m] * 0.5
        np.testing.assert_array_equal(c, wanted)
