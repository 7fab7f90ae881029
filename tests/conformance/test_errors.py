"""Bad input: each mistake raises its documented exception, at its line, before anything is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from weft import cuda, errors

MISTAKE = "# here"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A kernel that must be refused; the line that is wrong has a marker."""

    kernel: Callable[..., Any]
    error: type[errors.WeftError]
    args: tuple
    mentions: str

    def __str__(self) -> str:
        return self.kernel.__name__

    @property
    def line(self) -> int | None:
        lines, first = inspect.getsourcelines(self.kernel)
        marked = [first + k for k, line in enumerate(lines) if MISTAKE in line]
        return marked[0] if marked else None


MISTAKES: list[Mistake] = []


def refused(error: type[errors.WeftError], *args: Any, mentions: str = ""):
    """Register a kernel and the arguments with which it is refused; one float64 array by default."""

    def register(kernel):
        MISTAKES.append(Mistake(kernel, error, args or (np.zeros(8),), mentions))
        return kernel

    return register


@refused(errors.TypingError, mentions="undefined_name")
def unknown_name(x):
    x[0] = undefined_name  # here  # noqa: F821
    x[1] = 1


@refused(errors.TypingError, mentions="nothing_of_the_kind")
def unknown_attribute_of_a_module(x):
    x[0] = np.nothing_of_the_kind(x[1])  # here


@refused(errors.UnsupportedError, mentions="colour")
def unknown_attribute_of_an_array(x):
    x[0] = x.colour  # here


@refused(errors.TypingError, mentions="return")
def returns_a_value(x):
    x[0] = 1
    return x[0]  # here


@refused(errors.TypingError, np.zeros(8, np.int8), mentions="300")
def literal_that_does_not_fit(x):
    x[0] = x[1] + 300  # here


@refused(errors.TypingError, np.zeros(8, np.uint8), mentions="-1")
def negative_literal_with_an_unsigned(x):
    x[0] = x[1] * -1  # here


@refused(errors.TypingError)
def array_and_number_in_one_variable(x):
    y = 1.0
    if x[0] > 0:
        y = x  # here
    x[1] = y


@refused(errors.TypingError)
def tuples_of_different_lengths_in_one_variable(x):
    y = (1, 2)
    if x[0] > 0:
        y = (1, 2, 3)  # here
    x[1] = y[0]


@refused(errors.TypingError)
def too_many_indices(x):
    x[0] = x[1, 2]  # here


@refused(errors.TypingError)
def float_index(x):
    x[x[0]] = 1  # here


@refused(errors.TypingError)
def bits_of_a_float(x):
    x[0] = x[1] & 3  # here


@refused(errors.TypingError)
def shift_of_a_float(x):
    x[0] = x[1] << 1  # here


@refused(errors.TypingError)
def order_of_complex_numbers(x):
    x[0] = 1.0 if 1j < 2j else 0.0  # here


@refused(errors.TypingError)
def wrong_number_of_values_to_unpack(x):
    a, b = 1, 2, 3  # here
    x[0] = a + b


@refused(errors.TypingError)
def tuple_index_out_of_range(x):
    t = (1, 2)
    x[0] = t[5]  # here


@refused(errors.TypingError)
def call_of_a_number(x):
    y = 3
    x[0] = y(4)  # here


def _two(a, b):
    return a + b


@refused(errors.TypingError)
def too_few_arguments_of_a_call(x):
    x[0] = _two(1)  # here


@refused(errors.TypingError)
def unknown_keyword_of_a_call(x):
    x[0] = _two(1, c=2)  # here


@refused(errors.TypingError)
def attribute_of_a_number(x):
    y = 3
    x[0] = y.size  # here


@refused(errors.UnsupportedError, mentions="with")
def with_statement(x):
    with x:  # here
        x[0] = 1


@refused(errors.UnsupportedError, mentions="try")
def try_statement(x):
    try:  # here
        x[0] = 1
    except ValueError:
        x[0] = 2


@refused(errors.UnsupportedError, mentions="raise")
def raise_statement(x):
    if x[0] > 0:
        raise ValueError(x[0])  # here


@refused(errors.UnsupportedError)
def list_display(x):
    y = [1, 2, 3]  # here
    y[1] = 4
    x[0] = y[0]


@refused(errors.UnsupportedError)
def dictionary_display(x):
    y = {1: 2}  # here
    x[0] = y[1]


@refused(errors.UnsupportedError)
def list_comprehension(x):
    y = [k + 1 for k in range(3)]  # here
    x[0] = y[0]


@refused(errors.UnsupportedError)
def generator(x):
    x[0] = 1
    yield x[0]  # here


@refused(errors.UnsupportedError)
def inner_class(x):
    class Inner:  # here
        pass

    x[0] = 1


@refused(errors.UnsupportedError, mentions="import")
def import_statement(x):
    import math  # here

    x[0] = math.pi


@refused(errors.UnsupportedError, mentions="global")
def global_statement(x):
    global MISTAKE  # here
    x[0] = 1


@refused(errors.UnsupportedError, mentions="del")
def delete_statement(x):
    y = 1
    del y  # here
    x[0] = 1


@refused(errors.UnsupportedError)
def list_that_grows(x):
    y = [1, 2]  # here
    y.append(3)
    for k in y:
        x[0] += k


@refused(errors.UnsupportedError)
def formatted_string(x):
    print(f"{x[0]:.2f}")  # here


@refused(errors.TypingError, mentions="@")
def matrix_product_operator(x):
    x[0] = x @ x[0]  # here


@refused(errors.TypingError)
def starred_array(x):
    x[0] = max(*x)  # here


@refused(errors.UnsupportedError)
def array_allocation(x):
    y = np.zeros(4)  # here
    x[0] = y[0]


@refused(errors.UnsupportedError)
def match_statement(x):
    match x[0]:  # here
        case 0:
            x[1] = 1


@refused(errors.TypingError)
def shape_of_a_local_array_from_an_argument(x):
    y = cuda.local.array(x.size, dtype=np.float64)  # here
    x[0] = y[0]


@refused(errors.TypingError)
def negative_shape_of_a_shared_array(x):
    y = cuda.shared.array(-4, dtype=np.float64)  # here
    x[0] = y[0]


@refused(errors.TypingError, np.arange(8.0), mentions="y")
def variable_without_a_value(x):
    if x[0] < 0:
        pass
    x[0] = y  # here  # noqa: F821
    y = 1  # noqa: F841


@refused(errors.TypingError, mentions="800000 bytes")
def local_array_beyond_the_limit(x):
    a = cuda.local.array(100_000, np.float64)  # here
    x[0] = a[int(x[1])]


@refused(errors.TypingError, mentions="cuda.shared.array")
def shared_array_beyond_the_limit(x):
    a = cuda.shared.array((1 << 20, 1 << 20), np.float64)  # here
    x[0] = a[int(x[1]), 0]


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_is_refused_at_its_line(mistake: Mistake) -> None:
    before = [np.copy(arg) for arg in mistake.args]
    with pytest.raises(mistake.error) as caught:
        cuda.jit(mistake.kernel)[1, 8](*mistake.args)
    error = caught.value
    assert mistake.mentions in str(error)
    assert error.span is not None
    assert error.span.column > 0
    assert error.span.file == __file__
    if mistake.line is not None:
        assert error.span.line == mistake.line
    assert "^" in str(error)
    for array, old in zip(mistake.args, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_caret_is_under_the_construct() -> None:
    with pytest.raises(errors.UnsupportedError) as caught:
        cuda.jit(unknown_attribute_of_an_array)[1, 8](np.zeros(8))
    shown = str(caught.value).splitlines()
    source = next(line for line in shown if "x.colour" in line)
    caret = shown[shown.index(source) + 1]
    assert source[caret.index("^") :].startswith(("x.colour", "colour"))


@cuda.jit
def fill(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = value


@pytest.mark.parametrize(
    ("grid", "block"),
    [(0, 8), (-1, 8), (1, 0), (1, -8), (1, 1025), (1, (32, 64)), (2**31, 1), ((1, 70000), 8), ((), 8)],
    ids=str,
)
def test_launch_out_of_range_is_refused(grid, block) -> None:
    x = np.zeros(8)
    with pytest.raises(errors.LaunchError):
        fill[grid, block](x, 1.0)
    assert not x.any()


@pytest.mark.parametrize("configuration", [(1.5, 8), (1, "8"), ((1, 1, 1, 1), 8), ([1], 8)], ids=str)
def test_launch_of_the_wrong_kind_is_refused(configuration) -> None:
    x = np.zeros(8)
    with pytest.raises(errors.LaunchError):
        fill[configuration](x, 1.0)
    assert not x.any()


def test_launch_without_a_configuration_is_refused() -> None:
    with pytest.raises(errors.LaunchError):
        fill(np.zeros(8), 1.0)


@pytest.mark.parametrize(
    "args",
    [
        (),
        (np.zeros(8),),
        (np.zeros(8), 1.0, 2),
        (b"bytes", 1.0),
        ([1.0, 2.0], 1.0),
        (np.zeros(8, dtype=object), 1.0),
        (np.zeros(8, dtype=np.longdouble), 1.0),
        (np.zeros(8, dtype=">f8"), 1.0),
        (np.zeros(8), object()),
        (np.zeros(8), 2**70),
    ],
    ids=lambda args: ",".join(f"{type(arg).__name__}:{getattr(arg, 'dtype', '')}" for arg in args) or "none",
)
def test_arguments_that_do_not_fit_are_refused(args) -> None:
    with pytest.raises(errors.ArgumentError):
        fill[1, 8](*args)


def test_read_only_array_that_is_written_is_refused_where_it_is_written() -> None:
    x = np.zeros(8)
    x.flags.writeable = False
    with pytest.raises(errors.TypingError, match="read-only") as caught:
        fill[1, 8](x, 1.0)
    assert "x[i] = value" in str(caught.value)
    assert not x.any()


def test_read_only_array_is_no_argument_for_a_signature_of_a_writeable_one() -> None:
    x = np.zeros(8)
    x.flags.writeable = False
    with pytest.raises(errors.ArgumentError):
        cuda.jit("void(float64[:], float64)")(fill.py_func)[1, 8](x, 1.0)
    assert not x.any()


def test_read_only_array_that_is_only_read_is_accepted() -> None:
    x = np.arange(8.0)
    x.flags.writeable = False
    out = np.zeros(8)

    @cuda.jit
    def copy(out, x):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i]

    copy[1, 8](out, x)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize(
    "signature", ["void(int32[:)", "void(int33)", "void(int32[:], )x", 7, "float32(int32)"]
)
def test_malformed_signature_is_refused(signature) -> None:
    with pytest.raises(errors.WeftError):
        cuda.jit(signature)(fill.py_func)


def test_signature_with_the_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(errors.SignatureError):
        cuda.jit("void(float64[:])")(fill.py_func)


def test_argument_that_an_explicit_signature_does_not_take_is_refused() -> None:
    kernel = cuda.jit("void(float64[:], float64)")(fill.py_func)
    with pytest.raises(errors.ArgumentError):
        kernel[1, 8](np.zeros((2, 4)), 1.0)


def test_every_error_is_a_weft_error_and_the_builtin_kind() -> None:
    with pytest.raises(TypeError):
        cuda.jit(unknown_name)[1, 8](np.zeros(8))
    with pytest.raises(ValueError):
        fill[0, 8](np.zeros(8), 1.0)
