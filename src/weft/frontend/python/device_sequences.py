"""NumPy's functions that make a sequence of another one, in the kernel language itself.

Each means what NumPy's does for the arguments that `weft.frontend.python.lowering.arrays.written` lets through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_STRIP = 256
"""Numbers whose bins are found at a time."""


def differences(a: Any) -> Any:
    """Each element but the first, less the one before it."""
    return a[1:] - a[:-1]


def products(a: Any, out: Any, one: Any) -> None:
    """Store the products of the first elements: one, two, three, ...."""
    product = one
    for i in range(a.size):
        product *= a[i]
        out[i] = product


def places_on(shift: Any, n: Any) -> Any:
    """How many of `n` places further on elements get, from 0 on."""
    return shift % max(n, 1)


def rolled(a: Any, shift: Any) -> Any:
    """The elements so many places further on, the last ones first."""
    made, row = np.empty_like(a), np.ravel(a)
    flat = made.reshape(a.size)
    by = places_on(shift, row.size)
    flat[:by] = row[row.size - by :]
    flat[by:] = row[: row.size - by]
    return made


def repeated(a: Any, repeats: Any) -> Any:
    """Each element so many times."""
    if repeats < 0:
        raise ValueError("repeats may not contain negative values.")
    row = np.ravel(a)
    made = np.empty(row.size * repeats, a.dtype)
    for i in range(row.size):
        made[i * repeats : (i + 1) * repeats] = row[i]
    return made


def counted(x: Any, minlength: Any) -> Any:
    """How often each number occurs."""
    made = np.zeros(_counts(x, minlength), np.int64)
    for i in range(x.size):
        made[x[i]] += 1
    return made


def weighed(x: Any, weights: Any, minlength: Any) -> Any:
    """The sum of the weights of each number."""
    if x.size != weights.size:
        raise ValueError("The weights and list don't have the same length.")
    made = np.zeros(_counts(x, minlength), np.float64)
    for i in range(x.size):
        made[x[i]] += weights[i]
    return made


def _counts(x: Any, minlength: Any) -> Any:
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    n = minlength
    for i in range(x.size):
        if x[i] < 0:
            raise ValueError("'list' argument must have no negative elements")
        n = max(n, x[i] + 1)
    return n


def histogram_of_all(a: Any, bins: Any) -> Any:
    """Counts in bins of one size between the least and the greatest number."""
    row = np.ravel(a)
    low, high = _ends_of(row)
    return histogram_between(row, bins, low, high)


def histogram_between(a: Any, bins: Any, low: Any, high: Any) -> Any:
    """Counts in bins of one size, the last of which has its upper bound."""
    row, first, last = np.ravel(a), *_range_of(bins, low, high)
    edges, made, places = (
        _edges(row, bins, first, last),
        np.zeros(bins + 1, np.int64),
        np.empty(_STRIP, np.int32),
    )
    for begin in range(0, row.size, _STRIP):
        strip = row[begin : begin + _STRIP]
        _find_bins(strip, edges, first, last, places)
        for i in range(strip.size):
            made[places[i]] += 1
    return made[:bins], edges


def histogram_of_edges(a: Any, edges: Any) -> Any:
    """Counts between bounds, the last of which is in the last bin."""
    row, last = np.ravel(a), _last_of(edges)
    made = np.zeros(last, np.int64)
    for i in range(row.size):
        value = row[i]
        if edges[0] <= value <= edges[last]:
            made[min(np.searchsorted(edges, value, "right") - 1, last - 1)] += 1
    return made, edges.copy()


def weighed_of_all(a: Any, weights: Any, bins: Any) -> Any:
    """Sums of weights, as `histogram_of_all` counts."""
    row = np.ravel(a)
    low, high = _ends_of(row)
    return weighed_between(row, weights, bins, low, high)


def weighed_between(a: Any, weights: Any, bins: Any, low: Any, high: Any) -> Any:
    """Sums of weights, as `histogram_between` counts."""
    row, each, first, last = np.ravel(a), np.ravel(weights), *_range_of(bins, low, high)
    _require_as_many(row, each)
    edges, made, places = _edges(row, bins, first, last), np.zeros(bins + 1), np.empty(_STRIP, np.int32)
    for begin in range(0, row.size, _STRIP):
        strip = row[begin : begin + _STRIP]
        _find_bins(strip, edges, first, last, places)
        for i in range(strip.size):
            made[places[i]] += each[begin + i]
    return made[:bins].astype(weights.dtype), edges


def weighed_of_edges(a: Any, weights: Any, edges: Any) -> Any:
    """Sums of weights, as `histogram_of_edges` counts."""
    row, each, last = np.ravel(a), np.ravel(weights), _last_of(edges)
    _require_as_many(row, each)
    made = np.zeros(last, np.float64)
    for i in range(row.size):
        value = row[i]
        if edges[0] <= value <= edges[last]:
            made[min(np.searchsorted(edges, value, "right") - 1, last - 1)] += each[i]
    return made.astype(weights.dtype), edges.copy()


def _find_bins(row: Any, edges: Any, first: Any, last: Any, places: Any) -> None:
    """The bins of numbers, one more of those beyond the ends: computed in floats, which all vectors have.

    The bounds decide, not the quotient, which is rounded; they are computed again, as they were for `edges`.
    """
    bins = edges.size - 1
    scale, step, greatest = bins / (last - first), (last - first) / bins, np.float64(bins - 1)
    for i in range(row.size):
        value = np.float64(row[i])
        at = min(np.floor((value - first) * scale), greatest)
        lower = np.float64(edges.dtype.type(first + at * step))
        upper = np.float64(edges.dtype.type(first + (at + 1.0) * step))
        at += -1.0 if value < lower else 1.0 if value >= upper and at < greatest else 0.0
        places[i] = np.int32(at) if first <= value <= last else np.int32(bins)


def _ends_of(row: Any) -> Any:
    """The least and the greatest number, 0 and 1 of none."""
    low, high = np.float64(0.0), np.float64(1.0)
    if row.size > 0:
        low, high = np.float64(row.min()), np.float64(row.max())
    return low, high


def _range_of(bins: Any, low: Any, high: Any) -> Any:
    """What the bins are between."""
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if bins >= 2147483647:
        raise ValueError("`bins` must have 31 bits")
    if high < low:
        raise ValueError("max must be larger than min in range parameter.")
    first, last = np.float64(low), np.float64(high)
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError("supplied range is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def _edges(row: Any, bins: Any, first: Any, last: Any) -> Any:
    """The bounds of bins of one size, each of which is to have one."""
    edges = np.linspace(first, last, bins + 1).astype((row[:0] * 1.0).dtype)
    narrowest = np.inf
    for i in range(bins):
        narrowest = min(narrowest, edges[i + 1] - edges[i])
    if not (narrowest > 0 and np.isfinite(bins / (last - first))):
        raise ValueError("Too many bins for data range. Cannot create as many finite-sized bins.")
    return edges


def _last_of(edges: Any) -> Any:
    """The number of bins between bounds that are given."""
    for i in range(1, edges.size):
        if edges[i] < edges[i - 1]:
            raise ValueError("`bins` must increase monotonically, when an array")
    return edges.size - 1


def _require_as_many(row: Any, weights: Any) -> None:
    if row.size != weights.size:
        raise ValueError("weights should have the same shape as a.")


def sorted_places(a: Any) -> Any:
    """The places of elements in their order, equal ones as they come, NaN last: a merge sort from short runs up."""
    n = a.size
    places, spare = np.arange(n), np.empty(n, np.int64)
    for low in range(0, n, 16):
        for i in range(low + 1, min(low + 16, n)):
            value, at = a[i], i
            while at > low and _before(value, a[places[at - 1]]):
                places[at] = places[at - 1]
                at -= 1
            places[at] = i
    width = 16
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j < high and (i >= middle or _before(a[places[j]], a[places[i]])):
                    spare[k] = places[j]
                    j += 1
                else:
                    spare[k] = places[i]
                    i += 1
        places[:] = spare
        width *= 2
    return places


def distinct(a: Any) -> Any:
    """The different elements in their order; NaN is one of them at most."""
    row = np.sort(np.ravel(a))
    n = 0
    for i in range(row.size):
        value = row[i]
        if n == 0 or (value != row[n - 1] and not (value != value and row[n - 1] != row[n - 1])):
            row[n] = value
            n += 1
    return row[:n].copy()


def quantile(a: Any, q: Any) -> Any:
    """The number below which a part of the elements is, between two of them in proportion."""
    if not 0.0 <= q <= 1.0:
        raise ValueError("Quantiles must be in the range [0, 1]")
    row = np.sort(np.ravel(a))
    if row.size == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    last = row.size - 1
    if row[last] != row[last]:
        return row[last] * 1.0
    place = q * last
    low = int(place)
    below, above, part = row[low] * 1.0, row[min(low + 1, last)] * 1.0, place - low
    return above - (above - below) * (1.0 - part) if part >= 0.5 else below + (above - below) * part


def median(a: Any) -> Any:
    """The middle one of the sorted elements, or between the middle two."""
    row = np.sort(np.ravel(a))
    n = row.size
    if n == 0:
        return row.sum() * np.nan
    if row[n - 1] != row[n - 1]:
        return row[n - 1] * 1.0
    return (row[(n - 1) // 2] * 1.0 + row[n // 2] * 1.0) / 2.0 if n % 2 == 0 else row[n // 2] * 1.0


def interpolated(x: Any, places: Any, values: Any) -> Any:
    """The value at `x` between those at known places."""
    if places.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    if places.size == 0:
        raise ValueError("array of sample points is empty")
    last = places.size - 1
    if x != x:
        return x
    if x >= places[last]:
        return np.float64(values[last])
    at = np.searchsorted(places, x, "right") - 1
    if at < 0:
        return np.float64(values[0])
    begin, first = np.float64(places[at]), np.float64(values[at])
    slope = (np.float64(values[at + 1]) - first) / (np.float64(places[at + 1]) - begin)
    return slope * (x - begin) + first


def require_order(bins: Any) -> None:
    """Raise an error unless bounds rise or fall."""
    falls = bins.size > 1 and bins[bins.size - 1] < bins[0]
    for i in range(1, bins.size):
        if bins[i] > bins[i - 1] if falls else bins[i] < bins[i - 1]:
            raise ValueError("bins must be monotonically increasing or decreasing")


def bin_of(bins: Any, value: Any, right: Any) -> Any:
    """Between which bounds, which rise or fall, a value is."""
    n = bins.size
    if n > 1 and bins[n - 1] < bins[0]:
        back = bins[::-1]
        return n - (np.searchsorted(back, value) if right else np.searchsorted(back, value, "right"))
    return np.searchsorted(bins, value) if right else np.searchsorted(bins, value, "right")


def trapezoids(y: Any, dx: Any) -> Any:
    """The integral of a function that is known at places of one distance."""
    total = (y[:0] * dx).sum() * 0.0
    for i in range(1, y.size):
        total += dx * (y[i] + y[i - 1]) / 2.0
    return total


def trapezoids_at(y: Any, x: Any) -> Any:
    """The integral of a function that is known at some places."""
    if x.size != y.size:
        raise ValueError("x and y are not of the same length")
    total = (y[:0] * x[:0]).sum() * 0.0
    for i in range(1, y.size):
        total += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2.0
    return total


def extents_of_sums(a: Any, v: Any, mode: Any) -> Any:
    """The first place and the number of sums of products that are wanted.

    Modes are 0 valid, 1 the same of a convolution, 2 full, and 3 the same of a correlation.
    """
    if a.size == 0 or v.size == 0:
        raise ValueError("array cannot be empty")
    least, most = min(a.size, v.size), max(a.size, v.size)
    if mode == 0:
        return least - 1, most - least + 1
    if mode == 1:
        return (least - 1) // 2, most
    if mode == 3:
        return (least // 2 if a.size < v.size else (least - 1) // 2), most
    return 0, most + least - 1


def convolved(a: Any, v: Any, first: Any, count: Any, out: Any) -> None:
    """Store some of the sums of products of `a` and `v` backwards, all of which begin at place 0."""
    for i in range(count):
        place = first + i
        begin, end = max(0, place - (v.size - 1)), min(place + 1, a.size)
        total = out[i]
        for k in range(begin, end):
            total += a[k] * v[place - k]
        out[i] = total


def _before(x: Any, y: Any) -> Any:
    return x < y or (y != y and x == x)
