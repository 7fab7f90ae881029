"""Calls of functions on few elements, and elementwise functions on a million that broadcast, beside numba and NumPy.

Run as ``python -m bench.small_calls [--large] [names]``. All compile the same text and take turns, round by round; the
table has the CPU time of a call on one thread in microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import weft

ROUNDS = 9
ROUND_SECONDS = 5e-3

Call = Callable[[], Any]
Peers = tuple[Call, Call, Call | None]
"""Of weft, of numba, and of NumPy if that has it."""


def combined(x, y):
    return x * y + x


def scaled(x, by=2.0):
    return x * by


def first_two(pair):
    return pair[0] + pair[1]


def both(x):
    return x, x * 2


def behind(a):
    return a[1:]


def written(a, out):
    out[0] = a[0]
    return out


def two_new(a):
    return a * 2, a + 1


def total(a):
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


def product(x, y, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    out[0] = s


GENERALIZED = (["(float64[:], float64[:], float64[:])"], "(n),(n)->()")


def small() -> dict[str, Peers]:
    """Calls on ten elements, or ten times ten."""
    import numba

    ours: Any = weft.vectorize(combined)
    theirs: Any = numba.vectorize(combined)
    x, ints, single = np.linspace(0, 1, 10), np.arange(10), np.linspace(0, 1, 10, dtype=np.float32)
    m, out = np.arange(100.0).reshape(10, 10), np.empty(10)
    deep = np.ones((2, 3, 4))
    operands: dict[str, tuple[Any, Any]] = {
        "f(x, y)": (x, x + 1),
        "f(x, 0.5)": (x, 0.5),
        "f(x, 2)": (x, 2),
        "f(float32, 0.5)": (single, 0.5),
        "f(int64, float64)": (ints, x),
        "f(1.0, 2.0)": (1.0, 2.0),
        "f(1, 2.0)": (1, 2.0),
        "f(np.float32(1), np.float32(2))": (np.float32(1), np.float32(2)),
        "f(np.array(1.0), np.array(2.0))": (np.array(1.0), np.array(2.0)),
        "f(m, m)": (m, m),
        "f(m, m[0])": (m, m[0]),
        "f(m, m[:, :1])": (m, m[:, :1]),
        "f(m[0], m[:, :1])": (m[0], m[:, :1]),
        "f(m.T, m)": (m.T, m),
        "f(x[::2], y[::2])": (np.arange(20.0)[::2], np.arange(20.0)[1::2]),
        "f(2 x 3 x 4, 3 x 1)": (deep, np.ones((3, 1))),
    }
    found: dict[str, Peers] = {
        name: (lambda a=a, b=b: ours(a, b), lambda a=a, b=b: theirs(a, b), lambda a=a, b=b: np.add(a, b))
        for name, (a, b) in operands.items()
    }
    found["f(x, y, out=z)"] = (
        lambda: ours(x, x, out=out),
        lambda: theirs(x, x, out=out),
        lambda: np.add(x, x, out=out),
    )
    calls: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
        "weft.jit, two numbers": (scaled, lambda f: f(1.0, 2.0)),
        "one by name": (scaled, lambda f: f(1.0, by=3.0)),
        "one by default": (scaled, lambda f: f(1.0)),
        "a tuple": (first_two, lambda f: f((1.0, 2.0))),
        "returns a tuple": (both, lambda f: f(1.0)),
        "returns a view": (behind, lambda f: f(x)),
        "returns two new arrays": (two_new, lambda f: f(x)),
        "returns its argument": (written, lambda f: f(x, out)),
        "an array and a loop": (total, lambda f: f(x)),
    }
    for name, (function, call) in calls.items():
        mine, other = weft.jit(function), numba.njit(function)
        found[name] = (lambda call=call, f=mine: call(f), lambda call=call, f=other: call(f), None)
    rows_by, theirs_by = weft.guvectorize(*GENERALIZED)(product), numba.guvectorize(*GENERALIZED)(product)
    found["weft.guvectorize, (n),(n)->(), f(x, x)"] = lambda: rows_by(x, x), lambda: theirs_by(x, x), None
    found["f(m, x)"] = lambda: rows_by(m, x), lambda: theirs_by(m, x), None
    found["f(m, x, z)"] = lambda: rows_by(m, x, out), lambda: theirs_by(m, x, out), None
    return found


def large() -> dict[str, Peers]:
    """Calls on a million elements, into an array that is there."""
    import numba

    ours: Any = weft.vectorize(combined)
    theirs: Any = numba.vectorize(combined)
    rng = np.random.default_rng(1)
    m, twice, rows = rng.random((1000, 1000)), rng.random(2_000_000), rng.random((333_333, 3))
    cube, single = rng.random((100, 100, 100)), rng.random((1000, 1000), dtype=np.float32)
    operands: dict[str, tuple[Any, Any]] = {
        "f(m, m)": (m, m),
        "f(m, row)": (m, m[0]),
        "f(m, column)": (m, m[:, :1]),
        "f(row, column)": (m[0], m[:, :1]),
        "f(float32 m, row)": (single, single[0]),
        "f(cube, cube[:, :1])": (cube, cube[:, :1]),
        "f(cube, cube[0, 0])": (cube, cube[0, 0]),
        "f(n x 3, 3)": (rows, rows[0]),
        "f(n x 3, n x 1)": (rows, rows[:, :1]),
        "f(a[::2], b)": (twice[::2], m.ravel()),
        "f(a[::2], a[1::2])": (twice[::2], twice[1::2]),
        "f(a[::-1], b)": (twice[:1_000_000][::-1], m.ravel()),
        "f(m.T, m)": (m.T, m),
    }
    found: dict[str, Peers] = {}
    for name, (a, b) in operands.items():
        out = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b))

        def numpy(a: Any = a, b: Any = b, out: Any = out) -> None:
            np.multiply(a, b, out=out)
            np.add(out, a, out=out)

        found[name] = (
            lambda a=a, b=b, out=out: ours(a, b, out=out),
            lambda a=a, b=b, out=out: theirs(a, b, out=out),
            numpy,
        )
    return found


def timed(calls: Peers) -> list[float]:
    """Microseconds of a call of each."""
    there = [call for call in calls if call is not None]
    for call in there:
        for _ in range(3):
            call()
    counts = [max(1, round(ROUND_SECONDS / _seconds(call, 1))) for call in there]
    rounds = [[_seconds(call, n) for call, n in zip(there, counts, strict=True)] for _ in range(ROUNDS)]
    return [1e6 * statistics.median(taken) for taken in zip(*rounds, strict=True)]


def _seconds(call: Call, count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        call()
    return max(time.thread_time() - start, 1e-9) / count


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare calls.")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    weft.set_num_threads(1)
    print("| call | weft, µs | numba | NumPy |\n|---|---:|---:|---:|")
    for name, calls in (large() if chosen.large else small()).items():
        if chosen.names and name not in chosen.names:
            continue
        wanted, got = calls[1](), calls[0]()
        assert got is None or np.allclose(np.asarray(got), np.asarray(wanted), rtol=1e-6), name
        digits = 0 if chosen.large else 2
        print(f"| `{name}` | {' | '.join(f'{taken:.{digits}f}' for taken in timed(calls))} |", flush=True)


if __name__ == "__main__":
    main()
