"""What the debug mode of kernels finds, with its line and its threads."""

from pathlib import Path

import numpy as np
import pytest

from weft import cuda, errors, float32, int32


def twice(v):
    return v * 2


def assigned_on_one_path(out):
    i = cuda.grid(1)
    if i > 2:
        x = 3.0
    out[i] = x  # here


def assigned_in_a_loop(out):
    i = cuda.grid(1)
    for k in range(i):
        last = k
    out[i] = twice(last)  # here


def decides_without_a_value(out):
    i = cuda.grid(1)
    if i > 2:
        x = out[i]
    if x > 1:  # here
        out[i] = 1


def unwritten_element(out):
    i = cuda.grid(1)
    scratch = cuda.local.array(4, float32)
    scratch[0] = 1
    out[i] = scratch[1]  # here


def unwritten_at_a_variable(out):
    i = cuda.grid(1)
    scratch = cuda.local.array(4, int32)
    out[i] = scratch[i % 4]  # here


def others_have_finished(out):
    i = cuda.threadIdx.x
    if i < 2:
        cuda.syncthreads()  # here
    out[i] = 1


def rounds_of_their_own(out):
    for _ in range(cuda.threadIdx.x):
        cuda.syncthreads()  # here


def divides_by_zero(out):
    i = cuda.grid(1)
    out[i] = 8 // i  # here


def asserts(out):
    i = cuda.grid(1)
    assert i < 3, "too many"  # here


@pytest.mark.parametrize("block", [8, 48])
@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (assigned_on_one_path, "uninitialized: a variable is read before it has a value"),
        (assigned_in_a_loop, "uninitialized: a variable is read before it has a value"),
        (decides_without_a_value, "uninitialized: a variable is read before it has a value"),
        (unwritten_element, "uninitialized: memory is read before anything was written there"),
        (unwritten_at_a_variable, "uninitialized: memory is read before anything was written there"),
        (others_have_finished, "barrier: barrier reached by 2 threads while"),
        (rounds_of_their_own, "barrier: barrier reached by"),
        (divides_by_zero, "division: integer division by zero"),
        (asserts, "assertion: the assertion does not hold"),
    ],
)
def test_findings(kernel, says: str, block: int) -> None:
    with pytest.raises(errors.SanitizerError) as caught:
        cuda.jit(debug=True)(kernel)[1, block](np.zeros(block))
    error = caught.value
    assert says in str(error) and "thread" in str(error)
    assert error.span is not None
    assert "# here" in Path(__file__).read_text().splitlines()[error.span.line - 1]


def test_findings_that_python_would_raise_are_its_exceptions() -> None:
    with pytest.raises(ZeroDivisionError):
        cuda.jit(debug=True)(divides_by_zero)[1, 8](np.zeros(8))
    with pytest.raises(AssertionError):
        cuda.jit(debug=True)(asserts)[1, 8](np.zeros(8))
    out = np.ones(8)
    cuda.jit(divides_by_zero)[1, 8](out)
    cuda.jit(asserts)[1, 8](out)
    assert out[0] == 0


def test_what_is_defined_is_no_finding() -> None:
    @cuda.jit(debug=True)
    def fine(out):
        i = cuda.threadIdx.x
        scratch = cuda.local.array(2, float32)
        if i < 2:
            return
        for k in range(2):
            scratch[k] = i
            last = k
        if i > 3:
            x = 1.0
        if i <= 3:
            x = 2.0
        cuda.syncthreads()
        out[i] = scratch[1] + x + last + 1.0 / (i - i)

    out = np.zeros(8)
    fine[1, 8](out)
    assert np.isinf(out[2:]).all() and not out[:2].any()


def written_by_all(out):
    out[0] = cuda.grid(1)


def written_by_two(out):
    i = cuda.grid(1)
    out[i // 2] = i


def read_by_all(out):
    i = cuda.grid(1)
    s = out[0]
    if i == 5:
        out[0] = s


@pytest.mark.parametrize(("grid", "block"), [(1, 8), (8, 1), (4, 2)])
@pytest.mark.parametrize("kernel", [written_by_all, written_by_two, read_by_all])
def test_races_name_both_threads(kernel, grid: int, block: int) -> None:
    with pytest.raises(errors.SanitizerError, match=r"races with a \w+ by block \d thread \d"):
        cuda.jit(debug=True)(kernel)[grid, block](np.zeros(8))
