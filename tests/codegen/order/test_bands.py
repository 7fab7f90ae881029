"""Bands of rows: kernels that transpose run in boxes of threads, whatever work-groups and guards are like."""

import os
import random
from collections.abc import Callable

import numpy as np
import pytest

from weft import cuda, opencl
from weft.codegen.order.run_unit import RunUnit
from weft.cuda.build import lower
from weft.frontend.python.typeof import typeof
from weft.options import CompileOptions, Timings

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
BLOCKS = [(16, 16), (32, 8), (8, 8), (10, 10), (64, 1), (7, 3), (1, 32)]


def turn(matrix, result):
    x, y = cuda.grid(2)
    if x < result.shape[1] and y < result.shape[0]:
        result[y, x] = matrix[x, y]


def turn_by_rows(matrix, result):
    x, y = cuda.grid(2)
    if x < matrix.shape[1] and y < matrix.shape[0]:
        result[x, y] += matrix[y, x]


def turn_inside(matrix, result):
    x, y = cuda.grid(2)
    if x > 2 and y > 0 and x < matrix.shape[1] - 3 and y < matrix.shape[0] - 1:
        result[x, y] += matrix[y - 1, x] + matrix[y + 1, x]


def turn_corner(matrix, result):
    x, y = cuda.grid(2)
    if x < matrix.shape[1] and y < matrix.shape[0] and x + y < matrix.shape[0]:
        result[x, y] += matrix[y, x]


def turn_planes(matrix, result):
    x, y, z = cuda.grid(3)
    if x < matrix.shape[2] and y < matrix.shape[1] and z < matrix.shape[0]:
        result[x, y, z] += matrix[z, y, x]


OTHERS = [turn_by_rows, turn_inside, turn_corner]


def expected(function: Callable[..., None], matrix: np.ndarray) -> np.ndarray:
    result = np.zeros(matrix.shape[::-1], matrix.dtype)
    if function is turn_inside:
        result.T[1:-1, 3:-3] = (matrix[:-2] + matrix[2:])[:, 3:-3]
        return result
    result += matrix.T
    if function is turn_corner:
        y, x = np.indices(matrix.shape)
        result.T[x + y >= matrix.shape[0]] = 0
    return result


def run(kernel, function: Callable[..., None], matrix: np.ndarray, block: tuple[int, ...]) -> None:
    result = np.zeros(matrix.shape[::-1], matrix.dtype)
    threads = (result if function is turn else matrix).shape[::-1]
    grid = tuple(-(-n // size) for n, size in zip(threads, block, strict=True))
    kernel[grid, block](matrix, result)
    np.testing.assert_array_equal(result, expected(function, matrix), str(block))


def runs_in_boxes(remarks) -> bool:
    return any("in boxes of" in remark.message for remark in remarks)


@pytest.mark.parametrize(
    ("function", "level"), [*((turn, v) for v in LEVELS), *((f, LEVELS[1]) for f in OTHERS)]
)
def test_each_thread_runs_once(function: Callable[..., None], level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    rng = np.random.default_rng(3)
    kernel = cuda.jit(function)
    for k, block in enumerate(BLOCKS):
        for shape in ((40, 40), (21, 70), (5, 19))[k % 2 :: 2]:
            run(kernel, function, rng.integers(0, 99, shape).astype(np.float32), block)
    assert runs_in_boxes(kernel.remarks)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int16, np.int64, np.float64, np.complex64])
def test_elements_of_all_sizes(dtype):
    kernel = cuda.jit(turn)
    matrix = np.random.default_rng(4).integers(0, 99, (45, 36)).astype(dtype)
    for block in BLOCKS[1:4:2]:
        run(kernel, turn, matrix, block)


@pytest.mark.parametrize("level", LEVELS)
def test_rows_and_columns_of_three_dimensions(level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(turn_planes)
    for shape, block in (((35, 6, 20), (8, 4, 2)), ((17, 3, 40), (16, 2, 4)), ((16, 5, 40), (64, 1, 1))):
        run(kernel, turn_planes, np.random.default_rng(5).random(shape), block)
    assert runs_in_boxes(kernel.remarks)


def test_several_threads_of_the_processor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CHECK", "0")
    kernel = cuda.jit(turn)
    matrix = np.random.default_rng(6).random((1001, 517))
    for block in (*BLOCKS, (256, 1), (1, 256), (3, 100)):
        run(kernel, turn, matrix, block)


SOURCE = """
__kernel void turn(__global const float *matrix, __global float *result, int rows, int columns) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < columns && y < rows) result[x * rows + y] += matrix[y * columns + x];
}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_opencl(level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    program = opencl.Program(SOURCE)
    matrix = np.random.default_rng(7).random((37, 53), np.float32)
    for block in ((16, 8), (4, 2)):
        result = np.zeros((53, 37), np.float32)
        program.turn((64, 48), block, matrix, result, np.int32(37), np.int32(53))
        np.testing.assert_array_equal(result, matrix.T)
    assert runs_in_boxes(program.turn.remarks)


PLACES = [
    "x * 61 + y",
    "y * 53 + x",
    "(x + 1) * 61 + y",
    "x * 61 + 60 - y",
    "2 * x * 61 + 2 * y",
    "(52 - x) * 61 + y",
]
GUARDS = [
    "x < columns",
    "y < rows",
    "x > 1",
    "y > 0",
    "x + y < 70",
    "x >= y",
    "y % 3 != 1",
    "x < columns - 2",
]


@pytest.mark.parametrize("seed", range(40 if os.environ.get("WEFT_FUZZ") else 5))
def test_random_kernels(seed: int, monkeypatch: pytest.MonkeyPatch):
    """The interpreter runs them beside, as it does all kernels under WEFT_CHECK; that kernels are right is its word."""
    monkeypatch.setenv("WEFT_CHECK", "1")
    chosen = random.Random(seed)
    monkeypatch.setenv("WEFT_CPU", chosen.choice(LEVELS))
    guards = " && ".join(["x < 53 && y < 61", *chosen.sample(GUARDS, chosen.randint(0, 2))])
    loads = " + ".join(f"matrix[{place}]" for place in chosen.sample(PLACES, chosen.randint(1, 3)))
    type, dtype = chosen.choice([("float", np.float32), ("short", np.int16), ("double", np.float64)])
    program = opencl.Program(
        f"__kernel void k(__global const {type} *matrix, __global {type} *result, int rows, int columns) {{"
        f" int x = get_global_id(0), y = get_global_id(1);"
        f" if ({guards}) result[y * 53 + x] = {loads}; }}"
    )
    matrix = np.random.default_rng(seed).integers(0, 99, 2 * 53 * 122).astype(dtype)
    results = []
    for block in ((1, 1), chosen.choice([(8, 8), (16, 4), (32, 2)])):
        results.append(np.zeros((61, 53), dtype))
        program.k((64, 64), block, matrix, results[-1], np.int32(61), np.int32(53))
    np.testing.assert_array_equal(*results)
    assert results[0].any()


def turn_in_blocks_of_16_by_8(matrix, result):
    x = cuda.blockIdx.x * 16 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 8 + cuda.threadIdx.y
    if x < result.shape[1] and y < result.shape[0]:
        result[y, x] += matrix[x, y]


@pytest.mark.parametrize("level", LEVELS)
def test_groups_of_a_size_that_the_kernel_knows(level: str, monkeypatch: pytest.MonkeyPatch):
    """Groups of other sizes leave some elements out, or write some twice."""
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(turn_in_blocks_of_16_by_8)
    matrix = np.random.default_rng(8).random((70, 45), np.float32)
    for block in ((16, 8), (16, 4), (9, 5)):
        result, wanted = np.zeros((2, 45, 70), np.float32)
        kernel[(5, 6), block](matrix, result)
        for y in range(45):
            for x in range(70):
                if x % 16 < block[0] and y % 8 < block[1]:
                    wanted[y, x] += matrix[x, y]
        np.testing.assert_array_equal(result, wanted, str(block))
    assert runs_in_boxes(kernel.remarks)


def copy(matrix, result):
    x, y = cuda.grid(2)
    if x < result.shape[1] and y < result.shape[0]:
        result[y, x] = matrix[y, x]


def columns(matrix, result):
    x, y = cuda.grid(2)
    if x < result.shape[0] and y < result.shape[1]:
        result[x, y] = matrix[x, y]


def in_group(matrix, result):
    x, y = cuda.grid(2)
    if x < result.shape[1] and y < result.shape[0]:
        result[y, x] = matrix[x, y] + (cuda.threadIdx.y >> 10)


@pytest.mark.parametrize(
    ("function", "options", "boxes"),
    [
        (turn, {}, True),
        (turn, {"width": 8}, False),
        (turn, {"without": ("bands",)}, False),
        (copy, {}, False),
        (columns, {}, False),
        (in_group, {}, False),
    ],
)
def test_what_runs_in_bands(function, options, boxes: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    kernel = cuda.jit(**options)(function)
    matrix = np.random.default_rng(9).random((24, 24))
    result = np.zeros_like(matrix)
    kernel[(3, 3), (8, 8)](matrix, result)
    np.testing.assert_array_equal(result, matrix if function in (copy, columns) else matrix.T)
    assert runs_in_boxes(kernel.remarks) == boxes


def test_runs_of_groups_make_whole_boxes():
    unit = RunUnit(16, 0, None, 8, 1)
    for across in (1, 2, 3, 4, 8, 10, 16, 24, 1024):
        for along in (1, 8, 10, 16, 64):
            groups = unit.groups((along, across, 1))
            high = 8 // np.gcd(8, across)
            assert high * across % 8 == 0
            assert groups % high == 0
            assert groups // high * along % 16 == 0


def turn_what_rows_read(matrix, result):
    x, y = cuda.grid(2)
    if x < matrix.shape[1] and y < matrix.shape[0]:
        result[x, y] = matrix[y, x]


@pytest.mark.parametrize(("function", "along"), [(turn, 1), (turn_what_rows_read, 0)])
def test_bands_go_along_what_is_read(function, along: int):
    array = typeof(np.zeros((4, 4), np.float32))
    lowered, _ = lower(function, (array, array), CompileOptions(), Timings())
    assert lowered.run_unit.rows > 1
    assert (lowered.run_unit.dimension, lowered.run_unit.across) == (along, 1 - along)


def test_kernels_of_which_no_box_of_rows_fits_keep_their_rows(monkeypatch) -> None:
    """Of bytes in rows of 64 none does where boxes shorter than a register are not weighed."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    monkeypatch.setattr("weft.codegen.parallel.brush_choice._squares", lambda row: [])

    @cuda.jit
    def turned(a, b):
        x, y = cuda.grid(2)
        if y < b.shape[0] and x < b.shape[1]:
            b[y, x] = a[x, y]

    types = [typeof(np.zeros((9, 9), np.uint8))] * 2
    remarks = turned.compile(tuple(types)).remarks
    assert not any("in boxes of" in str(remark) for remark in remarks)
