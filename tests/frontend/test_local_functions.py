"""Functions and lambdas inside compiled functions, arrays of literal shapes in device functions, f-strings."""

import numpy as np
import pytest

import weft
from weft import cuda
from weft.diag.errors import TypingError, UnsupportedError


def test_an_inner_function_reads_what_is_around_it_at_the_call():
    @weft.jit
    def f(x):
        scale = 2

        def scaled(v, by=10, *, more=1):
            return v * scale + by + more

        first = scaled(x)
        scale = 3
        return first, scaled(x, 0), scaled(by=1, v=x, more=0), (lambda a: a + scale)(x)

    assert f(5) == (21, 16, 16, 8)
    assert f.py_func(5) == f(5)


def test_inner_functions_call_each_other_and_themselves():
    @weft.jit
    def f(n):
        base = n * 100

        def add(a, b):
            return a + b + base

        def factorial(k):
            if k < 2:
                return 1
            return k * factorial(k - 1)

        def both(k):
            return add(factorial(k), k)

        return both(n)

    assert f(4) == 24 + 4 + 400


def test_inner_functions_are_passed_on():
    @weft.jit
    def apply(function, x):
        return function(x) + 1

    @weft.jit
    def f(x):
        def twice(v):
            return v * 2

        return apply(twice, x) + apply(lambda v: v * 3, x)

    assert f(5) == 11 + 16


def test_one_that_uses_its_surroundings_stays_there():
    def apply(function, x):
        return function(x)

    @weft.jit
    def f(x):
        y = x + 1
        return apply(lambda v: v + y, x)

    with pytest.raises(UnsupportedError, match="uses 'y' of the function around it"):
        f(2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def g(v, by=x): return v", "default of 'by' is no literal"),
        ("def g(*v): return v", "variable number of parameters"),
        ("@staticmethod\n    def g(v): return v", "no decorators"),
        ("def g(v): return v\n    g()", "missing a required argument"),
    ],
)
def test_what_inner_functions_cannot_have_is_said(text, message, tmp_path, monkeypatch):
    (tmp_path / "inner.py").write_text(f"def f(x):\n    {text}\n    return g(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "inner", raising=False)
    with pytest.raises((UnsupportedError, TypingError), match=message):
        weft.jit(__import__("inner").f)(1)


def reversed_by(n, x):
    tile = cuda.shared.array((n,), np.float32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    cuda.syncthreads()
    return tile[n - 1 - i]


def test_literals_are_shapes_in_device_functions():
    def in_two(n, x):
        return reversed_by(n * 2, x)

    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = in_two(8, x) + reversed_by(16, x)
        if i < 4:
            y[i] += local_sum(4)

    @cuda.jit(device=True)
    def local_sum(n):
        a = cuda.local.array(n, np.int32)
        for k in range(n):
            a[k] = k
        return a[n - 1]

    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel[1, 16](x, y)
    assert (y == 2 * x[::-1] + np.where(np.arange(16) < 4, 3, 0)).all()


def test_tuples_of_literals_are_shapes_and_flags_may_be_literals():
    def turned(x, shape, swap):
        tile = cuda.shared.array(shape, np.float32)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        tile[i, j] = x[i, j]
        cuda.syncthreads()
        if swap:
            return tile[j, i]
        return tile[i, j]

    @cuda.jit
    def kernel(x, y):
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        y[i, j] = turned(x, (4, 4), True) * 10 + turned(x, (4, 8), False)

    x, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    kernel[1, (4, 4)](x, y)
    assert (y == x.T * 10 + x).all()


def test_a_shape_that_no_literal_gives_is_refused():
    @cuda.jit
    def kernel(n, x):
        x[0] = reversed_by(n, x)

    with pytest.raises(TypingError, match="must be known at compile time"):
        kernel[1, 16](16, np.zeros(16, np.float32))


@pytest.mark.parametrize("align", [1, 8, 64, 256])
def test_arrays_are_aligned_as_asked_for(align):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        mine = cuda.local.array(5, np.float64, alignment=align)
        ours = cuda.shared.array(5, np.int8, alignment=align)
        mine[i % 5] = i
        ours[0] = 1
        out[i] = mine[i % 5] + ours[0] * 0

    out = np.zeros(40)
    kernel[1, 40](out)
    assert (out == np.arange(40)).all()


@pytest.mark.parametrize(
    ("align", "message"), [(0, "power of two"), (12, "power of two"), (2.0, "constant integer")]
)
def test_alignments_are_powers_of_two(align, message):
    @cuda.jit
    def kernel(out):
        out[0] = cuda.local.array(5, np.float64, alignment=align)[0]

    with pytest.raises(TypingError, match=message):
        kernel[1, 1](np.zeros(1))


def test_f_strings_are_printed(capfd):
    @cuda.jit
    def kernel(x):
        if cuda.grid(1) == 1:
            print(f"x[{1}]={x[1]}, {(1, x[0])}", f"{x[1]=}", 7, "")

    kernel[1, 4](np.array([0.5, 2.0]))
    assert capfd.readouterr().out == "x[1]=2.0, (1, 0.5) x[1]=2.0 7 \n"


def test_ranges_are_reversed_enumerated_and_zipped():
    @weft.jit
    def f(x, n):
        total = 0
        for i, r in enumerate(reversed(range(2, n))):
            total += i * 10 * r
        for a, b in zip(range(n, 0, -2), range(0, 100, 7)):  # noqa: B905 - kernels know no keywords of zip
            total = total * 3 + a * b
        for r in reversed(range(n, 1, -3)):
            total = total * 5 + r
        for v in reversed(x):
            total = total * 7 + v
        for i, r in enumerate(range(5, n), 3):
            total += i * r
        return total

    for n in (0, 1, 2, 3, 7, 8, 9):
        x = np.arange(n, dtype=np.int64)
        assert f(x, n) == f.py_func([int(v) for v in x], n)


def test_vector_types_are_made_of_parts():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        pair = cuda.float2(i, 2.5)
        whole = cuda.float32x4(pair, cuda.float32x2(7, 8))
        x, y, _, w = whole
        out[i] = x + y * 10 + whole.z * 100 + w * 1000 + cuda.uchar3(1, 2, i + 36 + 256 - i).z

    out = np.zeros(8)
    kernel[1, 8](out)
    assert (out == np.arange(8) + 25 + 700 + 8000 + 36).all()


def test_a_vector_takes_as_many_numbers_as_it_has():
    @cuda.jit
    def kernel(out):
        out[0] = cuda.float32x3(1, 2).x

    with pytest.raises(TypingError, match="takes 3 numbers, not 2"):
        kernel[1, 1](np.zeros(1))
