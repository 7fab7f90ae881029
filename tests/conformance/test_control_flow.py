"""Branches, loops, early exits, conditional expressions, short circuits and chained comparison."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, given, ints, of, small, spread, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

NUMBERS = to_out(np.int64, of(small, np.int64, low=-50, high=50))


@cases.kernel(NUMBERS)
def if_else(out, x):
    i = cuda.grid(1)
    if i < out.size:
        if x[i] > 0:
            out[i] = x[i] * 2
        else:
            out[i] = -x[i]


@cases.kernel(NUMBERS)
def elif_chain(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        if v < -20:
            r = 1
        elif v < 0:
            r = 2
        elif v == 0:
            r = 3
        elif v < 20:
            r = 4
        else:
            r = 5
        out[i] = r * 100 + v


@cases.kernel(NUMBERS)
def nested_ifs(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        if v % 2 == 0:
            if v % 3 == 0:
                out[i] = 6
            else:
                out[i] = 2
        else:
            if v % 3 == 0:
                out[i] = 3


@cases.kernel(NUMBERS)
def early_return(out, x):
    i = cuda.grid(1)
    if i >= out.size:
        return
    if x[i] < 0:
        out[i] = -1
        return
    out[i] = x[i] + 1


@cases.kernel(NUMBERS)
def return_from_a_loop(out, x):
    i = cuda.grid(1)
    if i >= out.size:
        return
    for k in range(100):
        if k * k > abs(x[i]):
            out[i] = k
            return
    out[i] = -1


@cases.kernel(NUMBERS)
def while_with_a_varying_count(out, x):
    i = cuda.grid(1)
    if i < out.size:
        n = abs(x[i]) + 1
        steps = 0
        while n != 1:
            if n % 2 == 0:  # noqa: SIM108
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        out[i] = steps


@cases.kernel(NUMBERS)
def break_and_continue(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(60):
            if (k + x[i]) % 3 == 0:
                continue
            if k > 20 + x[i]:
                break
            s += k
        out[i] = s


@cases.kernel(NUMBERS)
def for_else(out, x):
    i = cuda.grid(1)
    if i < out.size:
        n = abs(x[i])
        for d in range(2, 8):
            if n % d == 0:
                out[i] = d
                break
        else:
            out[i] = -7


@cases.kernel(NUMBERS)
def while_else(out, x):
    i = cuda.grid(1)
    if i < out.size:
        k = 0
        while k < 30:
            if k == x[i]:
                out[i] = 1000 + k
                break
            k += 1
        else:
            out[i] = k


@cases.kernel(NUMBERS)
def break_out_of_the_inner_loop_only(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for a in range(6):
            for b in range(6):
                if a * b > abs(x[i]):
                    break
                s += a + b
            else:
                s += 100
            s += 1
        out[i] = s


@cases.kernel(NUMBERS)
def continue_in_while(out, x):
    i = cuda.grid(1)
    if i < out.size:
        k = 0
        s = 0
        while k < 20:
            k += 1
            if k % 4 == x[i] % 4:
                continue
            s = s * 3 + k
        out[i] = s


@cases.kernel(NUMBERS)
def while_true(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        while True:
            v += 7
            if v % 11 == 0:
                break
        out[i] = v


@cases.kernel(NUMBERS)
def two_exits_with_different_values(out, x):
    i = cuda.grid(1)
    if i < out.size:
        r = 0
        k = 0
        while k < 40:
            if x[i] + k == 12:
                r = 1
                break
            if x[i] * k > 100:
                r = 2
                break
            k += 1
        out[i] = r * 1000 + k


@cases.kernel(to_out(np.int64, of(small, np.int64, low=-5, high=6), of(small, np.int64, high=30)))
def range_with_start_and_stop(out, a, b):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(a[i], b[i]):
            s += k * k
        out[i] = s


@cases.kernel(to_out(np.int64, of(small, np.int64, low=1, high=7)))
def range_with_a_positive_step(out, step):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(-10, 25, step[i]):
            s = s * 2 + k
        out[i] = s


@cases.kernel(NUMBERS)
def range_with_a_negative_step(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(x[i], -30, -3):
            s += k
        out[i] = s


@cases.kernel(to_out(np.int64, lambda rng: rng.choice([-4, -3, -1, 1, 2, 5], 48)))
def range_with_a_step_of_either_sign(out, step):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(3, 40 * step[i], step[i]):
            s += k
        for k in range(40, 3, step[i]):
            s -= 2 * k
            if s < -100000:
                break
        out[i] = s


@cases.kernel(NUMBERS)
def empty_range(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = 5
        for k in range(0):
            s = k
        for k in range(5, 5):
            s = k
        out[i] = s + x[i]


@cases.kernel(NUMBERS)
def loop_variable_after_the_loop(out, x):
    i = cuda.grid(1)
    if i < out.size:
        k = -1
        for k in range(abs(x[i]) % 7):  # noqa: B007
            pass
        out[i] = k


@cases.kernel(NUMBERS)
def assigning_the_loop_variable_does_not_change_the_loop(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for k in range(10):
            s += k
            k = k + x[i]
            s += k
        out[i] = s


@cases.kernel(NUMBERS)
def range_bound_is_read_once(out, x):
    i = cuda.grid(1)
    if i < out.size:
        n = abs(x[i]) % 9
        s = 0
        for k in range(n):
            n += 5
            s += k + n
        out[i] = s


@cases.kernel(NUMBERS)
def conditional_expressions(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        sign = 1 if v > 0 else -1 if v < 0 else 0
        out[i] = sign * 100 + (v if v % 2 == 0 else -v)


@cases.kernel(to_out(np.int64, of(small, np.int64, low=-60, high=60), size=40))
def short_circuit_guards_an_access(out, x):
    i = cuda.grid(1)
    if i < out.size:
        j = x[i]
        if j >= 0 and j < out.size and x[j] > 0:
            out[i] = x[j]
        elif j < 0 or j >= out.size or x[j] < -30:
            out[i] = -1000


@cases.kernel(NUMBERS)
def boolean_operators_return_an_operand(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        a = (v % 3) or 7
        b = (v % 2) and 9
        out[i] = a * 100 + b


@cases.kernel(NUMBERS)
def chained_comparison(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        r = 0
        if -10 < v < 10:
            r += 1
        if 0 <= v <= 20 != v:
            r += 2
        if not (-30 <= v < v + 1 < 0):
            r += 4
        out[i] = r


@cases.kernel(NUMBERS)
def truth_of_integers(out, x):
    i = cuda.grid(1)
    if i < out.size:
        r = 0
        if x[i]:
            r = 1
        while not r:
            r = 5
        out[i] = r if x[i] % 4 else -r


@cases.kernel(NUMBERS)
def grid_stride_loop(out, x):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i] + 1


cases.add(grid_stride_loop, NUMBERS, "grid_stride_loop_of_few_threads", threads=7, block=7)


@cases.kernel(NUMBERS)
def swap_and_rotate(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a, b, c = x[i], 1, 2
        for _ in range(abs(x[i]) % 5):
            a, b, c = b, c, a
        out[i] = a * 10000 + b * 100 + c


@cases.kernel(to_out(np.float64, of(small, np.int64, low=-50, high=50)))
def variable_takes_the_join_of_its_types(out, x):
    i = cuda.grid(1)
    if i < out.size:
        if x[i] > 0:  # noqa: SIM108
            r = 1
        else:
            r = 0.5
        out[i] = r


@cases.kernel(NUMBERS)
def assertion_that_holds(out, x):
    i = cuda.grid(1)
    if i < out.size:
        assert x[i] < 1000, "not reached"
        assert abs(x[i]) <= 50
        out[i] = x[i]


@cases.kernel(NUMBERS)
def pass_does_nothing(out, x):
    i = cuda.grid(1)
    if i < out.size:
        if x[i] > 0:
            pass
        else:
            out[i] = 3
    else:
        pass


@cases.kernel(NUMBERS)
def conditionally_bound_and_read_under_the_same_condition(out, x):
    i = cuda.grid(1)
    if i < out.size:
        if x[i] > 10:
            v = x[i] * x[i]
        if x[i] > 10:
            out[i] = v


@cases.kernel(to_out(np.int32, of(spread, np.float32, -2, 0.5), of(spread, np.float32, -1, 1)))
def mandelbrot(out, cr, ci):
    i = cuda.grid(1)
    if i < out.size:
        x = np.float32(0)
        y = np.float32(0)
        count = 0
        while count < 64 and x * x + y * y < np.float32(4):
            x, y = x * x - y * y + cr[i], np.float32(2) * x * y + ci[i]
            count += 1
        out[i] = count


@cases.kernel(
    to_out(np.int64, of(small, np.int64, high=200), lambda rng: np.sort(small(rng, np.int64, high=200)))
)
def binary_search(out, wanted, table):
    i = cuda.grid(1)
    if i < out.size:
        low, high = 0, table.size
        while low < high:
            middle = (low + high) // 2
            if table[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def newton_until_it_converges(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = abs(x[i]) + 1.0
        r = a
        while True:
            better = 0.5 * (r + a / r)
            if abs(better - r) < 1e-9:
                break
            r = better
        out[i] = r


@cases.kernel(to_out(np.int32, of(ints, np.int32), given(np.int32(5))))
def switch_like_chain_in_a_loop(out, x, rounds):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        for k in range(rounds):
            op = (v >> k) & 3
            if op == 0:
                v += 17
            elif op == 1:
                v ^= 0x5A5A
            elif op == 2:
                v = v * 31
            else:
                v = ~v
        out[i] = v


@cases.kernel(to_out(np.int64, of(small, np.int64, low=0, high=30)))
def triangle_of_nested_loops(out, n):
    i = cuda.grid(1)
    if i < out.size:
        s = 0
        for a in range(n[i]):
            for b in range(a, n[i]):
                if (a + b) % 5 == 4:
                    continue
                s += a ^ b
                if s > 2000:
                    break
            if s > 2000:
                break
        out[i] = s


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)
