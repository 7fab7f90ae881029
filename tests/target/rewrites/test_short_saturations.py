"""Floats that become bytes and shorts where LLVM's vectorizer sees to a loop: vectors, and what they were."""

import numpy as np
import pytest

import weft
from weft import cuda

TYPES = (np.int8, np.uint8, np.int16, np.uint16)
ENDS = (
    0.0,
    -0.0,
    0.5,
    -0.5,
    127.0,
    127.99,
    128.0,
    -128.0,
    -128.5,
    -129.0,
    255.5,
    256.0,
    32767.5,
    32768.0,
    -32768.5,
)
NUMBERS = (*ENDS, 65535.9, 65536.0, 1e9, -1e9, 1e30, -1e30, np.inf, -np.inf, np.nan)


def quantized(type):
    @cuda.jit
    def kernel(rows, places):
        i = cuda.grid(1)
        if i < rows.shape[0]:
            for j in range(rows.shape[1]):
                places[i, j] = type(rows[i, j] * 1.0)

    return kernel


def saturated(numbers: np.ndarray, type: type) -> np.ndarray:
    """Numbers cut off at the ends of a type, where NaN is 0."""
    info = np.iinfo(type)
    return np.clip(np.trunc(np.nan_to_num(numbers, posinf=1e300, neginf=-1e300)), info.min, info.max).astype(
        type
    )


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("float_type", [np.float32, np.float64])
def test_rows_of_threads_by_themselves(type: type, float_type: type) -> None:
    kernel = quantized(type)
    rows = np.tile(np.array(NUMBERS, float_type), (3, 20))
    places = np.zeros(rows.shape, type)
    kernel[1, 32](rows, places)
    np.testing.assert_array_equal(places, saturated(rows.astype(np.float64), type))


def test_llvm_is_not_left_to_take_them_apart() -> None:
    kernel = quantized(np.int8)
    rows, places = np.ones((3, 300), np.float32), np.zeros((3, 300), np.int8)
    kernel[1, 32](rows, places)
    assert places.all() and "thread after thread" in str(kernel.report())
    assert "x i8> @llvm.fptosi.sat" not in "".join(map(str, kernel.inspect_llvm().values()))


def test_strips_of_loops_in_order() -> None:
    @weft.jit
    def decayed(numbers, out):
        last = 0.0
        for i in range(numbers.size):
            last = last * 0.5 + numbers[i]
            out[i] = np.int8(last)

    numbers = np.array(NUMBERS[:-3] * 4)
    out, expected, last = np.zeros(numbers.size, np.int8), [], 0.0
    decayed(numbers, out)
    for number in numbers:
        last = last * 0.5 + number
        expected.append(last)
    np.testing.assert_array_equal(out, saturated(np.array(expected), np.int8))
