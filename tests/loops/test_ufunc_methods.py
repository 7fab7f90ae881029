"""What elementwise functions have beside their call, against NumPy's ufuncs; calls by machine code."""

import math
import pickle

import numpy as np
import pytest

import weft
from weft import cuda
from weft.errors import ArgumentError
from weft.loops.elementwise import VectorizedFunction


@weft.vectorize(["float32(float32, float32)", "float64(float64, float64)", "int64(int64, int64)"], identity=0)
def add(x, y):
    return x + y


@weft.vectorize
def hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


@weft.vectorize
def negated(x):
    return -x


CUBE = np.random.default_rng(7).random((3, 70, 4))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None, (0, 2), (1, 2), (0, 1, 2)])
def test_reduce(axis) -> None:
    for array in (CUBE, CUBE.T, CUBE[:, ::2], CUBE.astype(np.float32)):
        for keepdims in (False, True):
            wanted = np.add.reduce(array, axis=axis, keepdims=keepdims)
            made = add.reduce(array, axis=axis, keepdims=keepdims)
            assert np.shape(made) == np.shape(wanted) and made.dtype == wanted.dtype
            np.testing.assert_allclose(made, wanted, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_accumulate_and_reduceat(axis) -> None:
    for array in (CUBE, CUBE[::-1]):
        np.testing.assert_allclose(add.accumulate(array, axis), np.add.accumulate(array, axis))
        places = [0, 2, 1, -1]
        np.testing.assert_allclose(
            add.reduceat(array, places, axis), np.add.reduceat(array, [0, 2, 1, array.shape[axis] - 1], axis)
        )


def test_vectors_and_what_is_given() -> None:
    line = np.arange(1.0, 9)
    assert hypotenuse.reduce(np.array([3.0, 4, 12])) == 13 and isinstance(add.reduce(line), np.float64)
    assert add.reduce([1, 2, 3]) == 6 and add.reduce(np.arange(4, dtype=np.int8)).dtype == np.float32
    assert add.reduce(np.zeros(0)) == 0 and add.reduce(line, initial=10) == 46
    assert add.reduce(np.zeros((0, 3))).tolist() == [0] * 3
    np.testing.assert_array_equal(add.accumulate(line), np.cumsum(line))
    out = np.zeros(4)
    assert add.reduce(CUBE[0], out=out) is out
    np.testing.assert_allclose(out, CUBE[0].sum(0))
    np.testing.assert_array_equal(add.outer(line, line[:3]), np.add.outer(line, line[:3]))
    with pytest.raises(ArgumentError, match="no elements"):
        hypotenuse.reduce(np.zeros(0))
    with pytest.raises(ArgumentError, match="no axis 3"):
        add.reduce(CUBE, axis=3)
    with pytest.raises(ArgumentError, match="outside of the axis"):
        add.reduceat(line, [9])
    with pytest.raises(ArgumentError, match="functions of two numbers"):
        negated.reduce(line)


def test_at_changes_a_place_as_often_as_it_comes() -> None:
    for array in (np.zeros(5), np.zeros((3, 5))[:, 1], np.arange(12.0).reshape(3, 4)):
        mine, other = array.copy(), array.copy()
        index = ([0, 1, 1, -1],) if array.ndim == 1 else ([0, 1, 1], [2, 2, 2])
        add.at(mine, index, 2.5)
        np.add.at(other, index, 2.5)
        np.testing.assert_array_equal(mine, other)
    mine = np.arange(4.0)
    negated.at(mine, [0, 2, 2])
    assert mine.tolist() == [0, 1, 2, 3]
    with pytest.raises(IndexError):
        add.at(mine, [9], 1.0)
    with pytest.raises(ArgumentError, match="changes an array in place"):
        add.at([1.0], [0], 1.0)


def test_what_it_tells_of_itself() -> None:
    assert (add.nin, add.nout, add.nargs, add.ntypes, add.identity, add.signature) == (2, 1, 3, 3, 0, None)
    assert add.types == ["ff->f", "dd->d", "ll->l"] and hypotenuse.identity is None
    assert pickle.loads(pickle.dumps(add)).identity == 0


class Own:
    def __array_ufunc__(self, function, method, *args, **keywords):
        return function, method, args, keywords


class Refusing:
    __array_ufunc__ = None


def test_arguments_of_other_kinds() -> None:
    mine = Own()
    assert add(1.0, mine) == (add, "__call__", (1.0, mine), {})
    assert add(mine, 1.0, where=False) == (add, "__call__", (mine, 1.0), {"where": False})
    with pytest.raises(TypeError, match="does not take add"):
        add(1.0, Refusing())
    masked = np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    assert add(masked, 1.0).tolist() == [2, None, 4]
    assert type(add(masked, 1.0, subok=False)) is np.ndarray
    device = cuda.to_device(np.arange(3.0))
    made = add(device, 1.0)
    assert isinstance(made, cuda.DeviceArray) and made.copy_to_host().tolist() == [1, 2, 3]
    assert weft.jit(lambda a: a.sum())(device) == 3
    assert add(CUBE, 1.0, order="F").flags.f_contiguous and add(CUBE.T, 1.0, order="C").flags.c_contiguous


def test_calls_by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")

    @weft.vectorize
    def scaled(x, y):
        if x < 0:
            raise KeyError("negative")
        return x * y

    seen = []
    plain = VectorizedFunction._call
    monkeypatch.setattr(
        VectorizedFunction, "_call", lambda self, *a, **k: seen.append(a) or plain(self, *a, **k)
    )
    a = np.arange(5.0)
    for _ in range(5):
        assert scaled(a, a).tolist() == [0, 1, 4, 9, 16] and scaled(a, 2.0).tolist() == [0, 2, 4, 6, 8]
    assert 2 <= len(seen) <= 4, "the first of each kind, and where code was missing"
    assert scaled(a, a[:1]).tolist() == [0] * 5 and scaled(a.reshape(5, 1), a).shape == (5, 5)
    with pytest.raises(ArgumentError, match="broadcast"):
        scaled(a, a[:3])
    with pytest.raises(KeyError, match="negative"):
        scaled(-a, a)
    assert scaled(a, a, out=a) is a and a.tolist() == [0, 1, 4, 9, 16]
