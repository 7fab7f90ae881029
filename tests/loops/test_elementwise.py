"""`weft.vectorize` against the NumPy ufunc of the same meaning."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import ArgumentError

EXAMPLES = 500 if os.environ.get("WEFT_FUZZ") else 20


@weft.vectorize
def combine(x, y):
    if x > y:
        return x - y
    return x * y


def expected(x, y):
    with np.errstate(over="ignore"):
        return np.where(np.greater(x, y), np.subtract(x, y), np.multiply(x, y))


DTYPES = (np.int8, np.int32, np.int64, np.uint8, np.float32, np.float64)


@st.composite
def views(draw, shape, dtype):
    """An array of the shape, cut out of a larger one by steps, or with dimensions reversed or of stride 0."""
    steps = [draw(st.sampled_from((1, 1, 2, -1))) for _ in shape]
    full = tuple(n * abs(s) for n, s in zip(shape, steps, strict=True))
    order = draw(st.sampled_from("CF"))
    seed = draw(st.integers(0, 1 << 16))
    rng = np.random.default_rng(seed)
    base = (rng.integers(0, 7, full) if np.dtype(dtype).kind in "iu" else rng.standard_normal(full)).astype(
        dtype
    )
    base = np.asarray(base, order=order)
    return base[tuple(slice(None, None, s) for s in steps)]


@st.composite
def operands(draw):
    """Two arrays that broadcast together."""
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    arrays = []
    for _ in range(2):
        cut = draw(st.integers(0, len(shape)))
        own = tuple(1 if draw(st.integers(0, 5)) == 0 else n for n in shape[cut:])
        arrays.append(draw(views(own, draw(st.sampled_from(DTYPES)))))
    return arrays


@settings(max_examples=EXAMPLES, deadline=None)
@given(operands())
def test_is_the_ufunc_of_the_same_meaning(arrays) -> None:
    x, y = arrays
    # NumPy converts mixed operands of each step; the function is compiled for the operands as they come.
    x, y = (a.astype(np.result_type(*arrays)) for a in arrays)
    assert np.array_equal(combine(x, y), expected(x, y))
    assert combine(x, y).shape == np.broadcast_shapes(x.shape, y.shape)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 40), st.integers(-4, 4), st.booleans(), st.integers(0, 1 << 16))
def test_results_that_overlap_operands_are_as_if_these_had_been_copied(n, shift, reverse, seed) -> None:
    base = np.random.default_rng(seed).random(n + 8)
    x, out = base[4 : 4 + n], base[4 + shift : 4 + shift + n]
    wanted = expected(x.copy(), 0.5)
    if reverse:
        out = out[::-1]
    result = combine(x, 0.5, out=out)
    assert result is out and np.array_equal(out, wanted)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.tuples(st.integers(0, 9), st.integers(0, 70)), st.integers(0, 1 << 16), st.booleans())
def test_where_leaves_the_other_elements_alone(shape, seed, by_row) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, *shape))
    mask = rng.random(shape[1:] if by_row else shape) > 0.5
    out = rng.random(shape)
    wanted = np.where(np.broadcast_to(mask, shape), expected(x, y), out)
    combine(x, y, out=out, where=mask)
    assert np.array_equal(out, wanted)


def test_numbers_give_a_number_and_weak_ones_take_the_other_type() -> None:
    assert isinstance(combine(3, 2), np.int64) and combine(3, 2) == 1
    assert combine(np.arange(4, dtype=np.float32), 2).dtype == np.float32
    assert combine(np.arange(4, dtype=np.int16), 2.5).dtype == np.float64


def test_contiguous_arrays_and_numbers() -> None:
    x, y = np.random.default_rng(1).random((2, 5, 7))
    for _ in range(2):
        assert np.array_equal(combine(x, y), expected(x, y))
        assert np.array_equal(combine(x, 0.5), expected(x, 0.5))
        assert isinstance(combine(0.25, np.float32(0.5)), np.float32)
    assert combine(x[:0], y[:0]).shape == (0, 7)
    assert combine(x[0, 0], 2) == expected(x[0, 0], 2)
    x.flags.writeable = False
    kept, wanted = y.copy(), expected(x, y)
    assert combine(x, y, y) is y and np.array_equal(y, wanted)
    with pytest.raises((ArgumentError, ValueError), match="read-only"):
        combine(x, kept, out=x)


def test_numbers_that_do_not_fit_are_refused() -> None:
    small = np.arange(3, dtype=np.uint8)
    assert combine(small, 2).tolist() == [0, 2, 4]
    for number in (300, -1):
        with pytest.raises(ArgumentError, match="out of bounds for uint8"):
            combine(small, number)


def test_errors_of_the_function_are_its_own() -> None:
    @weft.vectorize
    def checked(x):
        if x > 9.0:
            raise OverflowError("too much")
        return x

    for _ in range(2):
        assert checked(np.ones(3)).sum() == 3
        with pytest.raises(OverflowError, match="too much"):
            checked(np.full(3, 10.0))


def test_signatures_convert_what_they_can_take_safely() -> None:
    @weft.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def mean(x, y):
        return (x + y) / 2

    assert mean(np.int16([1, 2]), np.float32([3, 5])).dtype == np.float32
    assert mean(np.int32([1, 2]), np.float32([3, 5])).tolist() == [2.0, 3.5]
    assert mean(np.int32([1, 2]), 1).dtype == np.float64
    with pytest.raises(ArgumentError, match="has no signature for"):
        mean(np.complex64([1j]), 1)


def test_results_are_converted_as_casting_allows() -> None:
    out = np.zeros(3, np.float32)
    assert combine(np.float64([1, 2, 3]), 5.0, out=out).tolist() == [5, 10, 15]
    with pytest.raises(ArgumentError, match="does not convert"):
        combine(np.float64([1, 2, 3]), 5.0, out=np.zeros(3, np.int32))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="could not be broadcast"):
        combine(np.zeros(3), np.zeros(4))
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        combine(1)
