"""Elements that loops in order update stay in registers; results are those of the loop as written."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from pairs import WHOLE

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from loops.test_rows_together import made_of, told
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.target.jit import load_object

KEPT = "the element that this loop updates stays in a register"


def folds(pairs, table):
    n = table.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(pairs[i, j], table[i, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def waits(pairs, table):
    n = table.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(pairs[i, j], table[i, j - 1])
            for k in range(i + 1, j + 1):
                table[i, j] = max(table[i, j], table[i, k] + 1)


def remarks_of(function) -> str:
    return "\n".join(map(str, function.remarks))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9, 20])
def test_python(n: int) -> None:
    pairs = np.random.default_rng(n).integers(0, 9, (n, n))
    wanted, got = np.zeros((2, n, n), np.int64)
    folds(pairs, wanted)
    compiled = weft.jit(folds, parallel="auto")
    compiled(pairs, got)
    np.testing.assert_array_equal(got, wanted)
    assert KEPT in remarks_of(compiled)


def test_rows_that_are_the_same_run_as_written() -> None:
    cells = np.random.default_rng(1).integers(0, 9, 400)
    wanted, got = cells.copy(), cells.copy()
    for array, run in ((wanted, folds), (got, weft.jit(folds, parallel="auto"))):
        # All rows begin at the same place.
        rows = np.lib.stride_tricks.as_strided(array, (12, 12), (0, 8))
        run(rows, np.lib.stride_tricks.as_strided(array[20:], (12, 12), (8, 8)))
    np.testing.assert_array_equal(got, wanted)


def test_elements_that_the_loop_reads_otherwise_stay_in_memory() -> None:
    pairs = np.random.default_rng(2).integers(0, 9, (14, 14))
    wanted, got = np.zeros((2, 14, 14), np.int64)
    waits(pairs, wanted)
    compiled = weft.jit(waits, parallel="auto")
    compiled(pairs, got)
    np.testing.assert_array_equal(got, wanted)
    assert KEPT not in remarks_of(compiled)


SOURCE = """
void folds(int n, const long (*pairs)[24], long (*table)[24]) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      FIRST
      for (int k = i + 1; k < j; k++) {
        long v = table[i][k] + table[k + 1][j]MORE;
        table[i][j] = table[i][j] >= v ? table[i][j] : v;
      }
    }
}
"""


STORED = "table[i][j] = pairs[i][j];"


@pytest.mark.spread
@pytest.mark.parametrize(
    ("first", "more"), [(STORED, " + pairs[j][k]"), (STORED, ""), (f"if (pairs[i][j] > 40) {STORED}", "")]
)
@pytest.mark.parametrize("apart", [600, 580, 24, 0])
def test_c(tmp_path: Path, first: str, more: str, apart: int) -> None:
    source = SOURCE.replace("FIRST", first).replace("MORE", more)
    original, made = made_of(tmp_path, source, "folds")
    # Where lanes along j have neighbours, elements stay in registers, too.
    ahead = "combine in lanes what those before them have found" in told(made)
    assert ahead if (first, more) == (STORED, "") else KEPT in told(made)
    code = load_object(made.object_code, ["folds"])
    run = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(code.address("folds"))
    program = read_module(original)
    draw = np.random.default_rng(apart)
    for n in (-1, 0, 1, 2, 5, 23, 24) if WHOLE else (0, 1, 5, 24):
        before = draw.integers(0, 99, 1300)
        wanted, got = before.copy(), before.copy()
        memory = Memory()
        pointer = memory.map_array(wanted)
        run_function(program, "folds", [n, pointer, pointer + 8 * apart], 1, memory=memory)
        run(n, got.ctypes.data, got.ctypes.data + 8 * apart)
        np.testing.assert_array_equal(got, wanted)
