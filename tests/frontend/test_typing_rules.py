"""The table of types, against NumPy's own, and the laws that a join must obey."""

import itertools

import numpy as np
import pytest

from weft.errors import TypingError
from weft.frontend.python.typing_rules import PROMOTION, Literals, arithmetic, join, promote, true_division
from weft.types import (
    bfloat16,
    boolean,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    pycomplex,
    pyfloat,
    pyint,
    uint8,
    uint64,
)

STRONG = sorted({a for a, _ in PROMOTION}, key=str)
OWN = [(a, b) for a, b in PROMOTION if bfloat16 not in (a, b)]
ALL = [*STRONG, pyint, pyfloat, pycomplex]
NUMBERS = [t for t in STRONG if t not in (boolean, bfloat16)]


@pytest.mark.parametrize(("a", "b"), OWN, ids=str)
def test_strong_types_promote_as_in_numpy(a, b) -> None:
    assert PROMOTION[a, b].dtype == np.result_type(a.dtype, b.dtype)


@pytest.mark.parametrize("other", STRONG, ids=str)
def test_bfloat16_promotes_as_ml_dtypes_has_it_and_as_float32_where_that_has_nothing(other) -> None:
    try:
        wanted = np.result_type(bfloat16.dtype, other.dtype)
    except TypeError:
        wanted = np.result_type(np.float32, other.dtype)
    assert PROMOTION[bfloat16, other].dtype == PROMOTION[other, bfloat16].dtype == wanted


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_a_literal_takes_its_partners_type_as_in_nep_50(type) -> None:
    ones = np.ones(1, type.dtype)
    assert arithmetic(type, pyint, None, 1).dtype == (ones + 1).dtype
    assert arithmetic(pyfloat, type).dtype == (1.0 + ones).dtype
    assert arithmetic(pycomplex, type).dtype == (1j + ones).dtype


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NUMBERS, NUMBERS)), ids=str)
def test_true_division_has_numpys_type(a, b) -> None:
    with np.errstate(all="ignore"):
        assert true_division(a, b).dtype == (np.ones(1, a.dtype) / np.ones(1, b.dtype)).dtype


@pytest.mark.parametrize(
    ("type", "result"),
    [(int8, int64), (int32, int64), (int64, int64), (uint8, int64), (uint64, uint64), (float16, float16),
     (float32, float32), (float64, float64), (boolean, pyint)],
    ids=str,
)  # fmt: skip
def test_an_int_that_is_no_literal_widens_narrow_integers_and_yields_to_floats(type, result) -> None:
    assert promote(pyint, type) is result
    assert promote(type, pyint) is result


@pytest.mark.parametrize(
    ("type", "value"), [(uint8, -1), (uint8, 256), (int8, 128), (int32, 1 << 31), (uint64, -5)]
)
def test_a_literal_that_does_not_fit_is_refused(type, value: int) -> None:
    with pytest.raises(TypingError, match=f"{value} does not fit {type}"):
        arithmetic(type, pyint, None, value)


def test_bools_are_ints_in_arithmetic() -> None:
    assert promote(boolean, boolean) is pyint
    assert promote(boolean, int8) is int8


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(ALL, 2)), ids=str)
def test_join_is_commutative_idempotent_and_an_upper_bound(a, b) -> None:
    joined, _ = join(a, b, None, None)
    assert join(b, a, None, None)[0] is joined
    assert join(joined, joined, None, None) == (joined, False)
    assert join(joined, a, None, None)[0] is joined
    assert join(joined, b, None, None)[0] is joined


@pytest.mark.parametrize(
    ("a", "b", "loses"),
    [(int64, float64, True), (int64, float32, True), (int32, float64, False), (pyint, float32, True),
     (float64, float32, False), (pyfloat, float32, True), (int8, float16, False), (int8, uint8, False)],
    ids=str,
)  # fmt: skip
def test_a_join_says_whether_it_loses_precision(a, b, loses: bool) -> None:
    assert join(a, b, None, None)[1] is loses


def test_literals_join_into_any_type_that_holds_them() -> None:
    assert join(pyint, int8, Literals(0, 100), None) == (int8, False)
    assert join(pyint, int8, Literals(0, 1000), None) == (int64, False)
    assert join(pyint, float32, Literals(0, 1), None) == (float32, False)
