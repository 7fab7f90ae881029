"""Signatures and arrays whose elements are not aligned; masks as numbers; arrays of other libraries."""

import numpy as np
import pytest

import weft
from weft import cuda

ROW = np.dtype([("a", np.int32), ("b", np.float64)], align=True)


@cuda.jit("void(float64[:])")
def counts(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = i


def test_an_array_at_any_address_fits_a_signature() -> None:
    bytes_of = np.zeros(80, np.uint8)
    odd = np.ndarray(9, np.float64, bytes_of[4:-4])
    counts[1, 32](odd)
    assert odd.tolist() == list(range(9))
    aligned = np.zeros(9)
    counts[1, 32](aligned)
    assert aligned.tolist() == odd.tolist()
    with pytest.raises(weft.errors.ArgumentError, match="no signature"):
        counts[1, 32](odd.astype(np.float32))


@cuda.jit((weft.types.from_dtype(ROW)[:],))
def moves(rows):
    i = cuda.grid(1)
    rows[i].a = rows[i].b


def test_a_record_array_fits_the_signature_of_its_fields() -> None:
    rows = np.recarray(3, ROW)
    rows.a, rows.b = 0, [1, 2, 3]
    moves[1, 3](rows)
    assert rows.a.tolist() == [1, 2, 3]


@cuda.jit("void(int64[:], int32)")
def leading_zeros(out, mask):
    out[0] = cuda.clz(mask)
    out[1] = mask


def test_a_mask_is_passed_as_its_bits() -> None:
    out = np.zeros(2, np.int64)
    leading_zeros[1, 1](out, 0xFFFFFFFF)
    assert out.tolist() == [0, -1]
    with pytest.raises(weft.errors.ArgumentError, match="does not fit"):
        leading_zeros[1, 1](out, 0x1FFFFFFFF)


class Foreign:
    """An array that only tells where its memory is."""

    def __init__(self, array):
        self.array_of = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@weft.vectorize(["f8(f8, f8)"])
def plus(a, b):
    return a + b


@weft.guvectorize(["(f8, f8, f8[:])"], "(),()->()")
def plus_by_rows(a, b, out):
    out[0] = a + b


@pytest.mark.parametrize("function", [plus, plus_by_rows])
def test_arrays_of_other_libraries_are_operands_and_results(function) -> None:
    x = np.arange(5.0)
    made = function(Foreign(cuda.to_device(x)), np.float64(6))
    assert isinstance(made, cuda.DeviceArray) and made.copy_to_host().tolist() == (x + 6).tolist()
    out = cuda.device_array(5)
    returned = function(x, np.float64(7), out=Foreign(out))
    assert isinstance(returned, cuda.DeviceArray)
    assert out.copy_to_host().tolist() == returned.copy_to_host().tolist() == (x + 7).tolist()


@weft.guvectorize(["void(int32[:], int32[:], int32[:])"], "(n),()->(n)")
def plus_first(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y[0]


def test_a_number_declared_as_an_array_and_a_result_without_the_loop_dimension() -> None:
    out = np.zeros(4, np.int32)
    assert plus_first(np.arange(4, dtype=np.int32), np.array([2], np.int32), out=out) is out
    assert out.tolist() == [2, 3, 4, 5]
    with pytest.raises(weft.errors.ArgumentError, match="by position"):
        plus_first(np.arange(4, dtype=np.int32), np.array([2], np.int32), out, out=out)


@weft.vectorize
def greatest(a, b):
    return np.maximum(a, b)


@weft.vectorize
def least_but_nan(a, b):
    return np.fmin(a, b)


@weft.vectorize
def log2(a):
    return np.log2(a)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_extremes_and_log2_are_numpys(dtype) -> None:
    a = np.array([1 + 2j, np.nan + 1j, 3, 3 + 1j, complex(2, np.nan), 1], dtype)
    b = np.array([1 + 3j, 1, 3, 3 - 1j, 5, complex(1, np.nan)], dtype)
    np.testing.assert_array_equal(greatest(a, b), np.maximum(a, b))
    np.testing.assert_array_equal(least_but_nan(a, b), np.fmin(a, b))
    np.testing.assert_allclose(
        log2(a[[0, 2, 3]]), np.log2(a[[0, 2, 3]]), rtol=1e-6 if dtype == np.complex64 else 1e-15
    )


def test_reductions_take_a_stream() -> None:
    x = cuda.to_device(np.arange(9.0))
    assert plus.reduce(x, stream=cuda.stream()) == 36


def test_extents_of_launches_are_integers() -> None:
    with pytest.raises(TypeError, match="not an integer"):
        counts[2.0, 3]


def test_a_generalized_function_is_not_declared_to_return_something() -> None:
    with pytest.raises(weft.errors.SignatureError, match="returns int32, and it returns nothing"):
        weft.guvectorize(["int32(int32[:], int32[:])"], "(m)->(m)")(lambda x, y: None)
