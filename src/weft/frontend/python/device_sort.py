"""NumPy's sort, and search in what is sorted, of arrays of one dimension, in the kernel language itself."""

from __future__ import annotations

from typing import Any


def searched(a: Any, value: Any, right: Any) -> Any:
    """Where `value` goes in a sorted array: before its equals, or behind them; NaN is the greatest."""
    low, high = 0, a.size
    while low < high:
        middle = (low + high) // 2
        here = a[middle]
        if _before(here, value) or (right and not _before(value, here)):
            low = middle + 1
        else:
            high = middle
    return low


def sort(a: Any) -> None:
    """Sort in place, NaN behind all numbers: quicksort, by insertion where few elements are left."""
    n = a.size
    i = 0
    while i < n:
        value = a[i]
        if value != value:
            n -= 1
            a[i] = a[n]
            a[n] = value
        else:
            i += 1
    _sort_between(a, 0, n, 64)


def _sort_between(a: Any, low: Any, high: Any, depth: Any) -> None:
    """Sort the numbers of a part; of two parts the shorter one by a call, so that calls are few."""
    while high - low > 24:
        if depth == 0:
            _heap_sort(a[low:high])
            return
        depth -= 1
        middle = _divide(a, low, high)
        if middle - low < high - middle:
            _sort_between(a, low, middle, depth)
            low = middle
        else:
            _sort_between(a, middle, high, depth)
            high = middle
    for i in range(low + 1, high):
        value = a[i]
        at = i
        while at > low and value < a[at - 1]:
            a[at] = a[at - 1]
            at -= 1
        a[at] = value


def _divide(a: Any, low: Any, high: Any) -> Any:
    """Exchange elements until none before the place returned is greater than one behind it; neither part is empty."""
    first = a[low]
    middle = a[(low + high) // 2]
    last = a[high - 1]
    pivot = max(min(first, middle), min(max(first, middle), last))
    i = low
    j = high - 1
    while True:
        while a[i] < pivot:
            i += 1
        while pivot < a[j]:
            j -= 1
        if i >= j:
            break
        value = a[i]
        a[i] = a[j]
        a[j] = value
        i += 1
        j -= 1
    return max(i, low + 1)


def _heap_sort(a: Any) -> None:
    n = a.size
    for start in range(n // 2 - 1, -1, -1):
        _sift(a, start, n)
    for end in range(n - 1, 0, -1):
        last = a[end]
        a[end] = a[0]
        a[0] = last
        _sift(a, 0, end)


def _sift(a: Any, root: Any, end: Any) -> None:
    value = a[root]
    at = root
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and a[child] < a[child + 1]:
            child += 1
        if not value < a[child]:
            break
        a[at] = a[child]
        at = child
        child = 2 * at + 1
    a[at] = value


def _before(x: Any, y: Any) -> Any:
    return x < y or (y != y and x == x)
