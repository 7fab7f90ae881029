"""Variables whose assignments do not meet have types of their own."""

import ast

import numpy as np
import pytest

import weft
from weft import cuda
from weft.errors import TypingError
from weft.frontend.python.webs import split_variable


def split(text: str, name: str) -> str | None:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    made = split_variable(node, name)
    return None if made is None else ast.unparse(made)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("x = 1\n    use(x)\n    x = a\n    use(x)", "x = 1\n    use(x)\n    x.1 = a\n    use(x.1)"),
        ("x = 1\n    if a: x = 2\n    use(x)", None),
        (
            "x = 1\n    if a:\n        x = b\n        use(x)",
            "x = 1\n    if a:\n        x.1 = b\n        use(x.1)",
        ),
        ("x = 1\n    while use(x):\n        x = b", None),
        ("x = a\n    for i in b:\n        x = i\n        if x: break\n    use(x)", None),
        ("x = 1\n    x += 1\n    x = a", "x = 1\n    x += 1\n    x.1 = a"),
        ("x = 1\n    (lambda: x)()\n    x = a", None),
    ],
)
def test_webs_of_a_variable(body, wanted) -> None:
    made = split(f"def f(a, b):\n    {body}", "x")
    assert made == (None if wanted is None else f"def f(a, b):\n    {wanted}")


@cuda.jit
def reshapes(out, x):
    for _ in range(2):
        x = x.reshape(6)
        x[cuda.threadIdx.x] += 1
        x = x.reshape(2, 3)
    for i in range(x.shape[0]):
        out[i] = x[i, 1]


def test_a_parameter_that_becomes_another_view() -> None:
    out, x = np.zeros(2), np.arange(6.0).reshape(2, 3)
    reshapes[1, 6](out, x)
    assert out.tolist() == [3, 6]


def several(a, n):
    x = a * 2
    total = 0.0
    for v in x:
        total += v
    x = 3
    while x < n:
        x += 1
        if x == 7:
            break
    else:
        x = -1
    y = x
    x = (x, total)
    return y, x[1]


@pytest.mark.parametrize("n", [5, 10])
def test_one_name_for_an_array_a_number_and_a_tuple(n) -> None:
    a = np.arange(4.0)
    assert weft.jit(several)(a, n) == several(a, n)


def test_assignments_that_meet_are_refused_with_both_lines() -> None:
    @weft.jit
    def meets(a, c):
        x = a
        if c:
            x = 1
        return x

    with pytest.raises(TypingError, match="variable 'x' is int here and float64") as caught:
        meets(np.ones(2), True)
    assert "two names" in caught.value.hint


def first_of(b):
    if isinstance(b, tuple):
        b = b[0]
    return b


def test_an_arm_that_is_never_taken_keeps_assignments_apart() -> None:
    function = weft.jit(first_of)
    assert function(3) == 3 and function((4, 5)) == 4
