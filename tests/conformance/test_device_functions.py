"""Calls: plain Python functions, device functions, recursion, defaults, keywords, closures, constants."""

import math

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

NUMBERS = to_out(np.int64, of(small, np.int64, low=-40, high=40))

OFFSET = 17
RATIO = 0.25
TYPED = np.float32(1.1)
FLAG = True
PAIR = (3, (4, 5))


def twice(v):
    return v + v


def clamp(v, low=-10, high=10):
    if v < low:
        return low
    if v > high:
        return high
    return v


@cuda.jit(device=True)
def square(v):
    return v * v


@cuda.jit(device=True, inline=True)
def add_three(v):
    return v + 3


def divide(a, b):
    return a // b, a % b


def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def fill(values, start):
    """Change an array that belongs to the caller; return nothing."""
    for k in range(values.size):
        values[k] = start + k


def total(values):
    s = values[0]
    for k in range(1, values.size):
        s += values[k]
    return s


def first_divisor(n):
    for d in range(2, n):
        if n % d == 0:
            return d
    return n


@cases.kernel(NUMBERS)
def plain_function(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = twice(x[i]) + twice(twice(i))


@cases.kernel(NUMBERS)
def device_function(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = square(add_three(x[i]))


@cases.kernel(NUMBERS)
def several_returns_and_defaults(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = clamp(x[i]) * 10000 + clamp(x[i], 0) * 100 + clamp(x[i], high=5, low=-5)


@cases.kernel(to_out(np.float64, of(floats, np.float32), of(floats, np.float64), of(small, np.int64)))
def one_function_at_several_types(out, x, y, n):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = twice(x[i]) + twice(y[i]) + twice(n[i])


@cases.kernel(NUMBERS)
def tuple_returned(out, x):
    i = cuda.grid(1)
    if i < out.size:
        q, r = divide(x[i], 7)
        out[i] = q * 100 + r + divide(x[i], 3)[1]


@cases.kernel(NUMBERS)
def recursion(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factorial(abs(x[i]) % 15)


@cases.kernel(to_out(np.int64, of(small, np.int64, high=14)))
def double_recursion(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = fibonacci(x[i])


@cases.kernel(to_out(np.bool_, of(small, np.int64, high=20)))
def mutual_recursion(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = is_even(x[i])


@cases.kernel(NUMBERS)
def arrays_passed_on(out, x):
    i = cuda.grid(1)
    if i < out.size:
        buffer = cuda.local.array(5, dtype=np.int64)
        fill(buffer, x[i])
        out[i] = total(buffer) + total(x)


@cases.kernel(to_out(np.int64, of(small, np.int64, low=2, high=400)))
def return_from_a_loop_in_a_function(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = first_divisor(x[i])


@cases.kernel(to_out(np.float64, of(small, np.float64)))
def module_constants(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * RATIO + OFFSET + (PAIR[0] * PAIR[1][1] if FLAG else 0) + math.pi


@cases.kernel(to_out(np.float32, of(floats, np.float32)))
def typed_module_constant(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * TYPED


def _closure(step, function):
    weights = np.array([1, 10, 100])

    def kernel(out, x):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i]) * step + weights[i % 3]

    return kernel


cases.add(_closure(5, twice), NUMBERS, "closure_with_a_python_function")
cases.add(_closure(-2, square), NUMBERS, "closure_with_a_device_function")


def _maker(power):
    @cuda.jit(device=True)
    def raised(v):
        r = 1
        for _ in range(power):
            r *= v
        return r

    return raised


third_power, fourth_power = _maker(3), _maker(4)


@cases.kernel(NUMBERS)
def functions_that_differ_only_in_their_closure(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = third_power(x[i]) - fourth_power(x[i])


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def early_return_without_a_value(out, x):
    i = cuda.grid(1)
    if i < out.size:
        _store_positive(out, i, x[i])


def _store_positive(out, i, v):
    if v <= 0:
        return
    out[i] = v


@cases.kernel(NUMBERS)
def call_under_divergent_control(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(abs(x[i]) % 6):
            if k % 2:
                s += clamp(x[i] * k)
            else:
                s -= factorial(k)
        out[i] = s


@cases.kernel(NUMBERS)
def keyword_only_by_name(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = clamp(v=x[i], low=0, high=3)


def integer_square_root(n):
    r = 0
    while (r + 1) * (r + 1) <= n:
        r += 1
    return r


@cases.kernel(to_out(np.int64, of(small, np.int64, high=900)))
def call_in_a_loop_condition(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        rounds = 0
        while integer_square_root(v) > 1:
            v = integer_square_root(v)
            rounds += 1
        out[i] = rounds * 100 + v


def hypot(a, b):
    return math.hypot(a, b) + 1


def exp2(a):
    return a + math.exp2(3.0)


@cases.kernel(to_out(np.float64, of(small, np.float64)), ulp=4)
def erf(out, x):
    # This kernel and what it calls have names of the C library, whose functions they call.
    i = cuda.grid(1)
    if i < out.size:
        out[i] = hypot(x[i], 2.0) + exp2(x[i]) + math.erf(x[i])


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)
