"""Texts as arguments and defaults: code is made for each one. And texts of exceptions that a name stands for."""

import pickle

import numpy as np
import pytest

import weft
from weft import cuda
from weft.errors import ArgumentError, UnsupportedError

TOO_MANY = "too many elements"


@weft.jit
def summary(x, kind="mean"):
    if kind == "mean":
        return x.sum() / x.size
    if kind in ("min", "least"):
        return x.min()
    if kind != "max":
        raise ValueError(TOO_MANY)
    return x.max()


@weft.jit
def range_of(x, low, high="max"):
    return summary(x, high) - summary(x, kind=low)


X = np.array([1.0, 5.0, 3.0])


def test_each_text_has_its_code():
    for _ in range(2):
        assert summary(X) == 3.0
        assert summary(X, "min") == summary(X, kind="least") == 1.0
        # An equal text that lies elsewhere.
        assert summary(X, "".join(["m", "ax"])) == 5.0
        assert range_of(X, "min") == 4.0
        assert range_of(X, "min", high="mean") == 2.0
    assert len(summary.overloads) == 4


def test_a_text_in_a_tuple_and_in_a_pickle():
    chosen = weft.jit(lambda x, how: summary(x, how[0]) * how[1])
    assert chosen(X, ("max", 2)) == 10.0
    assert pickle.loads(pickle.dumps(chosen))(X, ("min", 3)) == 3.0


def test_a_kernel_takes_texts():
    @cuda.jit
    def stored(x, out, how):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = -x[i] if how == "negative" else x[i]

    for how, sign in (("negative", -1), ("as is", 1), ("negative", -1)):
        out = np.zeros(3)
        stored[1, 4](X, out, how)
        np.testing.assert_array_equal(out, sign * X)


def test_what_texts_are_not_for():
    returned = weft.jit(lambda x: x)
    with pytest.raises(UnsupportedError, match="cannot return"):
        returned("a")
    with pytest.raises(ArgumentError, match="cannot take"):
        summary(X, b"min")


def test_texts_of_exceptions_by_name():
    with pytest.raises(ValueError, match=TOO_MANY):
        summary(X, "median")

    @weft.jit
    def checked(x, name):
        message = "no elements"
        if x.size == 0:
            raise ValueError(message)
        if x.size == 1:
            raise IndexError(name)
        return x[0]

    assert checked(X, "one") == 1.0
    with pytest.raises(ValueError, match="no elements"):
        checked(X[:0], "one")
    with pytest.raises(IndexError, match="one"):
        checked(X[:1], "one")
    varying = weft.jit(_raising_what_varies)
    with pytest.raises(UnsupportedError, match="known when compiling"):
        varying(X)


def _raising_what_varies(x):
    raise ValueError(x[0])
