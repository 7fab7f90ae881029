"""NumPy's functions that make one number of an array of one dimension, in the kernel language itself.

Sums and products have several running values, each of every fourth or eighth element, so that they are neither slow nor
lose as many digits as one running value does; the order is the same at every width and on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def total(a: Any, zero: Any) -> Any:
    """The sum."""
    r0 = r1 = r2 = r3 = r4 = r5 = r6 = r7 = rest = zero
    whole = a.size // 8 * 8
    for i in range(0, whole, 8):
        r0 += a[i]
        r1 += a[i + 1]
        r2 += a[i + 2]
        r3 += a[i + 3]
        r4 += a[i + 4]
        r5 += a[i + 5]
        r6 += a[i + 6]
        r7 += a[i + 7]
    for i in range(whole, a.size):
        rest += a[i]
    return ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7)) + rest


def squares(a: Any, middle: Any, zero: Any) -> Any:
    """The sum of the squares of the distances from `middle`."""
    r0 = r1 = r2 = r3 = rest = zero
    whole = a.size // 4 * 4
    for i in range(0, whole, 4):
        d0, d1, d2, d3 = a[i] - middle, a[i + 1] - middle, a[i + 2] - middle, a[i + 3] - middle
        r0 += d0 * d0
        r1 += d1 * d1
        r2 += d2 * d2
        r3 += d3 * d3
    for i in range(whole, a.size):
        d = a[i] - middle
        rest += d * d
    return (r0 + r1) + (r2 + r3) + rest


def product(a: Any, one: Any) -> Any:
    """The product."""
    r0 = r1 = r2 = r3 = rest = one
    whole = a.size // 4 * 4
    for i in range(0, whole, 4):
        r0 *= a[i]
        r1 *= a[i + 1]
        r2 *= a[i + 2]
        r3 *= a[i + 3]
    for i in range(whole, a.size):
        rest *= a[i]
    return (r0 * r1) * (r2 * r3) * rest


def dot(a: Any, b: Any, zero: Any, in_any_order: Any) -> Any:
    """The sum of the products of the elements of two arrays."""
    if in_any_order:
        # LLVM has more running values than the code below, unless the code below stands in its way.
        every = zero
        for i in range(a.size):
            every += a[i] * b[i]
        return every
    r0 = r1 = r2 = r3 = r4 = r5 = r6 = r7 = rest = zero
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = zero
    whole = a.size // 16 * 16
    for i in range(0, whole, 16):
        r0 += a[i] * b[i]
        r1 += a[i + 1] * b[i + 1]
        r2 += a[i + 2] * b[i + 2]
        r3 += a[i + 3] * b[i + 3]
        r4 += a[i + 4] * b[i + 4]
        r5 += a[i + 5] * b[i + 5]
        r6 += a[i + 6] * b[i + 6]
        r7 += a[i + 7] * b[i + 7]
        s0 += a[i + 8] * b[i + 8]
        s1 += a[i + 9] * b[i + 9]
        s2 += a[i + 10] * b[i + 10]
        s3 += a[i + 11] * b[i + 11]
        s4 += a[i + 12] * b[i + 12]
        s5 += a[i + 13] * b[i + 13]
        s6 += a[i + 14] * b[i + 14]
        s7 += a[i + 15] * b[i + 15]
    for i in range(whole, a.size):
        rest += a[i] * b[i]
    first = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    return first + (((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))) + rest


def mean(a: Any, zero: Any) -> Any:
    """The mean; NaN of no elements."""
    return total(a, zero) / a.size


def variance(a: Any, ddof: Any, zero: Any) -> Any:
    """The mean of the squares of the distances from the mean; `ddof` is taken from the number of elements."""
    return squares(a, mean(a, zero), zero) / max(a.size - ddof, 0)


def deviation(a: Any, ddof: Any, zero: Any) -> Any:
    """The root of the variance."""
    return np.sqrt(variance(a, ddof, zero))


def least(a: Any) -> Any:
    """The least element; NaN if there is one."""
    found = a[0]
    for i in range(1, a.size):
        found = np.minimum(found, a[i])
    return found


def greatest(a: Any) -> Any:
    """The greatest element; NaN if there is one."""
    found = a[0]
    for i in range(1, a.size):
        found = np.maximum(found, a[i])
    return found


def least_at(a: Any) -> Any:
    """The index of the first of the least elements, or of the first NaN."""
    return _place(a, least(a))


def greatest_at(a: Any) -> Any:
    """The index of the first of the greatest elements, or of the first NaN."""
    return _place(a, greatest(a))


def _place(a: Any, wanted: Any) -> Any:
    """The index of the first element that equals one that is there, or is NaN as it is: by blocks, then one by one."""
    at = 0
    if wanted == wanted:
        for start in range(0, a.size // 64 * 64, 64):
            at = start
            found = False
            for i in range(start, start + 64):
                found = found | (a[i] == wanted)
            if found:
                break
            at = start + 64
    while at < a.size and not (a[at] == wanted or (a[at] != a[at] and wanted != wanted)):
        at += 1
    return at


def total_of_numbers(a: Any, zero: Any) -> Any:
    """The sum without NaN."""
    found = zero
    for i in range(a.size):
        value = a[i]
        found += value if value == value else zero
    return found


def product_of_numbers(a: Any, one: Any) -> Any:
    """The product without NaN."""
    found = one
    for i in range(a.size):
        value = a[i]
        found *= value if value == value else one
    return found


def count_of_numbers(a: Any) -> Any:
    """How many elements are not NaN."""
    count = 0
    for i in range(a.size):
        if a[i] == a[i]:
            count += 1
    return count


def mean_of_numbers(a: Any, zero: Any) -> Any:
    """The mean without NaN."""
    return total_of_numbers(a, zero) / count_of_numbers(a)


def variance_of_numbers(a: Any, ddof: Any, zero: Any) -> Any:
    """The variance without NaN."""
    middle = mean_of_numbers(a, zero)
    found = zero
    for i in range(a.size):
        distance = a[i] - middle
        found += distance * distance if distance == distance else zero
    return found / max(count_of_numbers(a) - ddof, 0)


def deviation_of_numbers(a: Any, ddof: Any, zero: Any) -> Any:
    """The root of the variance without NaN."""
    return np.sqrt(variance_of_numbers(a, ddof, zero))


def least_number(a: Any) -> Any:
    """The least element without NaN; NaN if there is nothing else."""
    found = a[0]
    for i in range(1, a.size):
        found = np.fmin(found, a[i])
    return found


def greatest_number(a: Any) -> Any:
    """The greatest element without NaN; NaN if there is nothing else."""
    found = a[0]
    for i in range(1, a.size):
        found = np.fmax(found, a[i])
    return found


def some(a: Any) -> Any:
    """Whether an element is not zero."""
    found = False
    for i in range(a.size):
        if a[i]:
            found = True
            break
    return found


def every(a: Any) -> Any:
    """Whether no element is zero."""
    found = True
    for i in range(a.size):
        if not a[i]:
            found = False
            break
    return found


def nonzero(a: Any) -> Any:
    """The number of elements that are not zero."""
    count = 0
    for i in range(a.size):
        if a[i]:
            count += 1
    return count


def accumulated(a: Any, out: Any, zero: Any) -> None:
    """Store the sums of the first elements: one, two, three, ...."""
    sum_ = zero
    for i in range(a.size):
        sum_ += a[i]
        out[i] = sum_


def spaced(out: Any, start: Any, stop: Any, endpoint: Any) -> None:
    """Store numbers at equal distances from `start` to `stop`, the last of them `stop` if that is an endpoint."""
    n = out.size
    parts = n - 1 if endpoint else n
    step = (stop - start) / max(parts, 1)
    for i in range(n):
        out[i] = start + i * step
    if endpoint and n > 1:
        out[n - 1] = stop
