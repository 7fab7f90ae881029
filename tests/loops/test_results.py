"""``out=`` of elementwise and generalized functions: arrays of every kind take the results, or are refused."""

import numpy as np
import pytest

import weft
from weft import cuda


@weft.vectorize(["float64(float64, float64)"])
def add(a, b):
    return a + b


@weft.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
def double(a, out):
    for i in range(a.size):
        out[i] = a[i] * 2


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: (d,)])
def test_results_are_seen_in_device_arrays(wrap):
    x = np.arange(6.0).reshape(2, 3)
    device = cuda.to_device(x)
    out = wrap(device)
    assert add(x, device, out=out) is (out[0] if isinstance(out, tuple) else out)
    assert (device.copy_to_host() == 2 * x).all()
    double(x, out=out)
    assert (device.copy_to_host() == 2 * x).all()


def test_what_is_no_array_is_refused():
    for call in (lambda: add(1.0, np.ones(2), out=[0.0, 0.0]), lambda: double(np.ones(2), out=[0.0, 0.0])):
        with pytest.raises(weft.errors.ArgumentError, match="cannot go to a list"):
            call()
