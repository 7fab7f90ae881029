"""Errors point at the construct, name it, and say how to write it where there is a way."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from frontend.kernels import compiled
from weft import cuda
from weft.errors import SignatureError, TypingError, UnsupportedError, WeftError

VECTOR = np.zeros(8, np.float32)
BYTES = np.zeros(8, np.uint8)
LIST = [1, 2, 3]
READ_ONLY = np.arange(4)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A function, the text that the caret must stand under, and words of message and hint."""

    function: Any
    error: type[WeftError]
    at: str
    says: str
    hint: str = ""
    examples: tuple = (VECTOR,)

    def __str__(self) -> str:
        return self.function.__name__


def comprehension(x):
    x[0] = sum([2 * v for v in x])


def f_string(x):
    print(f"{x[0]:.2f}")


def random_number(x):
    x[0] = np.random.random()


def mesh(x):
    x[0] = np.mgrid[0:4, 0:4][0, 1, 2]


def with_statement(x):
    with x:
        pass


def raise_of(x):
    if x[0] < 0:
        raise ValueError(x)


def raising(x):
    raise_of(x)


def trying(x):
    try:
        x[0] = 1
    except ValueError:
        x[0] = 2


def inner_function(x):
    def helper():
        nonlocal x
        return 1

    x[0] = helper()


def importing(x):
    import os

    x[0] = os.getpid()


def matching(x):
    match x.size:
        case 1:
            x[0] = 1


def list_from_outside(x):
    x[0] = LIST[0]


def write_to_a_constant(x):
    READ_ONLY[0] = x[0]


def unknown_cuda_name(x):
    x[cuda.grid(1)] = cuda.tensor_core(1)


def grid_of_four(x):
    x[0] = cuda.grid(4)


def shape_of_a_variable(x):
    tile = cuda.shared.array(x.size, np.float32)
    x[0] = tile[0]


def dtype_of_text(x):
    tile = cuda.local.array(4, "nothing")
    x[0] = tile[0]


def literal_in_a_store(x):
    x[0] = 256


def literal_in_arithmetic(x):
    x[0] = x[1] + x[2] * 300


def atomic_on_a_scalar(x):
    cuda.atomic.add(x[0], 0, 1)


def atomic_and_on_floats(x):
    cuda.atomic.and_(x, 0, 1)


def too_few_arguments(x):
    x[0] = math.atan2(x[0])


def wrong_keyword(x):
    x[0] = halved(x[0], factor=2)


def halved(v):
    return v / 2


def broken(v):
    return v.nothing


def mistake_in_a_callee(x):
    x[0] = broken(x[0])


def loop_over_a_number(x):
    for i in 5:
        x[i] = 1


def truth_of_an_array(x):
    if x:
        x[0] = 1


def slice_with_a_step_of_a_float(x):
    x[0] = x[:: x[0]][0]


def assignment_to_a_slice(x):
    x[1:3] = (x[0], x[1])


def complex_in_a_real_array(x):
    x[0] = 1j


def variable_as_tuple_index(x):
    x[0] = (1, x)[x.size]


def misspelt(x):
    total = 1
    x[0] = totl + total  # noqa: F821


def print_keyword(x):
    print(x[0], end="")


def call_of_a_method(x):
    x[0] = x.tolist()


MISTAKES = [
    Mistake(comprehension, UnsupportedError, "[2 * v for v in x]", "list comprehension", "for loop"),
    Mistake(f_string, UnsupportedError, 'f"{x[0]:.2f}"', "format in an f-string", "round it"),
    Mistake(with_statement, UnsupportedError, "with x:", "with is not supported"),
    Mistake(
        raising, UnsupportedError, "raise ValueError(x)", "one text, which is known", "leave out what varies"
    ),
    Mistake(trying, UnsupportedError, "try:", "try", "if"),
    Mistake(inner_function, UnsupportedError, "nonlocal x", "cannot assign to variables around", "return"),
    Mistake(importing, UnsupportedError, "import os", "import", "module level"),
    Mistake(matching, UnsupportedError, "match x.size:", "match", "elif"),
    Mistake(list_from_outside, UnsupportedError, "LIST", "list from outside", "tuple"),
    Mistake(write_to_a_constant, TypingError, "READ_ONLY[0] = x[0]", "read-only", "argument"),
    Mistake(unknown_cuda_name, TypingError, "cuda.tensor_core", "no 'tensor_core'"),
    Mistake(grid_of_four, TypingError, "cuda.grid(4)", "1, 2 or 3"),
    Mistake(
        shape_of_a_variable, TypingError, "cuda.shared.array(x.size", "known at compile time", "constant"
    ),
    Mistake(dtype_of_text, TypingError, "cuda.local.array(4", "nothing"),
    Mistake(
        literal_in_a_store, TypingError, "x[0] = 256", "literal 256 does not fit uint8", "0 to 255", (BYTES,)
    ),
    Mistake(literal_in_arithmetic, TypingError, "x[2] * 300", "literal 300", "wider type", (BYTES,)),
    Mistake(atomic_on_a_scalar, TypingError, "cuda.atomic.add(x[0]", "element of an array"),
    Mistake(atomic_and_on_floats, TypingError, "cuda.atomic.and_(", "not defined on float32"),
    Mistake(too_few_arguments, TypingError, "math.atan2(x[0])", "takes 2 arguments"),
    Mistake(wrong_keyword, TypingError, "halved(x[0], factor=2)", "factor"),
    Mistake(mistake_in_a_callee, TypingError, "v.nothing", "no attribute 'nothing'"),
    Mistake(loop_over_a_number, TypingError, "5:", "cannot be looped over", "range()"),
    Mistake(truth_of_an_array, TypingError, "x:", "no truth value", "size"),
    Mistake(slice_with_a_step_of_a_float, TypingError, "x[:: x[0]]", "step of a slice"),
    Mistake(
        assignment_to_a_slice,
        TypingError,
        "x[1:3] = (x[0], x[1])",
        "cannot be assigned to all elements",
        "loop",
    ),
    Mistake(complex_in_a_real_array, TypingError, "x[0] = 1j", "complex cannot become float32", ".real"),
    Mistake(variable_as_tuple_index, TypingError, "(1, x)[x.size]", "constant", "for"),
    Mistake(misspelt, TypingError, "totl", "'totl' is not defined", "'total'"),
    Mistake(random_number, UnsupportedError, "np.random.random()", "random()", "weft.cuda.random"),
    Mistake(mesh, UnsupportedError, "np.mgrid[0:4", "np.mgrid is not supported", "argument"),
    Mistake(print_keyword, TypingError, 'print(x[0], end="")', "keyword"),
    Mistake(call_of_a_method, UnsupportedError, "x.tolist", "no 'tolist'", "loop"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_mistake_is_shown_where_it_is_made(mistake: Mistake) -> None:
    with pytest.raises(mistake.error) as caught:
        compiled(mistake.function, *mistake.examples)
    error = caught.value
    assert mistake.says in error.message
    assert mistake.hint in (error.hint or "")
    assert error.span is not None
    line = error.span.source_line() or ""
    assert line[error.span.column - 1 :].startswith(mistake.at)


def test_a_starred_parameter_is_refused_at_the_parameter() -> None:
    def variadic(*values):
        return values

    with pytest.raises(UnsupportedError) as caught:
        compiled(variadic, VECTOR)
    assert caught.value.span is not None and caught.value.span.line == variadic.__code__.co_firstlineno


def test_a_wrong_number_of_types_is_a_signature_error() -> None:
    with pytest.raises(SignatureError, match="takes 1 arguments"):
        compiled(halved, 1, 2, device=True)


def test_names_of_cuda_tell_on_the_host_where_they_belong() -> None:
    with pytest.raises(UnsupportedError, match="inside kernels only"):
        cuda.grid(1)
    with pytest.raises(AttributeError):
        cuda.atomic.nothing
