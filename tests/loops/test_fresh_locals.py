"""A function's variables are new in each call: iterations of a loop that calls it hand nothing on by them."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.errors import UnsupportedError
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

X = np.random.default_rng(1).random((40, 33))

C = """
static void walk(const double *restrict x, double *restrict out, int n, int first) {
  double sum;
  for (int i = 0; i < n; i++) {
    if (i == first) sum = x[i]; else sum = sum + x[i];
    out[i] = sum;
  }
}
void rows(const double *restrict x, double *restrict out, int m, int n, int first) {
  for (int k = 0; k < m; k++) walk(x + k * n, out + k * n, n, first);
}
"""

OUTER = 10
"""The line of the loop over rows."""


def walk(x, out, k, first):
    for i in range(x.shape[1]):
        if i == first:
            total = x[k, i]
        else:
            total += x[k, i]
        out[k, i] = total


@pytest.mark.parametrize("options", [{}, {"debug": True}], ids=["compiled", "interpreted"])
def test_variables_of_a_called_function(options: dict[str, bool]) -> None:
    walked = weft.jit(walk)

    def rows(x, out, first):
        for k in weft.prange(x.shape[0]):
            walked(x, out, k, first[k])

    out = np.zeros_like(X)
    weft.jit(**options)(rows)(X, out, np.zeros(len(X), np.int64))
    assert np.allclose(out, np.cumsum(X, 1))


def test_variables_of_the_loop_itself() -> None:
    """Python has one for all iterations: one that is not assigned is that of the iteration before."""

    @weft.jit
    def rows(x, out, first):
        for k in weft.prange(x.shape[0]):
            for i in range(x.shape[1]):
                if i == first[k]:
                    total = x[k, i]
                else:
                    total += x[k, i]
                out[k, i] = total

    with pytest.raises(UnsupportedError, match="iterations hand on"):
        rows(X, np.zeros_like(X), np.zeros(len(X), np.int64))


def test_c(tmp_path: Path) -> None:
    source = tmp_path / "rows.c"
    source.write_text(C)
    made = vectorize_ir(source, "rows", loop="auto")
    lines = [r.span.line for r in made.remarks if "hand on" in r.message and r.span is not None]
    assert OUTER not in lines
    code = load_object(emit_object(made.text, TargetSpec.chosen()), ["rows"])
    out = np.zeros_like(X)
    pointer, number = ctypes.c_void_p, ctypes.c_int
    function = ctypes.CFUNCTYPE(None, pointer, pointer, number, number, number)(code.address("rows"))
    function(X.ctypes.data, out.ctypes.data, *X.shape, 0)
    assert np.allclose(out, np.cumsum(X, 1))
