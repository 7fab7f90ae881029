"""Rows of threads: lane groups go on from work-group to work-group, and guards cut rows short."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from weft import cuda
from weft.codegen.order.run_unit import RunUnit
from weft.cuda.build import lower
from weft.frontend.python.typeof import typeof
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.options import CompileOptions, Timings
from weft.passes.lower_kernel import kernel_llvm
from weft.target.machine import TargetSpec


@pytest.mark.parametrize("dimension", [0, 1])
def test_runs_of_groups_make_whole_lane_groups(dimension: int) -> None:
    unit = RunUnit(16, dimension)
    for size in range(1, 1025):
        block = (size, 1, 1) if dimension == 0 else (1, size, 1)
        groups = unit.groups(block)
        assert groups * size % 16 == 0
        assert groups == 1 or (groups // 2) * size % 16 != 0
    assert RunUnit().groups((7, 1, 1)) == 1


FAR = 2**63 - 1, -5
"""Ends of no row, whose distance wraps around."""


def visit(out, first, last, height):
    x, y = cuda.grid(2)
    if first <= x < last and y < height:
        out[y, x] += 1


def visit_in_group(out, first, last, height):
    x, y = cuda.grid(2)
    if first <= x < last and y < height:
        out[y, x] += 1 + (cuda.threadIdx.x >> 10)


def visit_low_bits(out, first, last, height):
    x, y = cuda.grid(2)
    if first <= x < last and y < height:
        out[y, x] += 1 + (x ^ 1) // 4096


def marked(shape: tuple[int, int], first: int, last: int, height: int) -> np.ndarray:
    out = np.zeros(shape, np.int32)
    out[: max(height, 0), max(first, 0) : max(last, 0)] = 1
    return out


def visit_columns(out, first, last, height):
    y, x = cuda.grid(2)
    if first <= x < last and y < height:
        out[y, x] += 1


@pytest.mark.spread
@pytest.mark.parametrize("block", [(8, 8), (40, 1), (16, 3)])
@pytest.mark.parametrize("function", [visit, visit_low_bits])
def test_ends_of_rows_run_in_fewer_lanes(
    function: Callable[..., None], block: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With registers of 8 lanes and lane groups of 32, whose masks are vectors."""
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    kernel = cuda.jit(function)
    for height, width in ((3, 7), (5, 40), (2, 131)):
        grid = (-(-width // block[0]), -(-height // block[1]))
        padded = (grid[1] * block[1], grid[0] * block[0])
        for first, last in (
            (0, width),
            (1, width - 1),
            (9, 10),
            (31, 33),
            (30, 66),
            (5, 5),
            (7, 2),
            (8, 72),
            FAR,
        ):
            last = min(last, padded[1])
            out = np.zeros(padded, np.int32)
            kernel[grid, block](out, first, last, height)
            np.testing.assert_array_equal(out, marked(padded, first, last, height))
    text = next(iter(kernel.inspect_llvm().values()))
    assert "narrow.body:" in text
    assert "<32 x i1>" not in text


@pytest.mark.parametrize("isa", [AVX2, AVX512])
def test_ends_of_rows_run_in_fewer_lanes_with_registers_for_masks_too(isa: Isa) -> None:
    types = (typeof(np.zeros((1, 1), np.int32)), *[typeof(1)] * 3)
    text = lower(visit, types, CompileOptions(), Timings(), TargetSpec.of_isa(isa))[0].text
    assert "@visit.rest" in text or ".rest(" in text
    assert re.search(r"narrow\.body", text)


@pytest.mark.parametrize("block", [(1, 1), (3, 2), (7, 5), (8, 8), (40, 1), (16, 3)])
def test_each_thread_that_passes_runs_once(block: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    for function in (visit, visit_in_group, visit_columns):
        kernel = cuda.jit(width=8)(function)
        for extents in ((5, 7), (12, 40), (1, 131)):
            height, width = extents
            across, down = (width, height) if function is not visit_columns else (height, width)
            grid = (-(-across // block[0]), -(-down // block[1]))
            padded = (grid[1] * block[1], grid[0] * block[0])
            if function is visit_columns:
                padded = padded[::-1]
            for first, last in (
                (0, width),
                (1, width - 1),
                (9, 10),
                (-4, width + 3),
                (8, 16),
                (5, 5),
                (7, 2),
            ):
                last = min(last, padded[1])
                out = np.zeros(padded, np.int32)
                kernel[grid, block](out, first, last, height)
                np.testing.assert_array_equal(out, marked(padded, first, last, height))


def visit_from_the_start(out, last, height):
    x, y = cuda.grid(2)
    if x < last and y < height:
        out[y, x] += 1


def lowered(function: Callable[..., None], isa: Isa) -> str:
    """The kernel as loops over lane groups, before LLVM has changed them."""
    numbers = function.__code__.co_argcount - 1
    types = (typeof(np.zeros((1, 1), np.int32)), *[typeof(1)] * numbers)
    spec = TargetSpec.of_isa(isa)
    return lower(function, types, CompileOptions(width=8), Timings(), spec)[0].text


@pytest.mark.parametrize(
    ("function", "isa", "anywhere"),
    [
        (visit, AVX2, True),
        (visit, SSE2, True),
        # Masks cost nothing there, and accesses at multiples of the width do not cross lines of the cache.
        (visit, AVX512, False),
        # Rows begin with their first thread, and the low bits of a position are looked at.
        (visit_from_the_start, AVX2, False),
        (visit_low_bits, AVX2, False),
        (visit_in_group, AVX2, False),
    ],
)
def test_lane_groups_begin_with_the_row_where_it_makes_no_difference(
    function: Callable[..., None], isa: Isa, anywhere: bool
) -> None:
    assert ("lanes.again:" not in lowered(function, isa)) == anywhere


@pytest.mark.parametrize("function", [visit, visit_in_group, visit_columns, visit_low_bits])
def test_every_pass_does_the_same(function: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    out = np.zeros((21, 21), np.int32)
    cuda.jit(width=4)(function)[(3, 7), (7, 3)](out, 2, 19, 11)
    assert out.sum() == 17 * 11


def copy_element(a, out):
    x, y = cuda.grid(2)
    out[x, y] = a[x, y]


def copy_plane(a, out):
    x, y, z = cuda.grid(3)
    out[z, x, y] = a[z, y, x] + a[z, x, y]


def swap_in_group(a, out):
    x, y = cuda.grid(2)
    out[x, y] = a[x, cuda.threadIdx.y]


def look_up(a, out):
    x, y = cuda.grid(2)
    left, right = a[0, x * x & 3], a[1, x * x & 3]
    out[y, x] = a[left + y & 3, 0] + a[right + y & 3, 0]


@pytest.mark.parametrize(
    ("function", "ndim", "dimension"),
    [
        (copy_element, 2, "y"),
        (visit, 2, "x"),
        (copy_plane, 3, "y"),
        (swap_in_group, 2, "x"),
        (look_up, 2, "x"),
    ],
)
def test_lanes_run_where_memory_is_contiguous(
    function: Callable[..., None], ndim: int, dimension: str
) -> None:
    a = np.zeros((4,) * ndim, np.int32)
    args = (a, 0, 4, 4) if function is visit else (a, a.copy())
    kernel = cuda.jit(width=8)(function)
    kernel[(1,) * ndim, (4,) * ndim](*args)
    said = " ".join(r.message for c in kernel.overloads.values() for r in c.remarks)
    assert ("neighbours along y" in said) == (dimension == "y")


def scale(out, a, b):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = x * math.exp(a / b)


@pytest.mark.optimized
def test_what_all_threads_share_is_computed_before_the_loops_over_them() -> None:
    types = (typeof(np.zeros((1, 1))), typeof(1.0), typeof(1.0))
    lowered, _ = lower(scale, types, CompileOptions(width=8), Timings())
    blocks = re.split(r"\n(?=[\w.$-]+:)", kernel_llvm(lowered, TargetSpec.chosen()))
    # LLVM may have copies of the loop, and vectors of a register each.
    hot = "".join(b for b in blocks if re.search(r"store <\d+ x double>", b))
    assert hot
    assert "fdiv" not in hot
    assert "exp" not in hot
    assert "mul i64" not in hot
    assert any("fdiv double" in b and "br label" in b for b in blocks)
