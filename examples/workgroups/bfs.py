"""Breadth-first search by levels: each launch takes the vertices of one level from a queue and fills the next."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 50_000
THREADS = 128
DEGREE = 6


@cuda.jit
def expand(starts, neighbours, frontier, count, level, depths, following, filled):
    """Visit the neighbours of one frontier vertex a thread; the first to reach one queues it."""
    i = cuda.grid(1)
    if i < count:
        vertex = frontier[i]
        for k in range(starts[vertex], starts[vertex + 1]):
            other = neighbours[k]
            if cuda.atomic.cas(depths, other, -1, level) == -1:
                place = cuda.atomic.add(filled, 0, 1)
                following[place] = other


def depths_from(graph: sparse.csr_array, source: int) -> np.ndarray:
    """Return each vertex's distance in edges from `source`, -1 where there is no path."""
    vertices = graph.shape[0]
    depths = np.full(vertices, -1, np.int32)
    frontier, following = np.zeros(vertices, np.int32), np.zeros(vertices, np.int32)
    depths[source], frontier[0] = 0, source
    count, level = 1, 1
    while count:
        filled = np.zeros(1, np.int32)
        expand[blocks_for(count, THREADS), THREADS](
            graph.indptr, graph.indices, frontier, count, np.int32(level), depths, following, filled
        )
        frontier, following, count, level = following, frontier, int(filled[0]), level + 1
    return depths


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(12)
    ends = rng.integers(0, size, (2, size * DEGREE // 2))
    ones = np.ones(ends.shape[1], np.int8)
    graph = sparse.csr_array((ones, (ends[0], ends[1])), shape=(size, size))
    depths = timed(f"breadth-first search of {size} vertices", lambda: depths_from(graph, 0))
    wanted = csgraph.dijkstra(graph, indices=0, unweighted=True)
    agree("depths", depths, np.where(np.isinf(wanted), -1, wanted))


if __name__ == "__main__":
    main()
