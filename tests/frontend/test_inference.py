"""Types of variables and results: joins over all assignments, found by repeated walks."""

import numpy as np
import pytest

from frontend.kernels import compiled, result_type
from weft.diag.remarks import RemarkKind
from weft.errors import TypingError


def test_a_literal_start_value_takes_the_type_of_what_is_added() -> None:
    def total(x):
        s = 0
        for v in x:
            s += v
        return s

    assert result_type(total, np.zeros(4, np.float32)) == "float32"
    assert result_type(total, np.zeros(4, np.float64)) == "float64"
    assert result_type(total, np.zeros(4, np.int32)) == "int64"


def test_a_counter_of_literals_is_an_int() -> None:
    def count(x):
        n = 0
        while n < x:
            n += 1
        return n

    assert result_type(count, 5) == "int"


def test_a_type_found_late_reaches_earlier_uses() -> None:
    def chain(x):
        a = 0
        b = 0
        c = 0
        for _ in range(3):
            c = b
            b = a
            a = a + x
        return c

    assert result_type(chain, np.float32(1)) == "float32"


def test_a_constant_bound_once_stays_a_literal() -> None:
    def scaled(x):
        factor = 3
        return x * factor

    assert result_type(scaled, np.int8(1)) == "int8"


def test_a_variable_of_two_literals_is_no_literal() -> None:
    def scaled(x):
        factor = 3
        if x > 1:
            factor = 4
        return x * factor

    assert result_type(scaled, np.int8(1)) == "int64"


def test_a_join_that_loses_precision_leaves_a_remark_with_its_line() -> None:
    def mixed(x, n):
        s = n
        if x > 0:
            s = x
        return s

    remarks = compiled(mixed, np.float32(1), np.int64(3), device=True).remarks.of_kind(RemarkKind.TYPE_JOIN)
    assert len(remarks) == 1
    assert "float64" in remarks[0].message
    assert remarks[0].span is not None and "s = x" in (remarks[0].span.source_line() or "")


def test_exact_literals_leave_no_remark() -> None:
    def fine(x):
        s = 0
        if x > 0:
            s = x
        return s

    assert not list(compiled(fine, np.float32(1), device=True).remarks)


def test_a_conflict_names_both_places() -> None:
    def conflict(x):
        y = 1.0
        if x.size:
            y = x
        return y

    with pytest.raises(TypingError) as caught:
        compiled(conflict, np.zeros(3), device=True)
    first = conflict.__code__.co_firstlineno
    assert caught.value.span is not None and caught.value.span.line == first + 3
    assert f":{first + 1}:" in caught.value.message


def test_a_value_on_some_ways_only_is_a_conflict_with_none() -> None:
    def sometimes(x):  # noqa: RET503
        if x > 0:
            return x

    with pytest.raises(TypingError, match="none"):
        compiled(sometimes, 1, device=True)


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def even(n):
    if n == 0:
        return True
    return odd(n - 1)


def odd(n):
    if n == 0:
        return False
    return even(n - 1)


def endless(n):
    return endless(n - 1) + 1


def test_recursion_is_typed_by_the_ways_without_it() -> None:
    assert result_type(factorial, 5) == "int"
    assert result_type(even, 5) == "bool"


def test_recursion_without_an_end_cannot_be_typed() -> None:
    with pytest.raises(TypingError, match="every way through it"):
        compiled(endless, 1, device=True)


def test_recursive_functions_are_not_marked_for_inlining() -> None:
    def kernel(out):
        out[0] = factorial(out[1]) + twice(out[2])

    module = compiled(kernel, np.zeros(3)).module
    assert "alwaysinline" not in module.functions["factorial"].attributes
    assert "alwaysinline" in module.functions["twice"].attributes


def twice(x):
    return x * 2


def test_one_instance_per_argument_types() -> None:
    def kernel(out, i):
        out[0] = twice(out[1]) + twice(out[2]) + twice(i)

    assert sum(f.name.startswith("twice") for f in compiled(kernel, np.zeros(3), 1).module.definitions()) == 2


def test_use_before_assignment_is_an_error_at_the_use() -> None:
    def early(x):
        y = z + 1  # noqa: F821
        z = x
        return y + z

    with pytest.raises(TypingError, match="'z' is used before it has a value") as caught:
        compiled(early, 1, device=True)
    assert caught.value.span is not None and caught.value.span.line == early.__code__.co_firstlineno + 1
