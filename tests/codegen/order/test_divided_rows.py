"""Kernels that divide flat numbers of threads into coordinates run in boxes of columns and rows, or planes."""

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import cuda, opencl

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]


def permute(array, result):
    i = cuda.grid(1)
    if i < array.size:
        x = i % array.shape[2]
        y = i // array.shape[2] % array.shape[1]
        z = i // (array.shape[1] * array.shape[2])
        result[x, z, y] += array[z, y, x]


def permute_by_remainders(array, result):
    i = cuda.grid(1)
    if i >= array.size:
        return
    plane = array.shape[1] * array.shape[2]
    z = i // plane
    rest = i % plane
    y = rest // array.shape[2]
    x = rest % array.shape[2]
    result[x, z, y] += array[z, y, x]


def permute_in_steps(array, result):
    i = cuda.grid(1)
    if i < array.size:
        t, x = divmod(i, array.shape[2])
        z, y = divmod(t, array.shape[1])
        result[x, z, y] += array[z, y, x]


def planes_last(array, result):
    i = cuda.grid(1)
    if i < array.size:
        x = i % array.shape[2]
        y = i // array.shape[2] % array.shape[1]
        z = i // (array.shape[1] * array.shape[2])
        result[y, x, z] += array[z, y, x]


AXES: list[tuple[Callable[..., None], tuple[int, int, int]]] = [
    (permute, (2, 0, 1)),
    (permute_by_remainders, (2, 0, 1)),
    (permute_in_steps, (2, 0, 1)),
    (planes_last, (1, 2, 0)),
]


def runs_in_boxes(remarks) -> bool:
    return any("columns by" in remark.message for remark in remarks)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("function", "axes"), AXES)
def test_each_thread_runs_once(function, axes, level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(function)
    rng = np.random.default_rng(3)
    for k, shape in enumerate(
        [(3, 21, 35), (37, 3, 18), (2, 16, 32), (4, 5, 3), (1, 40, 1), (5, 1, 64), (0, 3, 4)]
    ):
        array = rng.integers(0, 99, shape).astype(np.float32)
        result = np.zeros([shape[a] for a in axes], np.float32)
        block = (256, 100, 7)[k % 3]
        kernel[-(-array.size // block) or 1, block](array, result)
        np.testing.assert_array_equal(result, array.transpose(axes))
    assert runs_in_boxes(kernel.remarks)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float64])
def test_elements_of_all_sizes(dtype):
    kernel = cuda.jit(permute)
    array = np.random.default_rng(4).integers(0, 99, (3, 37, 50)).astype(dtype)
    result = np.zeros((50, 3, 37), dtype)
    kernel[-(-array.size // 96), 96](array, result)
    np.testing.assert_array_equal(result, array.transpose(2, 0, 1))


def test_several_threads_of_the_processor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CHECK", "0")
    array = np.random.default_rng(6).random((61, 53, 117))
    for function, axes in AXES:
        kernel = cuda.jit(function)
        for block in (64, 100):
            result = np.zeros([array.shape[a] for a in axes])
            kernel[-(-array.size // block), block](array, result)
            np.testing.assert_array_equal(result, array.transpose(axes))


def test_launches_of_fewer_threads_than_elements():
    kernel = cuda.jit(permute)
    array = np.random.default_rng(7).random((5, 40, 50))
    result = np.zeros((50, 5, 40))
    kernel[19, 96](array, result)
    wanted = array.ravel().copy()
    wanted[19 * 96 :] = 0
    np.testing.assert_array_equal(result, wanted.reshape(array.shape).transpose(2, 0, 1))


def channels_first(array, result, height, width, channels):
    i = cuda.grid(1)
    if i < array.size:
        c = i % channels
        t = i // channels
        x = t % width
        t = t // width
        result[(t // height * channels + c) * height * width + t % height * width + x] += array[i]


def channels_read(array, result):
    i = cuda.grid(1)
    if i < array.size:
        w, h, c = result.shape[3], result.shape[2], result.shape[1]
        x = i % w
        y = i // w % h
        z = i // (w * h) % c
        n = i // (w * h * c)
        result[n, z, y, x] += array[n, y, x, z]


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize("function", [channels_first, channels_read])
def test_batches_of_images(function, level: str, monkeypatch: pytest.MonkeyPatch):
    """Numbers of planes are divided again: boxes do not leave an image."""
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(function)
    for shape in [(3, 5, 19, 18), (4, 3, 17, 3), (1, 16, 16, 35), (5, 1, 9, 10), (2, 4, 1, 20), (3, 6, 7, 1)]:
        array = np.random.default_rng(3).integers(0, 99, shape).astype(np.float32)
        n, h, w, c = shape
        result = np.zeros((n, c, h, w), np.float32)
        given = (array, result) if function is channels_read else (array.ravel(), result.ravel(), h, w, c)
        kernel[-(-array.size // 96), 96](*given)
        np.testing.assert_array_equal(result, array.transpose(0, 3, 1, 2))
    assert runs_in_boxes(kernel.remarks)


def heads_first(array, result):
    i = cuda.grid(1)
    heads, width = array.shape[2], array.shape[3]
    if i < array.size:
        x = i % width
        h = i // width % heads
        s = i // (width * heads) % array.shape[1]
        n = i // (width * heads * array.shape[1])
        result[n, h, s, x] += array[n, s, h, x]


@pytest.mark.parametrize("level", LEVELS[1:])
def test_columns_that_stay_columns(level: str, monkeypatch: pytest.MonkeyPatch):
    """Lanes are columns of one row, of which nothing is turned; what is left of rows runs thread after thread."""
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(heads_first)
    for shape in [(3, 5, 4, 37), (2, 7, 3, 16), (4, 30, 2, 3), (1, 1, 9, 40)]:
        array = np.random.default_rng(3).integers(0, 99, shape).astype(np.float32)
        result = np.zeros((shape[0], shape[2], shape[1], shape[3]), np.float32)
        kernel[-(-array.size // 96), 96](array, result)
        np.testing.assert_array_equal(result, array.transpose(0, 2, 1, 3))
    assert any("columns of a row" in remark.message for remark in kernel.remarks)


def flat(array, result, w, h, n):
    i = cuda.grid(1)
    if i < n:
        x = i % w
        y = i // w % h
        z = i // (w * h)
        result[(x * (n // (w * h)) + z) * h + y] = array[i]


def two_axes(array, result, w, h, n):
    i = cuda.grid(1)
    if i < n:
        result[i % w * h + i // w] = array[i]


class _Ids:
    """Stands for `weft.cuda` where a kernel runs as plain Python."""

    def __init__(self, number: int) -> None:
        self.number = number

    def grid(self, _dimensions: int) -> int:
        return self.number


def by_python(function: Any, threads: int, *arguments: Any) -> None:
    for number in range(threads):
        body = type(function)(function.__code__, {"cuda": _Ids(number)})
        body(*arguments)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [flat, two_axes])
def test_divisors_that_are_parameters(function, level: str, monkeypatch: pytest.MonkeyPatch):
    """Where they are negative, zero or too small, or do not fit each other, threads run as they are."""
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(function)
    whole = [(24, 20, 960), (17, 33, 1122), (1, 16, 64)]
    others = [(-16, 16, 512), (16, -16, 512), (-4, -8, 320), (0, 7, 99), (600, 2, 300), (40, 7, 839)]
    for w, h, n in [*whole, *others]:
        # Of others several threads write to one place.
        array = np.random.default_rng(8).integers(1, 99, 1200).astype(np.float32)
        if (w, h, n) in others:
            array[...] = 7
        results = np.zeros((2, 30000), np.float32)
        kernel[-(-n // 64), 64](array, results[0], w, h, n)
        if w != 0:
            by_python(function, n, array, results[1], w, h, n)
        else:
            # Quotients by zero are zero, as those of numbers that NumPy divides.
            results[1, 0] = 7
        np.testing.assert_array_equal(*results, str((w, h, n)))
    assert runs_in_boxes(kernel.remarks)


SOURCE = """
__kernel void permute(__global const float *array, __global float *result, int n, int h, int w) {
    int i = get_global_id(0);
    if (i < n) {
        int x = i % w, y = i / w % h, z = i / (w * h), planes = n / (w * h);
        result[(x * planes + z) * h + y] += array[i];
    }
}
"""
CUDA = SOURCE.replace("__kernel", 'extern "C" __global__').replace("__global ", "")
CUDA = CUDA.replace("get_global_id(0)", "blockIdx.x * blockDim.x + threadIdx.x")


@pytest.mark.parametrize("level", LEVELS)
def test_opencl(level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    program = opencl.Program(SOURCE)
    array = np.random.default_rng(9).random((4, 37, 53), np.float32)
    result = np.zeros((53, 4, 37), np.float32)
    program.permute((8192,), (64,), array, result, *(np.int32(n) for n in (array.size, 37, 53)))
    np.testing.assert_array_equal(result, array.transpose(2, 0, 1))
    assert runs_in_boxes(program.permute.remarks)


def test_cuda_c():
    kernel = cuda.Module(CUDA).permute
    array = np.random.default_rng(9).random((4, 37, 53), np.float32)
    result = np.zeros((53, 4, 37), np.float32)
    kernel[128, 64](array, result, *(np.int32(n) for n in (array.size, 37, 53)))
    np.testing.assert_array_equal(result, array.transpose(2, 0, 1))
    assert runs_in_boxes(kernel.remarks)


DIVISIONS = [
    ("i % {w}", "i / {w} % {h}", "i / ({w} * {h})"),
    ("i % ({w} * {h}) % {w}", "i % ({w} * {h}) / {w}", "i / ({w} * {h})"),
    ("i % {w}", "i / {w} % {h}", "i / {w} / {h}"),
    ("(i - 3) % {w}", "i / {w} % {h}", "i / ({w} * {h})"),
    ("i % {w}", "i / {w} % 7", "i / ({w} * {h})"),
    ("i % {w}", "i / {w}", "i / ({w} * {h} * 2)"),
    ("i & 15", "i >> 4 & 7", "i >> 7"),
    ("i % {w}", "i / {w} % {h}", "i / ({w} * {h}) % 3"),
    ("i % {w}", "i / {w} % {h}", "i / ({w} * {h}) % 5 + i / ({w} * {h} * 5) * 6"),
    ("i % {w}", "i / {w} % {h}", "i / {w} / {h} % 4 * 5 + i / {w} / {h} / 4"),
    ("i % {w}", "i / {w} % {h}", "i / ({w} * {h}) % 2 + i / ({w} * {h} * 6) * 7 + i / ({w} * {h}) % 6"),
]
PLACES = [f"({p[0]} * 50 + {p[1]}) * 50 + {p[2]}" for p in ("xzy", "yxz", "zxy", "xyz", "zyx", "yzx")]
GUARDS = ["x > 0", "y != 2", "z < 3", "i > 5", "x + y < 20"]


@pytest.mark.parametrize("seed", range(60 if os.environ.get("WEFT_FUZZ") else 6))
def test_random_kernels(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Each beside itself, thread after thread."""
    chosen = random.Random(seed)
    monkeypatch.setenv("WEFT_CPU", chosen.choice(LEVELS))
    kind = chosen.choice(["int", "unsigned", "long"])
    names = chosen.choice([{"w": "w", "h": "h"}, {"w": "w", "h": "h"}, {"w": "24", "h": "17"}])
    x, y, z = (part.format(**names) for part in chosen.choice(DIVISIONS))
    guards = " && ".join(["2 < i && i < n && y < 50 && z < 50", *chosen.sample(GUARDS, chosen.randint(0, 2))])
    place, other = chosen.sample(PLACES, 2)
    text = (
        f"__kernel void k(__global const float *a, __global float *r, {kind} n, {kind} h, {kind} w) {{"
        f" {kind} i = get_global_id(0); {kind} x = {x}, y = {y}, z = {z};"
        f" if ({guards}) r[{place}] = a[{other}] + y; }}"
    )
    program = opencl.Program(text)
    dtype = {"int": np.int32, "unsigned": np.uint32, "long": np.int64}[kind]
    array = np.random.default_rng(seed).integers(0, 99, 200_000).astype(np.float32)
    w, h = chosen.choice([(24, 17), (16, 8), (33, 20), (7, 40), (40, 3)])
    n = chosen.choice([w * h * 20, w * h * 3 + 5, 700])
    n = min(n, 8000)
    results = []
    for block in (1, chosen.choice([64, 96, 256])):
        results.append(np.zeros(200_000, np.float32))
        program.k((-(-n // block) * block,), (block,), array, results[-1], dtype(n), dtype(h), dtype(w))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("options", "boxes"), [({}, True), ({"width": 8}, False), ({"without": ("bands",)}, False)]
)
def test_what_runs_in_boxes(options, boxes: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    kernel = cuda.jit(**options)(permute)
    array = np.random.default_rng(10).random((4, 24, 40))
    result = np.zeros((40, 4, 24))
    kernel[30, 128](array, result)
    np.testing.assert_array_equal(result, array.transpose(2, 0, 1))
    assert runs_in_boxes(kernel.remarks) == boxes


def copied(array, result):
    i = cuda.grid(1)
    if i < array.size:
        result[i // array.shape[1], i % array.shape[1]] = array[i // array.shape[1], i % array.shape[1]]


def test_copies_along_numbers_stay_rows():
    kernel = cuda.jit(copied)
    array = np.random.default_rng(11).random((30, 40))
    result = np.zeros_like(array)
    kernel[10, 128](array, result)
    np.testing.assert_array_equal(result, array)
    assert not runs_in_boxes(kernel.remarks)
