"""Device arrays from outside a kernel: their memory, not what they held when it was compiled."""

import numpy as np
import pytest

import weft
from weft import cuda

PRICES = cuda.to_device(np.array([10.0, 25.0, 5.0, 15.0, 30.0], dtype=np.float32))
EVERY_OTHER = cuda.to_device(np.arange(12.0).reshape(3, 4))[:, ::2]


@cuda.jit
def totals(quantities, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = quantities[i] * PRICES[i] + EVERY_OTHER[i % 3, 1]
        PRICES[i] += 1


def test_what_is_in_the_array_at_the_launch_counts() -> None:
    ones, out = np.ones(5, np.float32), cuda.device_array(5, np.float32)
    PRICES.copy_to_device(np.array([10, 25, 5, 15, 30], np.float32))
    totals[1, 32](ones, out)
    assert out.copy_to_host().tolist() == [12, 31, 15, 17, 36]
    assert PRICES.copy_to_host().tolist() == [11, 26, 6, 16, 31]
    PRICES.copy_to_device(np.full(5, 100, np.float32))
    totals[1, 32](ones, out)
    assert out.copy_to_host().tolist() == [102, 106, 110, 102, 106]


def test_an_argument_may_be_the_same_array() -> None:
    PRICES.copy_to_device(np.full(5, 3, np.float32))
    out = cuda.device_array(5, np.float32)
    totals[1, 32](PRICES, out)
    assert out.copy_to_host().tolist() == [11, 15, 19, 11, 15]
    totals[1, 32](np.ones(5, np.float32), PRICES)
    assert PRICES.copy_to_host().tolist() == [7, 11, 15, 7, 11]


def test_debug_mode_knows_the_memory() -> None:
    PRICES.copy_to_device(np.full(5, 1, np.float32))
    out = np.zeros(5, np.float32)
    cuda.jit(debug=True)(totals.py_func)[1, 8](np.ones(5, np.float32), out)
    assert out.tolist() == [3, 7, 11, 3, 7]
    assert PRICES[0] == 2


def test_functions_and_gpus_take_them_as_arguments() -> None:
    @weft.jit
    def first(x):
        return PRICES[0] + x

    with pytest.raises(weft.errors.UnsupportedError, match="pass it as an argument"):
        first(1)
    with pytest.raises(weft.errors.UnsupportedError, match="pass it as an argument"):
        totals.inspect_ptx("void(float32[::1], float32[::1])")


WEIGHTS = np.array([1, 2, 3])[::-1]


@cuda.jit
def changes_a_copy(out):
    mine = WEIGHTS.copy()
    mine[0] += cuda.grid(1)
    for i in range(3):
        out[cuda.grid(1), i] = mine[i]


def test_a_copy_of_a_constant_is_the_threads_own() -> None:
    out = np.zeros((4, 3))
    changes_a_copy[2, 2](out)
    assert out.tolist() == [[3 + i, 2, 1] for i in range(4)]


def test_a_record_is_copied_to_a_scalar() -> None:
    kind = np.dtype([("a", np.int32), ("b", np.float64)])
    device, host = cuda.device_array((), kind), np.zeros(1, kind)[0]
    device.copy_to_device(np.array([(1, 2.5)], kind)[0])
    device.copy_to_host(host)
    assert host == np.array((1, 2.5), kind)


def test_a_device_function_is_not_launched() -> None:
    with pytest.raises(weft.errors.LaunchError, match="cannot be launched"):
        cuda.jit(device=True)(changes_a_copy.py_func)[1, 1]
