"""The option ``boscc=`` of ``cuda.jit``: what it does to a kernel, and what it refuses."""

import numpy as np
import pytest

from weft import cuda
from weft.errors import SignatureError


def rare_gather(values, table, out):
    i = cuda.grid(1)
    if i < out.size:
        v = values[i]
        result = v
        if v == 7:
            result = table[(v * i) % 5] + table[(v + i) % 3]
        out[i] = result


@pytest.mark.parametrize("boscc", ["off", "auto", "on"])
def test_the_result_is_the_same_and_each_gadget_is_remarked(boscc: str):
    kernel = cuda.jit(boscc=boscc, width=8)(rare_gather)
    values = np.arange(45, dtype=np.int32) // 6
    table = np.arange(5, dtype=np.int32) * 100
    out = np.zeros_like(values)
    kernel[3, 15](values, table, out)
    i = np.arange(45)
    taken = table[(values * i) % 5] + table[(values + i) % 3]
    assert np.array_equal(out, np.where(values == 7, taken, values))
    (compiled,) = kernel.overloads.values()
    skips = [
        r for r in compiled.remarks if "is skipped by lane groups none of whose lanes take it" in r.message
    ]
    assert bool(skips) == (boscc != "off")


def test_an_unknown_mode_is_refused():
    with pytest.raises(SignatureError, match="boscc='sometimes'"):
        cuda.jit(boscc="sometimes")
