"""Kernels whose threads go ways of their own: sparse rows, graphs, trees; more are in `examples.irregular`."""

from __future__ import annotations

import math

import numpy as np

from bench.suite import trees
from examples.irregular import barnes_hut, binary_tree
from examples.irregular.problem import Problem, blocks_for
from examples.workgroups.spmv import random_matrix
from weft import cuda
from weft.cuda.kernel import Kernel

LINE = 256
STACK = 32


@cuda.jit
def sparse_product(starts, columns, values, x, y):
    """Multiply one row of a sparse matrix, in compressed rows, by a vector."""
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@cuda.jit
def search_level(starts, neighbours, depths, changed, depth):
    """Find the neighbours of a vertex of this depth that nobody has found yet."""
    vertex = cuda.grid(1)
    if vertex < depths.size and depths[vertex] == depth:
        for k in range(starts[vertex], starts[vertex + 1]):
            other = neighbours[k]
            if depths[other] < 0:
                depths[other] = depth + 1
                changed[0] = 1


@cuda.jit
def find(labels, left, right, queries, found):
    """Find the node of a binary tree with the label asked for, -1 where there is none."""
    i = cuda.grid(1)
    if i < queries.size:
        wanted = queries[i]
        node = 0
        while labels[node] != wanted:
            node = left[node] if wanted < labels[node] else right[node]
            if node == 0:
                node = -1
                break
        found[i] = node


@cuda.jit
def vantage(points, radii, queries, distances):
    """Find the distance to the nearest point in a tree of vantage points."""
    i = cuda.grid(1)
    if i < distances.size:
        nodes = cuda.local.array(STACK, np.int32)
        gaps = cuda.local.array(STACK, points.dtype)
        best = points.dtype.type(3e38)
        gap = points.dtype.type(0)
        node = 0
        top = 0
        while True:
            if gap < best and node < points.shape[0]:
                squared = points.dtype.type(0)
                for d in range(points.shape[1]):
                    step = points[node, d] - queries[i, d]
                    squared += step * step
                distance = math.sqrt(squared)
                best = min(best, distance)
                beyond = distance - radii[node]
                near = 2 * node + 2 if beyond > 0 else 2 * node + 1
                nodes[top] = 4 * node + 3 - near
                gaps[top] = abs(beyond)
                top += 1
                node = near
                gap = points.dtype.type(0)
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top]
                gap = gaps[top]
        distances[i] = best


@cuda.jit
def multi_radius(points, lows, highs, queries, radii, counts):
    """Count the points within a radius of one's own; the threads of a lane group walk the tree together."""
    i = cuda.grid(1)
    if i < counts.size:
        stack = cuda.local.array(STACK, np.int32)
        limit = radii[i] * radii[i]
        found = 0
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            outside = points.dtype.type(0)
            for d in range(points.shape[1]):
                gap = max(lows[node, d] - queries[i, d], queries[i, d] - highs[node, d], points.dtype.type(0))
                outside += gap * gap
            if cuda.any_sync(cuda.activemask(), outside <= limit):
                squared = points.dtype.type(0)
                for d in range(points.shape[1]):
                    step = points[node, d] - queries[i, d]
                    squared += step * step
                if squared <= limit:
                    found += 1
                if 2 * node + 1 < points.shape[0]:
                    stack[top] = 2 * node + 1
                    stack[top + 1] = 2 * node + 2
                    top += 2
        counts[i] = found


def product(rows: int) -> Problem:
    """Return a random sparse matrix for `sparse_product`, with rows of very different lengths."""
    rng = np.random.default_rng(211)
    matrix, x = random_matrix(rows, rng), rng.standard_normal(rows)
    arguments = matrix.indptr, matrix.indices, matrix.data, x, np.zeros(rows)
    return Problem(
        sparse_product,
        arguments,
        blocks_for(rows, LINE),
        LINE,
        (4,),
        lambda: (matrix @ x,),
        rtol=1e-9,
        atol=1e-9,
    )


def network(vertices: int, degree: int) -> Problem:
    """Return a random graph for `search_level`, which is launched once for each depth."""
    from scipy import sparse
    from scipy.sparse import csgraph

    ends = np.random.default_rng(223).integers(0, vertices, (2, vertices * degree))
    ones = np.ones(ends.shape[1], np.int8)
    graph = sparse.csr_array((ones, (ends[0], ends[1])), shape=(vertices, vertices))
    depths = np.full(vertices, -1, np.int32)
    depths[0] = 0

    def expected() -> tuple[np.ndarray, ...]:
        found = csgraph.dijkstra(graph, indices=0, unweighted=True)
        return (np.where(np.isinf(found), -1, found),)

    edges = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    arguments = *edges, depths, np.zeros(1, np.int32)
    return Problem(search_level, arguments, blocks_for(vertices, LINE), LINE, (2,), expected)


def each_level(kernel: Kernel, problem: Problem) -> None:
    """Launch `search_level` until nobody finds anything."""
    changed = problem.arguments[3]
    configured = kernel[problem.grid, problem.block]
    changed[0], depth = 1, 0
    while changed[0]:
        changed[0] = 0
        configured(*problem.arguments, np.int32(depth))
        depth += 1


def members(size: int, queries: int, dtype: type[np.floating]) -> Problem:
    """Return a balanced tree for `find`, and queries of which half are in it."""
    rng = np.random.default_rng(227)
    elements = np.sort(rng.choice(2 * size, size, replace=False)).astype(dtype)
    labels, left, right = binary_tree.tree_of(elements)
    wanted = rng.choice(2 * size, queries).astype(dtype)

    def expected() -> tuple[np.ndarray, ...]:
        order = np.argsort(labels)
        place = np.minimum(np.searchsorted(labels[order], wanted), size - 1)
        return (np.where(labels[order][place] == wanted, order[place], -1),)

    arguments = labels, left, right, wanted, np.zeros(queries, np.int32)
    return Problem(find, arguments, blocks_for(queries, LINE), LINE, (4,), expected)


def _box(rng: np.random.Generator, count: int, dimensions: int, spread: float) -> np.ndarray:
    """Return random places, each 256 of them in a box of their own that takes this part of each axis."""
    corners = np.repeat(rng.random((-(-count // 256), dimensions)), 256, axis=0)[:count]
    return (1 - spread) * corners + spread * rng.random((count, dimensions))


def nearest_of(
    size: int, queries: int, dimensions: int, dtype: type[np.floating], spread: float = 0.1
) -> Problem:
    """Return a tree for `vantage`, and queries that are spread out like Moll's (2021, §13.1)."""
    rng = np.random.default_rng(229)
    points, radii = trees.vantage_heap(rng.random((size, dimensions)).astype(dtype))
    wanted = _box(rng, queries, dimensions, spread).astype(dtype)

    def expected() -> tuple[np.ndarray, ...]:
        from scipy.spatial import cKDTree

        return (cKDTree(points).query(wanted)[0],)

    arguments = points, radii, wanted, np.zeros(queries, dtype)
    return Problem(vantage, arguments, blocks_for(queries, LINE), LINE, (3,), expected, 1e-4, 1e-6)


def neighbourhoods(
    size: int, queries: int, dimensions: int, dtype: type[np.floating], reach: float, spread: float = 0.1
) -> Problem:
    """Return a tree for `multi_radius`; radii are up to `reach`."""
    rng = np.random.default_rng(233)
    points, lows, highs = trees.boxed_heap(rng.random((size, dimensions)).astype(dtype))
    wanted = _box(rng, queries, dimensions, spread).astype(dtype)
    radii = (reach * rng.random(queries)).astype(dtype)

    def expected() -> tuple[np.ndarray, ...]:
        from scipy.spatial import cKDTree

        return (cKDTree(points).query_ball_point(wanted, radii, return_length=True),)

    arguments = points, lows, highs, wanted, radii, np.zeros(queries, np.int32)
    # A point on the sphere counts or not, as rounding has it.
    return Problem(multi_radius, arguments, blocks_for(queries, LINE), LINE, (5,), expected, atol=1)


def attraction(bodies: int, dtype: type[np.floating]) -> Problem:
    """Return a galaxy for the kernel of `examples.irregular.barnes_hut`."""
    (problem,) = barnes_hut.problems(bodies)
    arguments = tuple(a.astype(dtype) if a.dtype == np.float32 else a for a in problem.arguments)
    return Problem(
        problem.kernel,
        arguments,
        problem.grid,
        problem.block,
        problem.outputs,
        problem.expected,
        problem.rtol,
        problem.atol,
    )
