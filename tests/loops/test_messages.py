"""What errors say to those who write functions, not kernels."""

import numpy as np
import pytest

import weft
from weft.errors import TypingError, UnsupportedError, WeftError


class Settings:
    limit = 3


SETTINGS = Settings()


def returns_on_one_way(x):  # noqa: RET503 - that is what it is for
    if x > 0:
        return 1


def returns_a_text(x):
    return "x"


def list_of_its_own(x):
    values = [1, 2]
    values[0] = 3
    return values[0]


def imports(x):
    import math

    return math.sin(x)


def by_a_variable(x):
    return (1, (2, 5))[x]


def of_an_object(x):
    return SETTINGS.limit


@pytest.mark.parametrize(
    ("function", "error", "line", "says", "hint"),
    [
        (
            returns_on_one_way,
            TypingError,
            0,
            "returns int on one way, and nothing on another",
            "on every path",
        ),
        (returns_a_text, UnsupportedError, 1, "cannot return 'x'", "numbers, arrays"),
        (
            list_of_its_own,
            UnsupportedError,
            1,
            "a list that may change is not supported in compiled functions",
            "np.empty()",
        ),
        (imports, UnsupportedError, 1, "import is not supported in compiled functions", "module level"),
        (by_a_variable, TypingError, 1, "indexed by a constant", "with for"),
        (
            of_an_object,
            UnsupportedError,
            1,
            "'limit' of an object of class Settings",
            "module-level constant",
        ),
    ],
)
def test_message(function, error, line, says, hint) -> None:
    with pytest.raises(error) as caught:
        weft.jit(function)(1)
    assert says in caught.value.message and hint in (caught.value.hint or "")
    assert caught.value.span is not None and caught.value.span.line == function.__code__.co_firstlineno + line
    assert " at 0x" not in str(caught.value) and "cuda" not in str(caught.value)


@weft.jit
def of_lists(x):
    a = np.array([1, 2, x])
    b = np.array([[1.5, x], (3, 4)], dtype=np.float32)
    np.asarray(a)[0] += 0
    return a, b, max([x, 4, 2])


def test_lists_that_calls_get() -> None:
    a, b, greatest = of_lists(3)
    assert (
        a.tolist() == [1, 2, 3]
        and b.tolist() == [[1.5, 3], [3, 4]]
        and b.dtype == np.float32
        and greatest == 4
    )
    with pytest.raises(WeftError, match="lists of one length"):
        weft.jit(lambda x: np.array([[1, 2], [x]]))(1)


def test_a_step_of_zero_is_told_in_debug_mode() -> None:
    def count(step):
        found = 0
        for _ in range(0, 10, step):
            found += 1
        return found

    assert weft.jit(count)(0) == 0 and weft.jit(count, debug=True)(3) == 4
    with pytest.raises(ValueError, match="must not be zero"):
        weft.jit(count, debug=True)(0)


def test_two_ranges_that_reach_one_place_are_told_apart() -> None:
    def count(n):
        counted = range(n)
        if n > 3:
            counted = range(1, n)
        found = 0
        for _ in counted:
            found += 1
        return found

    with pytest.raises(WeftError, match=r"'counted' is one range\(\) here and another at") as raised:
        weft.jit(count)(5)
    assert raised.value.hint is not None
    assert "a range's ends" in raised.value.hint
