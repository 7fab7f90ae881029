"""What lanes would gather in nests that add up is copied first (``auto``); results stay the same to the last bit."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from loops.test_auto import agree, auto
from loops.test_rows_together import made_of, told
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.passes.nests import loop_tiles, packed_columns
from weft.target.jit import load_object


def transposed(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]


def lower(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += b[j, k] * 3.5 * a[i, k]


def upper(a, b, c):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] -= a[i, k] * b[j, k]


def from_the_second(a, b, c):
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            for k in range(1, a.shape[1]):
                c[i, j] += a[i, k - 1] * b[j - 1, k]


def rows_of_rows(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def banded(a, b, c):
    for i in range(c.shape[0]):
        for j in range(i, min(i + 3, c.shape[1])):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]


def copies(compiled) -> int:
    return sum("is copied for" in r.message for r in compiled.remarks)


@pytest.fixture(autouse=True)
def few_columns(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(loop_tiles, "TILE", 5)
    monkeypatch.setattr(packed_columns, "LEAST_DEPTH", 5)
    monkeypatch.setattr(packed_columns, "REGISTERS", 1)
    # What has tiles of another size is in the cache.
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))


SIZES = ((9, 11, 17), (0, 3, 2), (1, 0, 3), (1, 8, 1), (3, 5, 0), (40, 6, 33), (33, 5, 40), (8, 5, 8))


@pytest.mark.parametrize("function", [transposed, lower, upper, from_the_second], ids=lambda f: f.__name__)
def test_operands_that_are_read_across_their_rows_are_copied(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(2)
    for rows, inner, columns in SIZES:
        a, b, c = (
            draw.random(shape) for shape in ((rows, inner), (columns + rows, inner), (rows, columns + rows))
        )
        agree(compiled, a, b, c)
    assert copies(compiled) == 1


@pytest.mark.parametrize("function", [rows_of_rows, banded], ids=lambda f: f.__name__)
def test_neighbours_are_read_where_they_are_and_bands_too(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(3)
    for rows, inner, columns in SIZES:
        b = draw.random((max(columns, inner), max(columns, inner)))
        agree(compiled, draw.random((rows, inner)), b, draw.random((rows, columns)))
    assert not copies(compiled)


def test_arrays_that_overlap_run_as_written() -> None:
    compiled = auto(transposed)
    memory = 0.05 * np.random.default_rng(4).random((14, 12))
    agree(compiled, memory[:12], memory[1:13], memory[2:14])


C = """
void sums(int n, int m, int q, double v, double a[restrict][40], double b[restrict][40], double c[restrict][48]) {{
  for (int i = 0; i < n; i++)
    {nest}
}}
"""
NESTS = {
    "two of each": "for (int k = 0; k < m; k++) for (int j = 0; j <= i; j++) c[i][j] += b[j][k] * v * a[i][k] + "
    "a[j][k] * v * b[i][k];",
    "upper": "for (int j = i; j < q; j++) for (int k = 0; k < m; k++) c[i][j] += a[i][k] * b[j][k];",
    "upper, without the diagonal": "for (int j = i + 1; j < q; j++) for (int k = 0; k < m; k++) c[i][j] += "
    "a[i][k] * b[j][k];",
    "to the right": "for (long j = 0; j < q; j++) for (int k = 0; k < m; k++) c[i][j] += a[i][k] * b[q - 1 - j][k];",
    "no sign": "for (unsigned j = 0; j < q; j++) for (unsigned k = 0; k < m; k++) c[i][j] += a[i][k] * b[j][k];",
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
def test_nests_of_c_do_what_they_do_as_written(nest: str, tmp_path: Path) -> None:
    original, made = made_of(tmp_path, C.format(nest=nest))
    assert "is copied for" in told(made)
    run = function_of(made)
    program = read_module(original)
    draw = np.random.default_rng(7)
    for n, m, q in (
        (9, 11, 17),
        (0, 3, 2),
        (1, 0, 3),
        (1, 8, 1),
        (3, 5, 0),
        (-1, 4, 4),
        (13, 5, 19),
        (8, 6, 8),
    ):
        before = draw.integers(40, 90, (3, 48, 48)) / 64
        wanted, got = before.copy(), before.copy()
        memory = Memory()
        pointers = [memory.map_array(array) for array in wanted]
        run_function(program, "sums", [n, m, q, 1.5, *pointers], 1, memory=memory)
        run(n, m, q, 1.5, *(array.ctypes.data for array in got))
        np.testing.assert_array_equal(got, wanted)


def test_nothing_is_read_where_there_is_no_row(tmp_path: Path) -> None:
    _, made = made_of(tmp_path, C.format(nest=NESTS["to the right"]))
    run = function_of(made)
    run(0, 9, 30, 2.0, None, None, None)
    run(9, 0, 30, 2.0, None, None, None)


def function_of(made):
    code = load_object(made.object_code, ["sums"])
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * 3, ctypes.c_double, *[ctypes.c_void_p] * 3)
    found = kind(code.address("sums"))
    found.code = code
    return found
