"""Functions as arguments from Python: of kernels and of functions, in tuples, by machine code, in the cache."""

import math

import numpy as np
import pytest

import weft
from weft import cuda
from weft.errors import ArgumentError, TypingError, UnsupportedError

SCALE = 2.0


@weft.jit
def integral(f, a, b, n):
    total = 0.0
    for i in weft.prange(n):
        total += f(a + (b - a) * (i + 0.5) / n)
    return total * (b - a) / n


@cuda.jit
def applied(f, x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = f(x[i])


@cuda.jit(device=True)
def square(v):
    return v * v


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (square, lambda x: x * x),
        (weft.jit(lambda v: v + SCALE), lambda x: x + SCALE),
        (lambda v: -v, np.negative),
        (math.floor, np.floor),
        (np.sqrt, np.sqrt),
        (np.float32, np.float32),
    ],
    ids=["device", "jit", "lambda", "math", "ufunc", "conversion"],
)
def test_kinds_of_functions(function, wanted):
    x = np.linspace(0, 3, 40)
    out = np.zeros(40)
    for _ in range(2):
        applied[2, 32](function, x, out)
        np.testing.assert_array_equal(out, wanted(x))
    once = weft.jit(lambda f, v: f(v))
    assert once(function, 1.5) == wanted(1.5)


def test_functions_of_one_meaning_have_one_code():
    def line(slope):
        return lambda v: slope * v

    function = weft.jit(integral.py_func)
    assert [function(line(s), 0.0, 1.0, 8) for s in (1.0, 4.0, 1.0, 4.0)] == [0.5, 2.0, 0.5, 2.0]
    assert len(function.overloads) == 2


def test_one_function_again_is_called_by_machine_code(monkeypatch):
    monkeypatch.setenv("WEFT_CHECK", "0")
    function = weft.jit(integral.py_func)
    function(math.sin, 0.0, 1.0, 10)

    def by_python(*args):
        raise AssertionError

    function._call = by_python
    assert function(math.sin, 0.0, 1.0, 10) == pytest.approx(1 - math.cos(1), abs=1e-3)
    with pytest.raises(AssertionError):
        function(math.cos, 0.0, 1.0, 10)


def test_in_tuples_and_handed_on():
    @weft.jit
    def composed(functions, v):
        outer, inner = functions
        return integral(outer, 0.0, inner(v), 4), outer is inner

    assert composed((square, math.sqrt), 1.0) == (integral(square, 0.0, 1.0, 4), False)
    assert composed((abs, abs), -1.0) == (0.5, True)


def test_the_digest_of_a_call_counts_what_the_argument_reaches(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("WEFT_CHECK", "0")
    weft.keep_exec_source()
    names = {}

    def made(body):
        text = f"def given(v):\n    return {body}\n"
        scope = dict(names)
        exec(compile(text, "<given>", "exec"), scope)
        return scope["given"]

    def seconds(function, value):
        fresh = weft.jit(integral.py_func)
        assert fresh(function, 0.0, 1.0, 2) == value
        (compiled,) = fresh.overloads.values()
        return compiled.timings.as_dict()["llvm"]

    names["C"] = 3.0
    assert seconds(made("v * C"), 1.5) > 0
    assert seconds(made("v * C"), 1.5) == 0
    names["C"] = 5.0
    assert seconds(made("v * C"), 2.5) > 0
    assert seconds(made("C"), 5.0) > 0
    names["C"] = 3.0
    assert seconds(made("v * C"), 1.5) == 0


def test_refusals():
    with pytest.raises(ArgumentError, match="cannot take a value of type builtin"):
        integral("text".upper, 0.0, 1.0, 2)
    with pytest.raises(TypingError, match="missing a required argument: 'w'"):
        integral(lambda v, w: v, 0.0, 1.0, 2)
    with pytest.raises(UnsupportedError, match="cannot return square"):
        weft.jit(lambda f: f)(square)


def test_in_debug_mode():
    @cuda.jit(debug=True)
    def kernel(f, x):
        x[cuda.grid(1)] = f(x[cuda.grid(1)])

    x = np.arange(4.0)
    kernel[1, 4](square, x)
    assert x.tolist() == [0, 1, 4, 9]
