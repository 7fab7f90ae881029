"""``locals=``: variables of declared types; and types that a program takes from its numbers by ``type(x)``."""

import pickle

import numpy as np
import pytest

import weft
from weft.errors import SignatureError, TypingError


@weft.jit(locals={"total": weft.float32, "count": weft.uint8, "is_large": weft.boolean})
def rounded_sum(x):
    total, count, is_large = 0.0, 0, 0
    for i in range(x.size):
        total += x[i]
        count += 1
        is_large = count
    return total, count, is_large


X = np.full(300, 0.1)
WANTED = float(np.cumsum(X.astype(np.float32), dtype=np.float32)[-1]), 300 % 256, True


def test_variables_have_the_declared_types():
    assert rounded_sum(X) == WANTED
    assert weft.jit(lambda x: rounded_sum(x))(X) == WANTED
    assert pickle.loads(pickle.dumps(rounded_sum))(X) == WANTED


def test_a_parameter_that_is_assigned():
    @weft.jit(locals={"n": weft.types.int32})
    def doubled(n):
        n = n * 2
        return n if n else 1

    assert doubled(2**31 - 1) == -2


def test_the_same_text_without_them_has_other_code():
    plain = weft.jit(_sum)
    assert plain(X) == pytest.approx(30.0, rel=1e-14)
    declared = weft.jit(locals={"s": "float32"})(_sum)
    assert declared(X) == WANTED[0]


def _sum(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s


def test_what_is_refused():
    with pytest.raises(SignatureError, match="'a' cannot be declared to be float32"):
        weft.jit(locals={"a": weft.float32[:]})(_sum)

    @weft.jit(locals={"y": weft.float32})
    def wrong(x):
        y = x
        return y[0]

    with pytest.raises(TypingError, match="variable 'y' is declared to be float32, and gets float64"):
        wrong(X)


def test_the_type_of_a_number():
    @weft.jit
    def inverse(x, n):
        kind = type(x)
        return kind(1) / x, type(n)(2.5), type(x * n)(3)

    for x, n in ((np.float32(3), 2), (0.3, np.int16(2)), (np.float64(7), 1.5)):
        found = inverse(x, n)
        assert found == (type(x)(1) / x, type(n)(2.5), type(x * n)(3))

    def of_an_array(x):
        return type(x)

    with pytest.raises(TypingError, match="give a number"):
        weft.jit(of_an_array)(X)


def test_the_dtype_of_a_range_by_position():
    made = weft.jit(lambda n: np.arange(0, n, 2, np.int16))
    np.testing.assert_array_equal(made(7), np.arange(0, 7, 2, np.int16))
    assert made(7).dtype == np.int16


def _third(x):
    y = x / 3
    y += 0
    return y


def test_other_decorators_of_the_same_function_have_their_own() -> None:
    short, long = weft.jit(locals={"y": "float32"})(_third), weft.jit(_third)
    assert short(1.0) == np.float32(1 / 3)
    assert long(1.0) == 1 / 3
    assert weft.jit(locals={"y": "int8"})(_third)(7.0) == 2
    assert short(2.0) == np.float32(2 / 3) and long(2.0) == 2 / 3
