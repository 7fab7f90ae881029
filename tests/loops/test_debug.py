"""``debug=True`` of functions: what Python would raise, is raised with its line."""

import numpy as np
import pytest

import weft
from weft import prange

A = np.arange(4)


def asserted(a, n):
    assert n < 3, "too large"
    return a[n]


def divided(a, n):
    return a[1] // n + a[1] % n


def indexed(a, n):
    return a[n - 9]


def unassigned(a, n):
    if n < 3:
        x = a[n]
    return x


def in_a_loop(a, n):
    total = 0
    for i in prange(a.size):
        assert a[i] != n
        total += a[i]
    return total


@pytest.mark.parametrize(
    ("function", "bad", "exception"),
    [(asserted, 3, AssertionError), (divided, 0, ZeroDivisionError), (indexed, 3, IndexError),
     (unassigned, 3, UnboundLocalError), (in_a_loop, 3, AssertionError)],
)  # fmt: skip
def test_functions_raise_as_python_does(function, bad: int, exception: type[Exception]) -> None:
    checked = weft.jit(debug=True)(function)
    with pytest.raises(exception) as caught:
        checked(A, bad)
    assert any(__file__ in note for note in caught.value.__notes__)
    good = 7 if function in (indexed, in_a_loop) else 2
    assert checked(A, good) == function(A, good)


def test_assertions_have_their_text_and_are_dropped_without_debug_mode() -> None:
    with pytest.raises(AssertionError, match="too large"):
        weft.jit(debug=True)(asserted)(A, 3)
    assert weft.jit(asserted)(A, 3) == 3


def positive_quotient(x, y):
    assert x > 0
    return x // y


def test_elementwise_functions_raise_as_python_does() -> None:
    checked, plain = weft.vectorize(debug=True)(positive_quotient), weft.vectorize(positive_quotient)
    ones = np.ones(20, np.int64)
    assert np.array_equal(checked(ones, ones), ones) and plain(-ones, ones).sum() == -20
    for x in (ones, np.ones((5, 4), np.int64).T, 1):
        with pytest.raises(AssertionError):
            checked(-x, 1)
        with pytest.raises(ZeroDivisionError):
            checked(x, 0)


def test_functions_of_stacks_raise_as_python_does() -> None:
    @weft.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", debug=True)
    def fourth(x, out):
        out[0] = x[3]

    fourth(np.ones((2, 4)))
    with pytest.raises(IndexError):
        fourth(np.ones((2, 3)))
