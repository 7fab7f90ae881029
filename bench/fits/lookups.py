"""Programs whose threads look up where to go on: in trees, in tables of states, in tables by hash, in sparse rows."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bench.fits.program import Arguments, Program, numbers
from weft import cuda

QUERIES = 1 << 13


@cuda.jit
def range_counts(keys, low, high, result):
    """Count the keys of a sorted array between two bounds by a walk of the tree that it is, with a stack."""
    i = cuda.grid(1)
    if i < low.size:
        begins = cuda.local.array(32, np.int32)
        ends = cuda.local.array(32, np.int32)
        begins[0] = 0
        ends[0] = keys.size
        top = 1
        count = 0
        while top > 0:
            top -= 1
            begin = begins[top]
            end = ends[top]
            if end <= begin:
                continue
            middle = (begin + end) // 2
            key = keys[middle]
            if low[i] <= key and key < high[i]:
                count += 1
            if low[i] <= key:
                begins[top] = begin
                ends[top] = middle
                top += 1
            if key < high[i]:
                begins[top] = middle + 1
                ends[top] = end
                top += 1
        result[i] = count


@cuda.jit
def least_gaps(splits, left, right, queries, result):
    """Walk down a tree of nodes that lie anywhere; the least distance on the way."""
    i = cuda.grid(1)
    if i < queries.size:
        x = queries[i]
        best = np.float32(2)
        node = 0
        while node >= 0:
            split = splits[node]
            gap = abs(split - x)
            if gap < best:
                best = gap
            node = left[node] if x < split else right[node]
        result[i] = best


@cuda.jit
def final_states(begins, letters, table, result):
    """Run an automaton over words of different lengths."""
    i = cuda.grid(1)
    if i < result.size:
        state = 0
        for k in range(begins[i], begins[i + 1]):
            state = table[state, letters[k]]
        result[i] = state


@cuda.jit
def found_values(keys, values, wanted, result):
    """Look keys up in a table by hash, going on to the next place while another key is there."""
    i = cuda.grid(1)
    if i < wanted.size:
        key = wanted[i]
        mask = np.uint32(keys.size - 1)
        place = (key * np.uint32(2654435761)) & mask
        while keys[place] != key and keys[place] != np.uint32(0):
            place = (place + np.uint32(1)) & mask
        result[i] = values[place] if keys[place] == key else np.float32(-1)


@cuda.jit
def sparse_sums(begins, columns, weights, vector, result):
    """Multiply the rows of a sparse matrix by a vector."""
    i = cuda.grid(1)
    if i < result.size:
        total = np.float32(0)
        for k in range(begins[i], begins[i + 1]):
            total += weights[k] * vector[columns[k]]
        result[i] = total


@cuda.jit
def nearest_points(x, y, z, radii, queries, result):
    """Find the distance to the nearest point in a tree of balls in balls, nearer ones first, with a stack."""
    i = cuda.grid(1)
    if i < result.size:
        waiting = cuda.local.array(32, np.int32)
        waiting[0] = 0
        top = 1
        leaves = x.size // 2
        best = np.float32(4)
        while top > 0:
            top -= 1
            ball = waiting[top]
            dx, dy, dz = x[ball] - queries[i, 0], y[ball] - queries[i, 1], z[ball] - queries[i, 2]
            gap = math.sqrt(dx * dx + dy * dy + dz * dz) - radii[ball]
            if gap < best:
                if ball >= leaves:
                    best = gap
                else:
                    near = 2 * ball + 1
                    far = near + 1
                    ax, ay, az = x[near] - queries[i, 0], y[near] - queries[i, 1], z[near] - queries[i, 2]
                    bx, by, bz = x[far] - queries[i, 0], y[far] - queries[i, 1], z[far] - queries[i, 2]
                    if bx * bx + by * by + bz * bz < ax * ax + ay * ay + az * az:
                        near, far = far, near
                    waiting[top] = far
                    waiting[top + 1] = near
                    top += 2
        result[i] = best


def _ranges(size: int, ordered: bool) -> Arguments:
    rng = numbers()
    low = rng.random(QUERIES, np.float32)
    low = np.sort(low) if ordered else low
    return np.sort(rng.random(size, np.float32)), low, low + np.float32(8 / size), np.zeros(QUERIES, np.int32)


def _tree(size: int, ordered: bool) -> Arguments:
    rng = numbers()
    keys, places = np.sort(rng.random(size, np.float32)), rng.permutation(size).astype(np.int32)
    places[places == 0], places[size // 2] = places[size // 2], 0
    splits = np.zeros(size, np.float32)
    left, right = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    work = [(0, size)]
    while work:
        begin, end = work.pop()
        middle = (begin + end) // 2
        node = places[middle]
        splits[node] = keys[middle]
        for side, part in ((left, (begin, middle)), (right, (middle + 1, end))):
            if part[0] < part[1]:
                side[node] = places[(part[0] + part[1]) // 2]
                work.append(part)
    queries = rng.random(QUERIES, np.float32)
    return splits, left, right, np.sort(queries) if ordered else queries, np.zeros(QUERIES, np.float32)


def _balls(size: int, ordered: bool) -> Arguments:
    rng = numbers()
    points = rng.random((size, 3), np.float32)
    places, radii = np.zeros((2 * size - 1, 3), np.float32), np.zeros(2 * size - 1, np.float32)
    work = [(0, points)]
    while work:
        ball, inside = work.pop()
        low, high = inside.min(axis=0), inside.max(axis=0)
        places[ball] = (low + high) / 2
        radii[ball] = np.sqrt(((inside - places[ball]) ** 2).sum(axis=1).max())
        if len(inside) > 1:
            inside = inside[np.argsort(inside[:, np.argmax(high - low)])]
            work += [(2 * ball + 1, inside[: len(inside) // 2]), (2 * ball + 2, inside[len(inside) // 2 :])]
    queries = rng.random((QUERIES, 3), np.float32)
    # Neighbours along a curve through all eighths of eighths of the cube.
    eighths = (queries * 8).astype(np.int32)
    order = sum(((eighths[:, a] >> b) & 1) << (3 * b + a) for a in range(3) for b in range(3))
    queries = queries[np.argsort(order)] if ordered else queries
    x, y, z = (np.ascontiguousarray(places[:, a]) for a in range(3))
    return x, y, z, radii, queries, np.zeros(QUERIES, np.float32)


def _words(mean: int) -> Arguments:
    rng = numbers()
    begins = np.concatenate([[0], np.cumsum(rng.integers(mean // 2, 3 * mean // 2, QUERIES))]).astype(
        np.int32
    )
    letters = rng.integers(0, 64, int(begins[-1]), np.uint8)
    return begins, letters, rng.integers(0, 32, (32, 64), np.uint8), np.zeros(QUERIES, np.uint8)


def _hashed(size: int, load: float) -> Arguments:
    rng = numbers()
    inserted = np.unique(rng.integers(1, 1 << 31, int(size * load), np.uint32))
    keys, values = np.zeros(size, np.uint32), rng.random(size, np.float32)
    for key in inserted.tolist():
        place = key * 2654435761 % (1 << 32) % size
        while keys[place]:
            place = (place + 1) % size
        keys[place] = key
    wanted = rng.choice(inserted, QUERIES)
    return keys, values, wanted, np.zeros(QUERIES, np.float32)


def _sparse(size: int, most: int) -> Arguments:
    rng = numbers()
    begins = np.concatenate([[0], np.cumsum(rng.integers(0, most, QUERIES))]).astype(np.int32)
    columns = rng.integers(0, size, int(begins[-1]), np.int32)
    return (
        begins,
        columns,
        rng.random(columns.size, np.float32),
        rng.random(size, np.float32),
        np.zeros(QUERIES, np.float32),
    )


PROGRAMS = (
    Program(range_counts, *(partial(_ranges, size, o) for size in (1 << 12, 1 << 20) for o in (False, True))),
    Program(least_gaps, *(partial(_tree, size, o) for size in (1 << 10, 1 << 17) for o in (False, True))),
    Program(
        nearest_points,
        *(partial(_balls, size, o) for size in (1 << 10, 1 << 15) for o in (False, True)),
        threads=QUERIES,
        tolerance=1e-5,
    ),
    Program(final_states, partial(_words, 8), partial(_words, 60)),
    Program(found_values, partial(_hashed, 1 << 12, 0.7), partial(_hashed, 1 << 18, 0.9)),
    Program(sparse_sums, partial(_sparse, 1 << 12, 20), partial(_sparse, 1 << 21, 60)),
)
"""The trees, with queries in any order and in the order of the keys, are what the data decide most about."""
