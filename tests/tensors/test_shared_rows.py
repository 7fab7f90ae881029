"""Kernels whose rows share what a loop loads, as products of matrices: boxes of threads, without masks inside."""

import re

import numpy as np
import pytest

from pairs import WHOLE
from weft import cuda
from weft.machine.host import is_runnable

LEVELS = {"x86-64": None, "x86-64-v3": "4x8", "x86-64-v4": "4x16"}


def product(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[1] and j < c.shape[0]:
        total = a[j, 0] * b[0, i]
        for k in range(1, b.shape[0]):
            total += a[j, k] * b[k, i]
        c[j, i] = total


def lower_triangle(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[1] and j < c.shape[0]:
        total = a[j, 0] * b[0, i]
        for k in range(1, i):
            total += a[j, k] * b[k, i]
        c[j, i] = total


def seidel(a, b):
    i, j = cuda.grid(2)
    if i > 0 and j > 0 and i < b.shape[1] - 1 and j < b.shape[0] - 1:
        total = a[j - 1, i - 1] + a[j - 1, i] + a[j - 1, i + 1] + a[j, i - 1] + a[j, i]
        b[j, i] = total + a[j, i + 1] + a[j + 1, i - 1] + a[j + 1, i] + a[j + 1, i + 1]


def transpose(a, b):
    i, j = cuda.grid(2)
    if i < a.shape[1] and j < a.shape[0]:
        b[i, j] = a[j, i]


def groups(shape, block):
    return (-(-shape[1] // block[0]), -(-shape[0] // block[1]))


def brushes(kernel) -> set[str]:
    """Those of the specializations that launches have asked for."""
    return {str(each.options.brush) for each in kernel._specializations.made.values()}


@pytest.mark.spread
@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_products_run_in_boxes_where_work_groups_have_as_much(cpu, dtype, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    if not is_runnable():
        pytest.skip(f"needs {cpu}")
    random = np.random.default_rng(1)
    for block, in_box in [((16, 16), True), ((20, 6), True), ((16, 3), False), ((2, 8), False)]:
        kernel = cuda.jit(product)
        for shape in ((3, 45, 70), (33, 30, 50)) if WHOLE else ((19, 35, 37),):
            a = random.integers(0, 5, (shape[0], shape[1])).astype(dtype)
            b = random.integers(0, 5, (shape[1], shape[2])).astype(dtype)
            c = np.zeros((shape[0] + 1, shape[2]), dtype)
            kernel[groups((shape[0], shape[2]), block), block](a, b, c[:-1])
            np.testing.assert_array_equal(c[:-1], a @ b)
            assert not c[-1].any()
        assert brushes(kernel) == ({LEVELS[cpu]} if in_box and LEVELS[cpu] else set())
        (general,) = kernel.overloads.values()
        told = any("rows share what a loop loads" in str(remark) for remark in general.remarks)
        assert told == (LEVELS[cpu] is not None)


@pytest.mark.parametrize(
    ("function", "options"),
    [(lower_triangle, {}), (product, {"boscc": "off"}), (product, {"width": 16}), (seidel, {})],
)
def test_others_run_along_rows(function, options, monkeypatch) -> None:
    kernel = cuda.jit(**options)(function)
    arrays = [np.ones((8, 8)) for _ in range(2 if function is seidel else 3)]
    kernel[(1, 1), (16, 16)](*arrays)
    assert brushes(kernel) <= {"None"}
    (general,) = kernel.overloads.values()
    assert not any("rows share" in str(remark) for remark in general.remarks)


@pytest.mark.parametrize(
    ("function", "wanted"),
    # Rows of 16 doubles in two registers; a product's first step beside those of its loop.
    [
        (product, "loads 4 registers, stores 8"),
        (transpose, "loads 8"),
    ],
)
def test_boxes_inside_of_a_guard_share_loads(function, wanted, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    count = 3 if function is product else 2
    kernel = cuda.jit(f"void({', '.join(['float64[:, ::1]'] * count)})", brush=(4, 16))(function)
    (compiled,) = kernel.overloads.values()
    text = "\n".join(map(str, compiled.remarks))
    assert "has a copy without masks" in text
    (found,) = re.findall(r"a box of 64 threads (loads .*) and takes", text)
    assert found.startswith(wanted), found


@pytest.mark.spread
@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize("function", [seidel, transpose])
def test_copies_without_masks_compute_the_same(cpu, function, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    if not is_runnable():
        pytest.skip(f"needs {cpu}")
    a = np.random.default_rng(1).integers(0, 99, (37, 70)).astype(np.float64)
    wanted = np.zeros(a.T.shape if function is transpose else a.shape)
    cuda.jit(function, debug=True)[groups(a.shape, (8, 8)), (8, 8)](a, wanted)
    for brush in ((2, 8), (4, 8), (8, 2)):
        found = np.zeros_like(wanted)
        cuda.jit(brush=brush)(function)[groups(a.shape, (8, 8)), (8, 8)](a, found)
        np.testing.assert_array_equal(found, wanted)
