"""Walks of the grid in the order of memory: the same results, whatever is in them and however they are launched."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pairs import WHOLE
from weft import cuda, opencl, ptx
from weft.diag.remarks import RemarkKind

IN_ORDER = "run in the order of memory"


def runs_in_order(kernel: Any) -> bool:
    return any(r.kind is RemarkKind.TRANSFORM and IN_ORDER in r.message for r in kernel.remarks)


def scaled(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = 2 * x[i] + y[i]


def to_a_number(x, y, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = 2 * x[i] + y[i]


def by_while(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < x.size:
        y[i] = 2 * x[i] + y[i]
        i += cuda.blockDim.x * cuda.gridDim.x


def up_to_the_last(x, y):
    for i in range(cuda.grid(1), x.size - 1 + 1, cuda.gridsize(1)):
        if x[i] < 0:
            continue
        y[i] = 2 * x[i] + y[i]


def from_itself(x, y):
    """Each thread reads what it has written an iteration before."""
    threads = cuda.gridsize(1)
    for i in range(cuda.grid(1), x.size, threads):
        if i >= threads:
            y[i] = x[i] + y[i - threads]
        else:
            y[i] = x[i]


def with_a_loop(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total = 0.0
        for k in range(i % 5):
            total += x[i] * k
        y[i] += total


def with_a_guard(x, y, n):
    if n > 3:
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            if i > 2:
                y[i] = x[i] + n


def with_scratch(x, y):
    """Each iteration has an array of its own."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        powers = cuda.local.array(5, np.float64)
        powers[0] = 1.0
        for k in range(4):
            powers[k + 1] = powers[k] * x[i]
        y[i] += powers[i % 5]


def some_threads(x, y):
    """The step is not the number of threads: several of them come to an element."""
    for i in range(cuda.grid(1), x.size, 24):
        cuda.atomic.add(y, i, 1.0)


CASES: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
    (scaled, ()),
    (to_a_number, (77,)),
    (by_while, ()),
    (up_to_the_last, ()),
    (from_itself, ()),
    (with_a_loop, ()),
    (with_a_guard, (5,)),
    (with_a_guard, (3,)),
    (with_scratch, ()),
    (some_threads, ()),
]
LAUNCHES = [(1, 32), (3, 40), (7, 16)]
LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "more"), CASES, ids=[f"{k.__name__}{m or ''}" for k, m in CASES])
def test_results_are_those_of_the_threads(kernel, more, level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    in_order, as_written = cuda.jit(kernel), cuda.jit(without=("grid-walks",))(kernel)
    for size in (0, 1, 129, 1000) if WHOLE else (0, 129, 300):
        if more == (77,) and size < 77:
            continue
        x = np.random.default_rng(size).random(size)
        for launch in LAUNCHES:
            results = []
            for each in (in_order, as_written):
                y = np.arange(size, dtype=float)
                each[launch](x, y, *more)
                results.append(y)
            np.testing.assert_array_equal(*results)
    assert runs_in_order(in_order)
    assert not runs_in_order(as_written)


@pytest.mark.parametrize("width", [1, 4, 64])
def test_any_width(width: int):
    kernel = cuda.jit(width=width)(from_itself)
    x, y = np.random.default_rng(0).random(1001), np.zeros(1001)
    kernel[3, 40](x, y)
    expected = x.copy()
    for i in range(120, 1001):
        expected[i] += expected[i - 120]
    np.testing.assert_array_equal(y, expected)
    assert runs_in_order(kernel) == (width > 1)


def test_rows_of_a_grid_of_two_dimensions():
    @cuda.jit
    def kernel(x):
        row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        if row < x.shape[0]:
            for i in range(cuda.grid(2)[0], x.shape[1], cuda.gridsize(2)[0]):
                x[row, i] += 100 * row + i

    x = np.zeros((5, 333))
    kernel[(2, 2), (32, 4)](x)
    np.testing.assert_array_equal(x, 100.0 * np.arange(5)[:, None] + np.arange(333))


def test_threads_run_by_themselves_along_rows_too():
    @cuda.jit
    def segments(begins, x, sums):
        for i in range(cuda.grid(1), sums.size, cuda.gridsize(1)):
            total = 0.0
            for k in range(begins[i], begins[i + 1]):
                total += x[k]
            sums[i] = total

    lengths = np.random.default_rng(0).integers(0, 9, 500)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    x, sums = np.ones(begins[-1]), np.zeros(500)
    segments[3, 32](begins, x, sums)
    np.testing.assert_array_equal(sums, lengths)
    assert runs_in_order(segments)


def lengths_of_strings(text, begins, lengths):
    for i in range(cuda.grid(1), lengths.size, cuda.gridsize(1)):
        length = 0
        while text[begins[i] + length] != 0:
            length += 1
        lengths[i] = length


def lengths_by_a_guard(text, begins, lengths):
    i = cuda.grid(1)
    if i < lengths.size:
        length = 0
        while text[begins[i] + length] != 0:
            length += 1
        lengths[i] = length


@pytest.mark.parametrize("level", LEVELS)
def test_lane_groups_are_planned_as_for_threads_with_an_element_each(level, monkeypatch):
    monkeypatch.setenv("WEFT_CPU", level)
    wanted = np.random.default_rng(0).integers(0, 20, 500)
    begins = np.concatenate([[0], np.cumsum(wanted + 1)[:-1]])
    text = np.ones(500 + wanted.sum(), np.uint8)
    text[np.cumsum(wanted + 1) - 1] = 0
    plans = []
    for function in (lengths_of_strings, lengths_by_a_guard):
        kernel, found = cuda.jit(function), np.zeros(500, np.int64)
        kernel[16, 32](text, begins, found)
        np.testing.assert_array_equal(found, wanted)
        told = " ".join(r.message for r in kernel.remarks)
        plans.append(re.findall(r"runs (.*?) at a time|(one after the other, too)", told))
    assert plans[0] == plans[1]
    assert len(plans[0]) == 2


def visits(children, weights, sums):
    """Threads walk down a tree by a stack."""
    for i in range(cuda.grid(1), sums.size, cuda.gridsize(1)):
        stack = cuda.local.array(16, np.int32)
        stack[0] = 0
        top = 1
        total = 0.0
        while top > 0:
            top -= 1
            node = stack[top]
            total += weights[node]
            if weights[node] > i % 3:
                for k in range(2):
                    if children[node, k] > 0:
                        stack[top] = children[node, k]
                        top += 1
        sums[i] = total


def test_threads_that_walk_by_stacks_walk_the_grid():
    nodes = np.arange(31)
    children = np.stack([2 * nodes + 1, 2 * nodes + 2], 1)
    children[children > 30] = 0
    weights = np.random.default_rng(0).integers(0, 4, 31).astype(float)
    results = []
    for without in ((), ("grid-walks",)):
        kernel, sums = cuda.jit(without=without)(visits), np.zeros(300)
        kernel[3, 32](children.astype(np.int32), weights, sums)
        results.append(sums)
        assert runs_in_order(kernel) == (not without)
    np.testing.assert_array_equal(*results)


TEXT = {
    "int": "for (int i = FIRST; i < n; i += STEP) y[i] = 2 * x[i] + y[i];",
    "size_t": "for (size_t i = FIRST; i < n; i += STEP) y[i] = 2 * x[i] + y[i];",
    "scratch": "for (int i = FIRST; i < n; i += STEP)"
    " { float a[3] = {x[i], y[i], 1}; y[i] = 2 * a[0] + a[1 + (n & 1)]; }",
    "while": "int i = FIRST; while (i < n) { y[i] = 2 * x[i] + y[i]; i += STEP; }",
    "at most": "for (int i = FIRST; i <= n - 1; i += STEP) y[i] = 2 * x[i] + y[i];",
}


@pytest.mark.spread
@pytest.mark.parametrize("form", list(TEXT))
@pytest.mark.parametrize("door", ["opencl", "cuda", "ptx"])
def test_dialects_of_c(door: str, form: str):
    opens = door == "opencl"
    first = "get_global_id(0)" if opens else "blockIdx.x * blockDim.x + threadIdx.x"
    step = "get_global_size(0)" if opens else "blockDim.x * gridDim.x"
    body = TEXT[form].replace("FIRST", first).replace("STEP", step)
    space = "__global " if opens else ""
    head = "__kernel void" if opens else 'extern "C" __global__ void'
    text = f"{head} walk({space}const float *x, {space}float *y, int n) {{ {body} }}"
    x = np.random.default_rng(0).random(1001, np.float32)
    y = np.ones(1001, np.float32)
    if opens:
        kernel = opencl.Program(text).walk
        kernel(7 * 32, 32, x, y, 1001)
    else:
        kernel = cuda.Module(text).walk
        scope = []
        if door == "ptx":
            kernel, scope = ptx.Module(kernel.inspect_ptx()).walk, [np.zeros(64, np.uint8)]
        kernel[7, 32](x, y, np.int32(1001), *scope)
    np.testing.assert_array_equal(y, 2 * x + 1)
    # PTX does not say that an address with 64 bits is in the array, nor when the life of an object begins.
    assert runs_in_order(kernel) == ((door, form) not in (("ptx", "size_t"), ("ptx", "scratch")))


def test_the_report_says_so():
    kernel = cuda.jit(scaled)
    kernel[2, 32](np.ones(100), np.zeros(100))
    line = next(line for line in str(kernel.report()).splitlines() if "for i in range" in line)
    assert " bound " in line
    assert "diverges" not in line


def with_a_total(x, y):
    total = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    y[cuda.grid(1)] = total


def that_stops(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        if x[i] > 0.9:
            break
        y[i] = x[i]


def that_know_who_they_are(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i] + cuda.threadIdx.x


def with_what_is_loaded_before(x, y):
    first = y[0]
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i] + first


def with_an_array(x, y):
    last = cuda.local.array(2, np.float64)
    last[0] = 0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i] + last[0]
        last[i % 2] = x[i]


def two_walks(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i]
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += x[i]


def that_end_for_themselves(x, y):
    for i in range(cuda.grid(1), x.size - cuda.threadIdx.x % 2, cuda.gridsize(1)):
        y[i] = x[i]


@pytest.mark.parametrize(
    "kernel",
    [
        with_a_total,
        that_stops,
        that_know_who_they_are,
        with_what_is_loaded_before,
        with_an_array,
        two_walks,
        that_end_for_themselves,
    ],
)
def test_what_threads_have_of_their_own_keeps_their_loops(kernel):
    compiled = cuda.jit(kernel)
    compiled[2, 64](np.random.default_rng(0).random(1000), np.zeros(1000))
    assert not runs_in_order(compiled)
