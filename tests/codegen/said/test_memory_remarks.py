"""Remarks say what became of each memory access."""

import numpy as np
import pytest

from weft import cuda
from weft.diag.remarks import RemarkKind


@cuda.jit(width=8)
def structures(a, out):
    i = cuda.grid(1)
    out[i] = a[i].real + a[i].imag


@cuda.jit(width=8)
def gathers(a, out):
    i = cuda.grid(1)
    out[i] = a[int(a[i].real)].imag


@cuda.jit(width=8)
def local_array(a, out):
    i = cuda.grid(1)
    s = cuda.local.array(4, np.float32)
    for k in range(4):
        s[k] = a[i].real * k
    out[i] = s[int(a[i].imag) & 3]


@cuda.jit(width=8)
def counts(a, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, int(a[i].real))


@pytest.mark.parametrize(
    ("kernel", "dtype", "said"),
    [
        (structures, np.float32, "this load is made by wide accesses and shuffles"),
        (gathers, np.float32, "this load is a gather"),
        (local_array, np.float32, "this local array is laid out element by element"),
        (counts, np.int32, "lanes combine their values before this atomic operation"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_remark_names_the_form(kernel, dtype, said):
    a, out = np.arange(32).astype(np.complex64), np.zeros(32, dtype)
    kernel[1, 32](a, out)
    (compiled,) = kernel.overloads.values()
    messages = [r.message for r in compiled.lowered().remarks.of_kind(RemarkKind.MEMORY)]
    assert any(said in message for message in messages), messages
