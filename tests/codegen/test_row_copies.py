"""Rows that each lane reads again and again are copied at every door, with the same results."""

from pathlib import Path

import numpy as np
import pytest

import weft
from codegen.machine_code import ISAS
from weft import cuda
from weft.diag.remarks import RemarkLog
from weft.loops.llvm_ir import vectorize_ir
from weft.machine.targets import Isa
from weft.opencl import Program

LENGTH = 20


@cuda.jit
def align(first, second, scores):
    pair = cuda.grid(1)
    if pair < scores.size:
        above = cuda.local.array(LENGTH + 1, np.int32)
        for column in range(LENGTH + 1):
            above[column] = 0
        best = 0
        for row in range(LENGTH):
            letter = first[pair, row]
            diagonal = left = 0
            for column in range(LENGTH):
                reward = 3 if second[pair, column] == letter else -2
                score = max(0, diagonal + reward, above[column + 1] - 2, left - 2)
                diagonal = above[column + 1]
                above[column + 1] = score
                left = score
                best = max(best, score)
        scores[pair] = best


@weft.jit
def align_all(first, second, scores):
    for pair in weft.prange(scores.size):
        above = np.zeros(LENGTH + 1, np.int32)
        best = 0
        for row in range(LENGTH):
            letter = first[pair, row]
            diagonal = left = 0
            for column in range(LENGTH):
                reward = 3 if second[pair, column] == letter else -2
                score = max(0, diagonal + reward, above[column + 1] - 2, left - 2)
                diagonal = above[column + 1]
                above[column + 1] = score
                left = score
                best = max(best, score)
        scores[pair] = best


def expected(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    pairs = len(first)
    above, best = np.zeros((pairs, LENGTH + 1), int), np.zeros(pairs, int)
    for row in range(LENGTH):
        diagonal = left = np.zeros(pairs, int)
        for column in range(LENGTH):
            reward = np.where(second[:, column] == first[:, row], 3, -2)
            over = above[:, column + 1].copy()
            score = np.maximum.reduce([diagonal + reward, over - 2, left - 2, 0 * left])
            diagonal, left = over, score
            above[:, column + 1] = score
            best = np.maximum(best, score)
    return best


def letters(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, (pairs, LENGTH), np.uint8)
    return first, np.where(rng.random(first.shape) < 0.3, rng.integers(0, 4, first.shape), first).astype(
        np.uint8
    )


def copies(remarks: RemarkLog) -> int:
    return sum(r.pass_name == "row copies" for r in remarks)


def test_a_kernel_copies_the_letters() -> None:
    first, second = letters(100)
    scores = np.zeros(100, np.int32)
    align[4, 32](first, second, scores)
    np.testing.assert_array_equal(scores, expected(first, second))
    (compiled,) = align.overloads.values()
    assert copies(compiled.remarks) == 1
    # The width is chosen for what is left in the loop, not for addresses.
    assert any("of 8-bit values" in r.message for r in compiled.remarks)
    # The scores are stored behind the loops, and above is the thread's own.
    assert not compiled.terms.arrays_apart


def test_a_loop_copies_them() -> None:
    first, second = letters(70)
    scores = np.zeros(70, np.int32)
    align_all(first, second, scores)
    np.testing.assert_array_equal(scores, expected(first, second))
    # Of rows of any length, and of those that the arrays have.
    assert copies(align_all.remarks) == 2


@cuda.jit(width=8)
def smear(rows, out):
    t = cuda.grid(1)
    if t < out.shape[0]:
        for i in range(out.shape[1]):
            total = 0
            for j in range(20):
                total = total * 3 + rows[t, j]
            out[t, i] = total


def test_rows_that_are_stored_to_are_read_again() -> None:
    rows = np.random.default_rng(1).integers(0, 9, (18, 20))
    out = np.zeros((18, 5), np.int64)
    powers = 3 ** np.arange(19, -1, -1)
    smear[2, 32](rows, out)
    (compiled,) = smear.overloads.values()
    assert copies(compiled.remarks) == 1 and compiled.terms.arrays_apart
    np.testing.assert_array_equal(out, np.repeat(rows @ powers, 5).reshape(18, 5))
    both, wanted = rows.copy(), rows.copy()
    smear[2, 32](both, both)
    for i in range(20):
        wanted[:, i] = wanted @ powers
    np.testing.assert_array_equal(both, wanted)


DISTANCES = """
kernel void nearest(global const float *points, global const float *others, global int *found, int n, int m, int d) {
    int i = get_global_id(0);
    if (i >= n) return;
    float least = 1e30f;
    int best = 0;
    for (int j = 0; j < m; j++) {
        float sum = 0;
        for (int k = 0; k < d; k++) {
            float step = points[i * d + k] - others[j * d + k];
            sum += step * step;
        }
        found[i] = j;
        if (sum < least) { least = sum; best = j; }
    }
    found[i] = best;
}
"""


@pytest.mark.parametrize("d", [0, 30, 3000])
def test_opencl_asks_for_the_length_and_whether_buffers_are_apart(d: int) -> None:
    pytest.importorskip("ziglang")
    kernel = Program(DISTANCES, options="-cl-fast-relaxed-math").nearest
    rng = np.random.default_rng(2)
    points, others = rng.random((40, d), np.float32), rng.random((6, d), np.float32)
    found = np.zeros(40, np.int32)
    kernel((40,), (8,), points, others, found, 40, 6, d)
    distances = ((points[:, None] - others) ** 2).sum(-1)
    np.testing.assert_allclose(distances[np.arange(40), found], distances.min(-1), rtol=1e-5)


C_LOOP = """
void count(int n, const unsigned char *restrict text, const unsigned char *restrict keys, int *restrict found) {
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 40; k++)
                sum += text[40 * i + k] > keys[j];
        found[i] = sum;
    }
}
"""


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_a_loop_in_c_copies_for_every_level(tmp_path: Path, isa: Isa) -> None:
    pytest.importorskip("ziglang")
    source = tmp_path / "count.c"
    source.write_text(C_LOOP)
    made = vectorize_ir(source, "count", width=8, loop="outermost", target=isa.cpu)
    assert copies(made.remarks) == 1
