"""Loops of the kinds of the Test Suite for Vectorizing Compilers, each with what becomes of it under ``if-legal``.

A loop is a function of (a, b, c, d, e, k): five float64 arrays of n elements and an int64 array of n indices.
"parallel" means that its iterations are shown to be independent; otherwise a part of the reason why it runs in order.
"""

from __future__ import annotations

from weft import prange

LOOPS = {}


def loop(fate: str):
    def enter(function):
        LOOPS[function.__name__] = (function, fate)
        return function

    return enter


MAY_READ = "other iterations may read what is written here"
HANDED_ON = "a value that iterations hand on"


@loop("parallel")
def in_place(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        a[i] = a[i] + 1


@loop("parallel")
def stride_two(a, b, c, d, e, k):
    for i in prange(0, a.shape[0], 2):
        a[i] = a[i] * 2


@loop("parallel")
def odd_from_even(a, b, c, d, e, k):
    for i in prange(1, a.shape[0], 2):
        a[i] = a[i - 1] * 2


@loop("read 1 iteration later")
def first_order(a, b, c, d, e, k):
    for i in prange(1, a.shape[0]):
        a[i] = a[i - 1] + 1


@loop("read 1 iteration earlier")
def anti_dependence(a, b, c, d, e, k):
    for i in prange(a.shape[0] - 1):
        a[i] = a[i + 1] * 0.5


@loop("read 4 iterations later")
def distance_four(a, b, c, d, e, k):
    for i in prange(4, a.shape[0]):
        a[i] = a[i - 4] * 0.5


@loop("read 3 iterations later")
def distance_by_step(a, b, c, d, e, k):
    for i in prange(6, a.shape[0], 2):
        a[i] = a[i - 6] * 0.5


@loop("parallel")
def other_residue(a, b, c, d, e, k):
    for i in prange(7, a.shape[0], 3):
        a[i] = a[i - 1] + a[i - 2]


@loop("parallel")
def backwards(a, b, c, d, e, k):
    for i in prange(a.shape[0] - 1, -1, -1):
        a[i] = a[i] * 0.25


@loop("read 1 iteration later")
def backwards_carried(a, b, c, d, e, k):
    for i in prange(a.shape[0] - 2, -1, -1):
        a[i] = a[i + 1] * 0.25


@loop(MAY_READ)
def crossing(a, b, c, d, e, k):
    n = a.shape[0]
    for i in prange(n):
        a[i] = a[n - 1 - i] + 1


@loop(MAY_READ)
def one_element(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        a[0] = a[i] * 0.5 + i


@loop("parallel")
def condition(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        if a[i] > 0.5:
            a[i] = 1 - a[i]


@loop("parallel")
def else_chain(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        if a[i] > 0.7:
            a[i] = 0
        elif a[i] > 0.3:
            a[i] = a[i] * 2
        else:
            a[i] = -a[i]


@loop("parallel")
def clamp(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        a[i] = min(max(a[i], 0.25), 0.75)


@loop("parallel")
def scalar_expansion(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        t = a[i] * a[i]
        a[i] = t + 1 / (t + 1)


@loop(HANDED_ON)
def wrap_around(a, b, c, d, e, k):
    last = a[a.shape[0] - 1]
    for i in prange(a.shape[0]):
        a[i] = (a[i] + last) * 0.5
        last = a[i]


@loop(HANDED_ON)
def previous_value(a, b, c, d, e, k):
    before = 0.0
    for i in prange(a.shape[0]):
        t = a[i]
        a[i] = t + before
        before = t


@loop(HANDED_ON)
def prefix_sum(a, b, c, d, e, k):
    s = 0.0
    for i in prange(a.shape[0]):
        s += a[i]
        a[i] = s


@loop("parallel")
def induction(a, b, c, d, e, k):
    j = 5
    for i in prange(a.shape[0]):
        a[i] = j
        j += 3


@loop(HANDED_ON)
def conditional_induction(a, b, c, d, e, k):
    j = 0
    for i in prange(a.shape[0]):
        if a[i] > 0.5:
            j += 1
            k[j] = i


@loop("parallel")
def sum_reduction(a, b, c, d, e, k):
    s = 0.0
    for i in prange(a.shape[0]):
        s += a[i]
    b[0] = s


@loop("parallel")
def dot_product(a, b, c, d, e, k):
    s = 0.0
    for i in prange(a.shape[0]):
        s += a[i] * b[i]
    c[0] = s


@loop("parallel")
def product_reduction(a, b, c, d, e, k):
    p = 1.0
    for i in prange(a.shape[0]):
        p *= a[i] + 0.5
    b[0] = p


@loop("parallel")
def two_sums(a, b, c, d, e, k):
    s, t = 0.0, 0.0
    for i in prange(a.shape[0]):
        s += a[i]
        t -= a[i] * b[i]
    c[0], c[1] = s, t


@loop("parallel")
def conditional_sum(a, b, c, d, e, k):
    s = 0.0
    for i in prange(a.shape[0]):
        if a[i] > b[i]:
            s += a[i]
    c[0] = s


@loop("parallel")
def maximum(a, b, c, d, e, k):
    m = a[0]
    for i in prange(a.shape[0]):
        if a[i] > m:
            m = a[i]
    b[0] = m


@loop("parallel")
def minimum_of_squares(a, b, c, d, e, k):
    m = 1e30
    for i in prange(a.shape[0]):
        m = min(m, a[i] * a[i])
    b[0] = m


@loop(HANDED_ON)
def argmax(a, b, c, d, e, k):
    m, at = a[0], 0
    for i in prange(a.shape[0]):
        if a[i] > m:
            m, at = a[i], i
    k[0] = at


@loop("parallel")
def count(a, b, c, d, e, k):
    found = 0
    for i in prange(a.shape[0]):
        if a[i] > 0.5:
            found += 1
    k[0] = found


@loop("parallel")
def any_above(a, b, c, d, e, k):
    found = False
    for i in prange(a.shape[0]):
        if a[i] > 0.99:
            found = True
    k[0] = found


@loop(HANDED_ON)
def coupled_recurrence(a, b, c, d, e, k):
    s, t = 0.0, 1.0
    for i in prange(a.shape[0]):
        s, t = t, s + a[i]
    b[0] = s + t


@loop(HANDED_ON)
def geometric(a, b, c, d, e, k):
    f = 1.0
    for i in prange(a.shape[0]):
        a[i] = a[i] * f
        f = f * 0.5 + 0.25


@loop("parallel")
def gather(a, b, c, d, e, k):
    s = 0.0
    for i in prange(a.shape[0]):
        s += a[k[i]]
    b[0] = s


@loop("different iterations may write the same element")
def scatter(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        a[k[i]] = i


@loop(MAY_READ)
def histogram(a, b, c, d, e, k):
    for i in prange(k.shape[0]):
        a[k[i]] += 1


@loop("the loop is left in more than one way")
def search(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        if a[i] > 0.99:
            k[0] = i
            break


@loop("parallel")
def inner_loop(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        x = a[i]
        for _ in range(5):
            x = x * x + 0.25
        a[i] = x


@loop("parallel")
def inner_while(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        x, steps = a[i], 0
        while x < 3 and steps < 30:
            x = x * 1.5 + 0.1
            steps += 1
        a[i] = steps


@loop("parallel")
def unrolled_sum(a, b, c, d, e, k):
    s = 0.0
    for i in prange(0, a.shape[0] - 4, 5):
        s += a[i] + a[i + 1] + a[i + 2] + a[i + 3] + a[i + 4]
    b[0] = s


@loop("parallel")
def interleaved_writes(a, b, c, d, e, k):
    for i in prange(a.shape[0] // 2):
        t = a[2 * i]
        a[2 * i] = a[2 * i + 1]
        a[2 * i + 1] = t


@loop("read 1 iteration later")
def written_pair(a, b, c, d, e, k):
    for i in prange(a.shape[0] // 2 - 1):
        a[2 * i + 2] = a[2 * i] + 1


@loop("parallel")
def arrays_that_may_overlap(a, b, c, d, e, k):
    for i in prange(a.shape[0]):
        a[i] = b[i] + c[i]


@loop("parallel")
def integer_indices(a, b, c, d, e, k):
    for i in prange(k.shape[0]):
        k[i] = (k[i] * 5 + i) % 7
