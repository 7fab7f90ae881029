"""Lane groups that are at no edge have a version, and those at edges still compute what they did."""

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from conformance.runner import passes_checked
from weft import cuda, prange

REMARK = "are at no edge"
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
DRAWN = 60 if os.environ.get("WEFT_FUZZ") else 5


def clamped(a, first, last, low, high, b):
    for i in prange(b.size):
        total = 0
        for k in range(first, last):
            total += a[min(max(i + k, low), high)]
        b[i] = total


def wrapped(a, first, last, m, n, b):
    for i in prange(b.size):
        total = 0
        for k in range(first, last):
            total += k * a[(i + k) % m] + a[(i + n) % m]
        b[i] = total


def chosen(a, first, last, low, high, b):
    for i in prange(b.size):
        left = a[i - 1] if i > 0 else a[last]
        right = a[i + 1] if i < high else a[first]
        b[i] = left * 3 + right + a[low]


def windows(a, r, s, _, high, b):
    for i in prange(b.size):
        total = 0
        for u in range(max(i - r, 0), min(i + s, high) + 1):
            total += a[u]
        b[i] = total


def kernel(a, first, last, low, high, b):
    i = cuda.grid(1)
    if i < b.size:
        total = 0
        for k in range(first, last):
            total += a[min(max(i + k, low), high)] + a[(i + k) % a.size]
        b[i] = total


def kernel_by_python(a, first, last, low, high, b):
    for i in range(b.size):
        total = 0
        for k in range(first, last):
            total += a[min(max(i + k, low), high)] + a[(i + k) % a.size]
        b[i] = total


def drawn(function: Callable[..., None], seed: int) -> tuple:
    """Numbers of all kinds, with which each index is in its array."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 40, 150, 333]))
    a = rng.integers(-9, 9, n).astype(np.int32)
    b = np.zeros(n if function in (chosen, windows) else int(rng.choice([n, 70, 300])), np.int64)
    first = int(rng.integers(-4, 3))
    numbers = [first, first + int(rng.integers(-1, 7)), *(int(k) for k in rng.integers(0, n, 2))]
    if function is wrapped:
        numbers[2:] = [int(rng.integers(1, n + 1)), int(rng.integers(-2 * n, 2 * n))]
        numbers[:2] = [k * int(rng.choice([1, n])) for k in numbers[:2]] if n < 50 else numbers[:2]
    if function is chosen:
        numbers[:2] = [int(k) for k in rng.integers(0, n, 2)]
        numbers[3] = n - 1
    if function is windows:
        numbers[3] = n - 1
    return a, *numbers, b


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [clamped, wrapped, chosen, windows])
def test_loops(function: Callable[..., None], level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled: Any = weft.jit(function, width=16)
    for seed in range(DRAWN):
        *given, b = drawn(function, seed)
        wanted = b.copy()
        function(*given, wanted)
        with passes_checked(level == LEVELS[1] and seed < 3):
            compiled(*given, b)
        assert np.array_equal(b, wanted), (seed, given[1:])
    assert REMARK in " ".join(map(str, compiled.remarks))


@pytest.mark.parametrize("level", LEVELS)
def test_kernels(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled: Any = cuda.jit(kernel, width=16)
    by_python: Callable[..., None] = kernel_by_python
    for seed in range(DRAWN):
        *given, b = drawn(by_python, seed)
        wanted = b.copy()
        by_python(*given, wanted)
        with passes_checked(level == LEVELS[1] and seed < 3):
            compiled[-(-b.size // 64), 64](*given, b)
        assert np.array_equal(b, wanted), (seed, given[1:])
    assert REMARK in " ".join(map(str, compiled.remarks))


def test_numbers_that_wrap_around_are_at_an_edge() -> None:
    """Counters at the ends of their type: sums that wrap around are no neighbours."""

    @weft.jit(width=8)
    def summed(a, first, last, b):
        for i in prange(b.size):
            total = 0
            for k in range(first, last):
                total += a[(i + k) % 7]
            b[i] = total

    most = (1 << 63) - 1
    a = np.arange(7, dtype=np.int32)
    for first, last in ((most - 6, most - 2), (-most - 1, -most + 3), (-5, -1), (3, 1)):
        b = np.zeros(5, np.int64)
        summed(a, first, last, b)
        numbers = (
            [(i + k + (1 << 63)) % (1 << 64) - (1 << 63) for k in range(first, last)] for i in range(5)
        )
        assert list(b) == [sum(n % 7 for n in each) for each in numbers]


@pytest.mark.usefixtures("looked_at")
def test_elements_are_loaded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    types = tuple(map(weft.typeof, drawn(clamped, 0)))
    counts = []
    for without in ((), ("inner-versions",)):
        compiled = weft.jit(clamped, width=16, without=without)
        compiled.compile(types)
        text = "".join(compiled.inspect_llvm().values())
        counts.append(text.count("load <16 x i32>"))
    assert counts[0] > counts[1]


def blurred(picture, weights, result):
    """What loops of constant length count up to is asked for by ``!=``, and clamped at 2 before 2 is taken away."""
    x, y = cuda.grid(2)
    if y < result.shape[0] and x < result.shape[1]:
        total = 0
        for dy in range(5):
            for dx in range(5):
                row = min(max(y + dy - 2, 0), picture.shape[0] - 1)
                total += weights[dy, dx] * picture[row, min(max(x + dx - 2, 0), picture.shape[1] - 1)]
        result[y, x] = total


def whiles(a, first, last, low, high, b):
    """Counters that go around from the lesser end to the greater one, or never begin."""
    i = cuda.grid(1)
    if i < b.size:
        total, k = 0, first
        while k != last:
            total += a[min(max(i + k, low), high)]
            k += 1
        b[i] = total


@pytest.mark.parametrize("level", LEVELS)
def test_loops_of_constant_length(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled: Any = cuda.jit(blurred)
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (3, 2), (9, 40), (6, 133)):
        picture, weights = (rng.integers(-9, 9, extents).astype(np.int32) for extents in (shape, (5, 5)))
        result = np.zeros(shape, np.int64)
        compiled[(-(-shape[1] // 32), -(-shape[0] // 4)), (32, 4)](picture, weights, result)
        padded = np.pad(picture, 2, mode="edge").astype(np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
        assert np.array_equal(result, (windows * weights).sum((2, 3)))
    assert REMARK in " ".join(map(str, compiled.remarks))


def test_counters_that_are_asked_whether_they_are_at_the_end() -> None:
    compiled: Any = cuda.jit(whiles, width=8)
    a = np.arange(50, dtype=np.int32)
    for first, last, low, high in ((-2, 3, 0, 49), (0, 5, 3, 40), (4, 4, 0, 49), (-3, 60, 0, 49)):
        b = np.zeros(50, np.int64)
        compiled[1, 64](a, first, last, low, high, b)
        wanted = [sum(a[min(max(i + k, low), high)] for k in range(first, last)) for i in range(50)]
        assert list(b) == wanted
    assert REMARK in " ".join(map(str, compiled.remarks))


def test_what_gains_no_shape_has_no_copy() -> None:
    @weft.jit
    def looked_up(a, places, b):
        for i in prange(b.size):
            b[i] = a[min(max(places[i], 0), a.size - 1)]

    b = np.zeros(40)
    looked_up(np.arange(9.0), np.arange(40) - 5, b)
    assert list(b) == [min(max(k - 5, 0), 8) for k in range(40)]
    assert REMARK not in " ".join(map(str, looked_up.remarks))


IN_C = """
extern "C" __global__ void wide(const int *a, int first, int last, int n, int *b) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int total = 0;
    if (i >= n) return;
    for (int k = first; k <= last; k++) {
        long long place = i + k;
        total += a[place < 0 ? 0 : place >= n ? n - 1 : place];
    }
    b[i] = total;
}
extern "C" __global__ void moved(const int *a, int first, int last, int n, int *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, total = 0;
    if (i >= n) return;
    for (int k = 0; k < last - first + 1; k++) total += a[max(0, min(i + (k + first), n - 1))];
    b[i] = total;
}
extern "C" __global__ void late(const int *a, long long first, long long last, int n, int *b) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int total = 0;
    long long k = first;
    if (i >= n) return;
    do {
        long long place = i + k;
        total += a[place < 0 ? 0 : place >= n ? n - 1 : place];
    } while (k++ < last);
    b[i] = total;
}
"""


@pytest.mark.parametrize("name", ["wide", "moved", "late"])
def test_counters_of_c(name: str) -> None:
    """They have fewer bits than ids, computed bounds and known numbers beside them, or reach their bound."""
    pytest.importorskip("ziglang")
    compiled: Any = getattr(cuda.Module(IN_C, width=8), name)
    a, n = np.arange(50, dtype=np.int32), 40
    a[n:] = 1000
    for first, last in ((-2, 2), (0, 1), (-45, 3), (2, 2)):
        b = np.zeros(n, np.int32)
        compiled[1, 64](a, first, last, n, b)
        wanted = [sum(a[min(max(i + k, 0), n - 1)] for k in range(first, last + 1)) for i in range(n)]
        assert list(b) == wanted, (first, last)
    assert REMARK in " ".join(map(str, compiled.remarks))


def kernel_of_greatest(a, b):
    x, y = cuda.grid(2)
    if y < b.shape[0] and x < b.shape[1]:
        greatest = a[y, x]
        for k in range(-7, 8):
            greatest = max(greatest, a[y, min(max(x + k, 0), a.shape[1] - 1)])
        b[y, x] = greatest


def loop_of_greatest(a, b):
    for y in prange(b.shape[0]):
        for x in prange(b.shape[1]):
            greatest = a[y, x]
            for k in range(-7, 8):
                greatest = max(greatest, a[y, min(max(x + k, 0), a.shape[1] - 1)])
            b[y, x] = greatest


def kernel_of_neighbours(a, b):
    x, y = cuda.grid(2)
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = a[y, x] * (a[y, (x + 1) % a.shape[1]] + a[y, (x - 1) % a.shape[1]])


def loop_of_neighbours(a, b):
    for y in prange(b.shape[0]):
        for x in prange(b.shape[1]):
            b[y, x] = a[y, x] * (a[y, (x + 1) % a.shape[1]] + a[y, (x - 1) % a.shape[1]])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "loop"), [(kernel_of_greatest, loop_of_greatest), (kernel_of_neighbours, loop_of_neighbours)]
)
def test_few_lanes_are_at_edges(
    monkeypatch: pytest.MonkeyPatch, kernel: Callable[..., None], loop: Callable[..., None], level: str
) -> None:
    """The more lanes a group has, the more of a row is in groups at its ends, be it of threads or of iterations."""
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(1).random((20, 70)).astype(np.float32)
    found = [np.zeros_like(a), np.zeros_like(a)]
    threads: Any = cuda.jit(kernel, fastmath=True)
    threads[(5, 2), (16, 16)](a, found[0])
    iterations: Any = weft.jit(loop, fastmath=True)
    iterations(a, found[1])
    np.testing.assert_array_equal(*found)
    widths: list[int] = []
    for compiled in (threads, iterations):
        told = " ".join(map(str, compiled.remarks))
        assert REMARK in told
        runs = re.search(r"(?<!nest )runs (\d+) (?:threads|iterations) at a time", told)
        assert runs is not None
        widths.append(int(runs[1]))
        if "with twice as many a thread takes" in told:
            assert "but more lane groups are at edges then" in told
    # Two registers of addresses.
    assert widths == [{"x86-64": 4, "x86-64-v3": 8, "x86-64-v4": 16}[level]] * 2
