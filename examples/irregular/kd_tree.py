"""A kd-tree of points in the plane: nearest neighbour with a stack a thread or one for all, and correlation.

The tree is a heap: children of node `i` are `2 i + 1` and `2 i + 2`, levels split along x and y in turn, so no
pointers are loaded. The threads of a lane group may share a traversal (Moll 2021, §13.1): a node is visited when
any of them wants it, and the stack stays uniform.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 4_000
THREADS = 256
STACK = 32
FAR = np.float32(3e38)


@cuda.jit
def nearest(points, queries, distances):
    """Find the squared distance to the nearest point; each thread walks the tree by itself."""
    i = cuda.grid(1)
    if i < distances.size:
        count = np.int32(points.shape[0])
        nodes = cuda.local.array(STACK, np.int32)
        gaps = cuda.local.array(STACK, np.float32)
        x = queries[i, 0]
        y = queries[i, 1]
        best = FAR
        top = np.int32(0)
        # Twice the node, plus the axis along which it splits.
        node = np.int32(0)
        gap = np.float32(0)
        while True:
            if gap < best and node < 2 * count:
                place = node >> 1
                dx = x - points[place, 0]
                dy = y - points[place, 1]
                best = min(best, dx * dx + dy * dy)
                delta = dy if node & 1 else dx
                left = 4 * place + 2 + ((node & 1) ^ 1)
                right = left + 2
                nodes[top] = left if delta > 0 else right
                gaps[top] = delta * delta
                top += 1
                node = right if delta > 0 else left
                gap = np.float32(0)
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top]
                gap = gaps[top]
        distances[i] = best


@cuda.jit
def nearest_together(points, queries, distances):
    """Find the same; the threads of a lane group walk the tree together, each with gaps of its own."""
    i = cuda.grid(1)
    if i < distances.size:
        count = points.shape[0]
        nodes = cuda.local.array(STACK, np.int32)
        gaps = cuda.local.array(STACK, np.float32)
        x = queries[i, 0]
        y = queries[i, 1]
        best = FAR
        # As above, twice the node plus the axis.
        nodes[0] = 0
        gaps[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = nodes[top]
            gap = gaps[top]
            if cuda.any_sync(cuda.activemask(), gap < best):
                place = node >> 1
                dx = x - points[place, 0]
                dy = y - points[place, 1]
                best = min(best, dx * dx + dy * dy)
                left = 4 * place + 2 + ((node & 1) ^ 1)
                if left < 2 * count:
                    delta = dy if node & 1 else dx
                    beyond = max(gap, delta * delta)
                    left_gap = beyond if delta > 0 else gap
                    right_gap = gap if delta > 0 else beyond
                    # The side on which more threads are is visited first.
                    votes = cuda.popc(cuda.ballot_sync(cuda.activemask(), delta > 0))
                    if 2 * votes > cuda.popc(cuda.activemask()):
                        nodes[top] = left
                        gaps[top] = left_gap
                        nodes[top + 1] = left + 2
                        gaps[top + 1] = right_gap
                    else:
                        nodes[top] = left + 2
                        gaps[top] = right_gap
                        nodes[top + 1] = left
                        gaps[top + 1] = left_gap
                    top += 2
        distances[i] = best


@cuda.jit
def correlation(points, boxes, queries, radius, counts):
    """Count the points within a radius of each query; the threads of a lane group walk the tree together."""
    i = cuda.grid(1)
    if i < counts.size:
        count = points.shape[0]
        stack = cuda.local.array(STACK, np.int32)
        x = queries[i, 0]
        y = queries[i, 1]
        limit = radius * radius
        found = np.int32(0)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            ox = max(boxes[node, 0] - x, x - boxes[node, 1], np.float32(0))
            oy = max(boxes[node, 2] - y, y - boxes[node, 3], np.float32(0))
            if cuda.any_sync(cuda.activemask(), ox * ox + oy * oy <= limit):
                dx = x - points[node, 0]
                dy = y - points[node, 1]
                if dx * dx + dy * dy <= limit:
                    found += 1
                left = 2 * node + 1
                if left < count:
                    stack[top] = left
                    stack[top + 1] = left + 1
                    top += 2
        counts[i] = found


def heap_of(points: np.ndarray) -> np.ndarray:
    """Return `2**k - 1` points in the order of the tree's nodes."""
    levels, segments, axis = [], points[None], 0
    while segments.shape[1]:
        order = np.argsort(segments[:, :, axis], axis=1, kind="stable")
        segments = np.take_along_axis(segments, order[:, :, None], axis=1)
        middle = segments.shape[1] // 2
        levels.append(segments[:, middle])
        halves = segments[:, :middle], segments[:, middle + 1 :]
        segments = np.stack(halves, axis=1).reshape(2 * len(segments), middle, points.shape[1])
        axis ^= 1
    return np.concatenate(levels)


def boxes_of(heap: np.ndarray) -> np.ndarray:
    """Return for each node the bounds of its subtree (least and greatest x, then y), and the axis it splits."""
    boxes = np.zeros((len(heap), 5), np.float32)
    boxes[:, 0:4] = heap[:, [0, 0, 1, 1]]
    depth = len(heap).bit_length() - 1
    for level in range(depth, -1, -1):
        nodes = np.arange(2**level - 1, min(2 ** (level + 1) - 1, len(heap)))
        boxes[nodes, 4] = level % 2
        if level < depth:
            for child in (2 * nodes + 1, 2 * nodes + 2):
                inside = child < len(heap)
                here, below = nodes[inside], child[inside]
                for column, choose in ((0, np.minimum), (1, np.maximum), (2, np.minimum), (3, np.maximum)):
                    boxes[here, column] = choose(boxes[here, column], boxes[below, column])
    return boxes


def sorted_along_curve(points: np.ndarray) -> np.ndarray:
    """Return points of the unit square along a Z-order curve, so that neighbours in the array are near."""
    key = np.zeros(len(points), np.uint64)
    x, y = (np.minimum(points * 65536, 65535)).astype(np.uint64).T
    for bit in range(16):
        key |= (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1)
    return np.ascontiguousarray(points[np.argsort(key, kind="stable")])


def tree_and_queries(size: int, queries: int, *, in_order: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest full tree of up to `size` random points, and random queries."""
    rng = np.random.default_rng(3)
    heap = heap_of(rng.random(((1 << (size + 1).bit_length() - 1) - 1, 2), dtype=np.float32))
    wanted = rng.random((queries, 2), dtype=np.float32)
    return heap, sorted_along_curve(wanted) if in_order else wanted


def nearest_by_scipy(heap: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray]:
    return (np.square(cKDTree(heap).query(queries)[0]).astype(np.float32),)


def neighbours(size: int, queries: int, *, in_order: bool, together: bool) -> Problem:
    """Return a search for nearest neighbours."""
    heap, wanted = tree_and_queries(size, queries, in_order=in_order)
    distances = np.zeros(queries, np.float32)
    return Problem(
        nearest_together if together else nearest,
        (heap, wanted, distances),
        blocks_for(queries, THREADS),
        THREADS,
        (2,),
        lambda: nearest_by_scipy(heap, wanted),
        rtol=1e-4,
        atol=1e-12,
    )


def pairs(size: int, queries: int, radius: float) -> Problem:
    """Return a count of the points near each query."""
    heap, wanted = tree_and_queries(size, queries, in_order=True)
    near = np.float32(radius)

    def expected() -> tuple[np.ndarray]:
        return (cKDTree(heap).query_ball_point(wanted, near, return_length=True),)

    return Problem(
        correlation,
        (heap, boxes_of(heap), wanted, near, np.zeros(queries, np.int32)),
        blocks_for(queries, THREADS),
        THREADS,
        (4,),
        expected,
        # A point on the circle counts or not, as rounding has it.
        atol=1,
    )


def problems(size: int = SIZE) -> list[Problem]:
    return [
        neighbours(size, size, in_order=False, together=False),
        neighbours(size, size, in_order=True, together=True),
        pairs(size, size, 0.05),
    ]
