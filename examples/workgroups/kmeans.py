"""k-means by Lloyd's iteration: points find their nearest centre, groups add up their members in shared memory."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 200_000
THREADS = 256
CENTRES = 16
DIMENSIONS = 3
ITERATIONS = 10


@cuda.jit
def assign_and_sum(points, centres, nearest, sums, counts):
    """Find each point's nearest centre; add the points and their number to that centre's totals."""
    own_sums = cuda.shared.array((CENTRES, DIMENSIONS), dtype=np.float64)
    own_counts = cuda.shared.array(CENTRES, dtype=np.int32)
    t = cuda.threadIdx.x
    for c in range(t, CENTRES, cuda.blockDim.x):
        own_counts[c] = 0
        for d in range(DIMENSIONS):
            own_sums[c, d] = 0.0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = 0
        least = np.float64(np.inf)
        for c in range(CENTRES):
            distance = np.float64(0)
            for d in range(DIMENSIONS):
                difference = points[i, d] - centres[c, d]
                distance += difference * difference
            if distance < least:
                best, least = c, distance
        nearest[i] = best
        cuda.atomic.add(own_counts, best, 1)
        for d in range(DIMENSIONS):
            cuda.atomic.add(own_sums, (best, d), points[i, d])
    cuda.syncthreads()
    for c in range(t, CENTRES, cuda.blockDim.x):
        cuda.atomic.add(counts, c, own_counts[c])
        for d in range(DIMENSIONS):
            cuda.atomic.add(sums, (c, d), own_sums[c, d])


@cuda.jit
def move_centres(centres, sums, counts):
    """Move each centre to the mean of its members, if it has any."""
    c, d = cuda.threadIdx.x, cuda.threadIdx.y
    if c < centres.shape[0] and counts[c] > 0:
        centres[c, d] = sums[c, d] / counts[c]


def cluster(points: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres after `ITERATIONS` rounds, and each point's nearest centre in the last of them."""
    centres, nearest = start.copy(), np.zeros(len(points), np.int32)
    groups = blocks_for(len(points), THREADS)
    for _ in range(ITERATIONS):
        sums, counts = np.zeros_like(centres), np.zeros(CENTRES, np.int32)
        assign_and_sum[groups, THREADS](points, centres, nearest, sums, counts)
        move_centres[1, (CENTRES, DIMENSIONS)](centres, sums, counts)
    return centres, nearest


def by_numpy(points: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same by NumPy."""
    centres = start.copy()
    nearest = np.zeros(len(points), np.int32)
    for _ in range(ITERATIONS):
        distances = ((points[:, None] - centres) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for c in range(CENTRES):
            if (nearest == c).any():
                centres[c] = points[nearest == c].mean(axis=0)
    return centres, nearest


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(13)
    middles = rng.random((CENTRES, DIMENSIONS)) * 100
    points = middles[rng.integers(0, CENTRES, size)] + rng.standard_normal((size, DIMENSIONS))
    start = middles + rng.standard_normal(middles.shape)
    centres, nearest = timed(f"k-means of {size} points", lambda: cluster(points, start))
    wanted_centres, wanted_nearest = by_numpy(points, start)
    agree("centres", centres, wanted_centres, rtol=1e-9)
    agree("nearest centres", nearest, wanted_nearest)


if __name__ == "__main__":
    main()
