"""Threads that walk trees by stacks of their own walk together: the machine code of loops, kernels and C."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from bench.suite.loops_irregular import multi_radius
from weft import cuda, prange
from weft.codegen.order import walks
from weft.diag.remarks import Remark, RemarkKind
from weft.machine.host import chosen

STACK = 24
NODES = 63


def tree(dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Points by the nodes of a heap, and for each node the radius of a circle around those below it."""
    rng = np.random.default_rng(7)
    points = rng.random((NODES, 2)).astype(dtype)
    radii = np.array([0.1 + 2.0 / (2 + math.log2(n + 1) ** 2) for n in range(NODES)]).astype(dtype)
    return points, radii


def queries(count: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(9).random((count, 2)).astype(dtype)


def count_near(points, radii, queries, reach, sums):
    for i in prange(sums.size):
        stack = np.empty(STACK, np.int32)
        x = queries[i, 0]
        y = queries[i, 1]
        total = points.dtype.type(0)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            dx = points[node, 0] - x
            dy = points[node, 1] - y
            squared = dx * dx + dy * dy
            if squared <= reach * reach:
                total = total * points.dtype.type(0.75) + squared
            if squared <= radii[node] and 2 * node + 2 < points.shape[0]:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node + 2
                top += 2
        sums[i] = total


def count_near_by_kernel(points, radii, queries, reach, sums):
    i = cuda.grid(1)
    if i < sums.size:
        stack = cuda.local.array(STACK, np.int32)
        x = queries[i, 0]
        y = queries[i, 1]
        total = np.float32(0)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            dx = points[node, 0] - x
            dy = points[node, 1] - y
            squared = dx * dx + dy * dy
            if squared <= reach * reach:
                total = total * np.float32(0.75) + squared
            if squared <= radii[node] and 2 * node + 2 < points.shape[0]:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node + 2
                top += 2
        sums[i] = total


def meeting_kernel(points, radii, queries, reach, sums):
    i = cuda.grid(1)
    near = cuda.shared.array(64, np.float32)
    near[cuda.threadIdx.x] = reach
    cuda.syncthreads()
    reach = near[63 - cuda.threadIdx.x]
    total = np.float32(0)
    if i < sums.size:
        stack = cuda.local.array(STACK, np.int32)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            dx = points[node, 0] - queries[i, 0]
            squared = dx * dx
            if squared <= reach:
                total = total * np.float32(0.75) + squared
            if squared <= radii[node] and 2 * node + 2 < points.shape[0]:
                for child in range(2):
                    stack[top] = 2 * node + 1 + child
                    top += 1
    near[cuda.threadIdx.x] = total
    cuda.syncthreads()
    if i < sums.size:
        sums[i] = near[cuda.threadIdx.x]


def flat_kernel(points, radii, queries, reach, sums):
    x, y = cuda.grid(2)
    if x < sums.shape[1] and y < sums.shape[0]:
        stack = cuda.local.array(STACK, np.int32)
        total = np.float32(0)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            dx = points[node, 0] - queries[x, 0]
            dy = points[node, 1] - queries[y, 1]
            squared = dx * dx + dy * dy
            if squared <= reach:
                total = total * np.float32(0.75) + squared
            if squared <= radii[node] and 2 * node + 2 < points.shape[0]:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node + 2
                top += 2
        sums[y, x] = total


WITH_AND_WITHOUT: tuple[dict[str, Any], ...] = ({}, {"without": ("shared-stacks",)})


def walks_together(remarks: list[Remark]) -> bool:
    return any(r.kind is RemarkKind.TRANSFORM and "walk by one stack" in r.message for r in remarks)


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loops(width: int | None, dtype: type):
    options: dict[str, Any] = {} if width is None else {"width": width}
    points, radii = tree(dtype)
    wanted = queries(21, dtype)
    results = []
    for more in WITH_AND_WITHOUT:
        function = weft.jit(**options, **more)(count_near)
        sums = np.zeros(21, dtype)
        function(points, radii, wanted, dtype(0.4), sums)
        results.append(sums)
        assert walks_together(function.remarks) == (not more)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(("dimensions", "radius"), [(2, 0.1), (9, 0.7), (40, 2.3)])
def test_walks_along_rows(dimensions: int, radius: float) -> None:
    rng = np.random.default_rng(3)
    points, wanted = rng.random((NODES, dimensions)), rng.random((19, dimensions))
    lows, highs = points.copy(), points.copy()
    for node in reversed(range((NODES - 1) // 2)):
        for child in (2 * node + 1, 2 * node + 2):
            lows[node] = np.minimum(lows[node], lows[child])
            highs[node] = np.maximum(highs[node], highs[child])
    near = ((points[None] - wanted[:, None]) ** 2).sum(axis=2) <= radius * radius
    for options in ({}, {"width": 4}):
        counts = np.zeros(19, np.int32)
        function = weft.jit(**options)(multi_radius)
        # Behind the first call it is known how short rows are.
        for _ in range(2):
            function(points, lows, highs, wanted, np.full(19, radius), counts)
            np.testing.assert_array_equal(counts, near.sum(axis=1))
    assert 0 < counts.sum() < counts.size * NODES


@pytest.mark.skipif(chosen().isa.vector_bits < 256, reason="two doubles at a time gain nothing")
def test_walks_along_rows_that_may_lose_a_little_are_tried() -> None:
    # The model expects 1.18 times as long as one after the other on AVX2, be nearly all visits the same.
    function = weft.jit(multi_radius)
    boxes = np.zeros((3, 9))
    function(boxes, boxes, boxes, np.zeros((2, 9)), np.zeros(2), np.zeros(2, np.int32))
    assert walks_together(function.remarks)
    assert any("calls try both" in remark.message for remark in function.remarks)


def count_in_boxes(points, lows, highs, counts):
    for i in prange(counts.size):
        stack = np.empty(STACK, np.int32)
        counts[i] = boxed(points, lows, highs, i, stack)


def count_in_boxes_by_kernel(points, lows, highs, counts):
    i = cuda.grid(1)
    if i < counts.size:
        stack = cuda.local.array(STACK, np.int32)
        counts[i] = boxed(points, lows, highs, i, stack)


@cuda.jit(device=True)
def boxed(points, lows, highs, i, stack):
    """Points of a kd-tree in a box, whose halves are told apart by one coordinate of a node."""
    total = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        code = stack[top]
        node = code >> 1
        axis = code & 1
        x = points[node, 0]
        y = points[node, 1]
        if lows[i, 0] <= x <= highs[i, 0] and lows[i, 1] <= y <= highs[i, 1]:
            total += 1
        along = y if axis else x
        if (lows[i, 1] if axis else lows[i, 0]) <= along and 2 * node + 1 < points.shape[0]:
            stack[top] = ((2 * node + 1) << 1) | (1 - axis)
            top += 1
        if (highs[i, 1] if axis else highs[i, 0]) >= along and 2 * node + 2 < points.shape[0]:
            stack[top] = ((2 * node + 2) << 1) | (1 - axis)
            top += 1
    return total


def kd_tree(count: int) -> np.ndarray:
    points = np.random.default_rng(4).random((count, 2))
    nodes = np.zeros_like(points)
    parts = [(np.arange(count), 0, 0)]
    while parts:
        some, node, axis = parts.pop()
        if len(some):
            some = some[np.argsort(points[some, axis])]
            middle = len(some) // 2
            nodes[node] = points[some[middle]]
            parts += [(some[:middle], 2 * node + 1, 1 - axis), (some[middle + 1 :], 2 * node + 2, 1 - axis)]
    return nodes


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("in_loop", [True, False])
def test_lanes_that_walk_by_their_own_stacks_are_tried(
    own: bool, in_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "OWN_STACKS", 99.0 if own else 0.0)
    monkeypatch.setenv("WEFT_CACHE", "0")
    points, centres = kd_tree(2047), np.random.default_rng(5).random((1003, 2))
    lows, highs = centres - 0.05, centres + 0.05
    wanted = ((points >= lows[:, None]) & (points <= highs[:, None])).all(axis=2).sum(axis=1)
    function = weft.jit(count_in_boxes) if in_loop else cuda.jit(count_in_boxes_by_kernel)
    launched = function if in_loop else function[8, 128]
    # The first calls try both ways by turns.
    for _ in range(40):
        counts = np.zeros(len(lows), np.int32)
        launched(points, lows, highs, counts)
        np.testing.assert_array_equal(counts, wanted)
    assert any("each walk by a stack of its own, too" in r.message for r in function.remarks) == own


@pytest.mark.skipif(not chosen().isa.mask_registers, reason="of doubles on AVX2 threads alone are as fast")
def test_lanes_with_their_own_stacks_are_tried_where_they_may_gain() -> None:
    function = weft.jit(count_in_boxes)
    function(kd_tree(7), np.zeros((3, 2)), np.ones((3, 2)), np.zeros(3, np.int32))
    assert any("each walk by a stack of its own, too" in r.message for r in function.remarks)


@pytest.mark.parametrize(
    ("kernel", "shape", "grid", "block"),
    [
        (count_near_by_kernel, (50,), 1, 64),
        (meeting_kernel, (50,), 1, 64),
        (flat_kernel, (7, 6), (2, 1), (4, 8)),
    ],
)
def test_kernels(kernel: Callable[..., None], shape: tuple[int, ...], grid: Any, block: Any):
    points, radii = tree()
    results = []
    for more in WITH_AND_WITHOUT:
        sums = np.zeros(shape, np.float32)
        compiled = cuda.jit(**more)(kernel)
        compiled[grid, block](points, radii, queries(50), np.float32(0.4), sums)
        results.append(sums)
    np.testing.assert_array_equal(*results)
    assert np.count_nonzero(results[0]) > 5
