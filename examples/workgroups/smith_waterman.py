"""Local alignment of Smith and Waterman: the wavefront of anti-diagonals, one group a pair of sequences."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, timed
from weft import cuda

SIZE = 400
LENGTH = 128
LETTERS = 4
MATCH = 3
MISMATCH = -2
GAP = 2


@cuda.jit
def best_scores(first, second, scores):
    """Score one pair a group; thread `t` computes row `t` of the table, one column behind row ``t - 1``."""
    # Scores of the two diagonals before; row t writes at t + 1, so that row 0 finds zeros at 0.
    diagonals = cuda.shared.array((3, LENGTH + 1), dtype=np.int32)
    best = cuda.shared.array(1, dtype=np.int32)
    t = cuda.threadIdx.x
    pair = cuda.blockIdx.x
    for k in range(3):
        diagonals[k, t + 1] = 0
        if t == 0:
            diagonals[k, 0] = 0
    if t == 0:
        best[0] = 0
    cuda.syncthreads()
    letter = first[pair, t]
    mine = np.int32(0)
    for step in range(2 * LENGTH - 1):
        now = step % 3
        before = (step + 2) % 3
        before_that = (step + 1) % 3
        column = step - t
        score = np.int32(0)
        if 0 <= column < LENGTH:
            reward = MATCH if second[pair, column] == letter else MISMATCH
            score = max(score, np.int32(diagonals[before_that, t] + reward))
            score = max(score, np.int32(diagonals[before, t] - GAP))
            score = max(score, np.int32(diagonals[before, t + 1] - GAP))
            mine = max(mine, score)
        diagonals[now, t + 1] = score
        cuda.syncthreads()
    cuda.atomic.max(best, 0, mine)
    cuda.syncthreads()
    if t == 0:
        scores[pair] = best[0]


def align(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the best local alignment score of each pair of uint8 sequences of `LENGTH` letters."""
    scores = np.zeros(len(first), np.int32)
    best_scores[len(first), LENGTH](first, second, scores)
    return scores


def by_numpy(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the same scores, all pairs at once, cell by cell."""
    above = np.zeros((LENGTH + 1, len(first)), np.int32)
    best = np.zeros(len(first), np.int32)
    for row in range(LENGTH):
        current = np.zeros_like(above)
        rewards = np.where(first[:, row, None] == second, MATCH, MISMATCH)
        for column in range(LENGTH):
            steps = (above[column] + rewards[:, column], above[column + 1] - GAP, current[column] - GAP)
            current[column + 1] = np.maximum.reduce([*steps, np.zeros_like(best)])
        best = np.maximum(best, current.max(axis=0))
        above = current
    return best


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(14)
    first = rng.integers(0, LETTERS, (size, LENGTH), dtype=np.uint8)
    # The second sequence is the first one with letters changed and moved.
    second = np.where(rng.random(first.shape) < 0.3, rng.integers(0, LETTERS, first.shape), first)
    second = np.roll(second, 5, axis=1).astype(np.uint8)
    scores = timed(f"alignment of {size} pairs of {LENGTH} letters", lambda: align(first, second))
    agree("scores", scores, by_numpy(first, second))


if __name__ == "__main__":
    main()
