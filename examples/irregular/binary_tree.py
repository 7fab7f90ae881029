"""Search of a binary tree in which the threads of a lane group share one stack (Moll 2021, Fig. 13.2)."""

from __future__ import annotations

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 4_000
THREADS = 256
STACK = 64


@cuda.jit
def search(labels, left, right, queries, found):
    """Find the node with the label asked for, -1 where there is none.

    A child is pushed when any thread still in the loop may find its label there: speculatively for the others.
    """
    i = cuda.grid(1)
    if i < queries.size:
        stack = cuda.local.array(STACK, np.int32)
        stack[0] = 0
        top = 1
        element = queries[i]
        result = -1
        while top > 0:
            top -= 1
            node = stack[top]
            label = labels[node]
            if label == element:
                result = node
                break
            searching = cuda.activemask()
            if cuda.any_sync(searching, element < label) and left[node] > 0:
                stack[top] = left[node]
                top += 1
            if cuda.any_sync(searching, label < element) and right[node] > 0:
                stack[top] = right[node]
                top += 1
        found[i] = result


def tree_of(sorted_labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels and children of a balanced tree, its nodes level by level from the root at 0."""
    levels, ranges, total = [], [(0, len(sorted_labels))], 0
    left, right = np.zeros((2, len(sorted_labels)), np.int32)
    while ranges:
        below = []
        following = total + len(ranges)
        for number, (low, high) in enumerate(ranges):
            middle = (low + high) // 2
            levels.append(middle)
            for child, part in ((left, (low, middle)), (right, (middle + 1, high))):
                if part[0] < part[1]:
                    child[total + number] = following + len(below)
                    below.append(part)
        ranges, total = below, following
    return sorted_labels[levels], left, right


def problems(size: int = SIZE) -> list[Problem]:
    rng = np.random.default_rng(13)
    elements = np.sort(rng.choice(10 * size, size, replace=False)).astype(np.float32)
    labels, left, right = tree_of(elements)
    queries = np.sort(rng.choice(10 * size, size)).astype(np.float32)

    def expected() -> tuple[np.ndarray]:
        order = np.argsort(labels)
        place = np.minimum(np.searchsorted(labels[order], queries), size - 1)
        return (np.where(labels[order][place] == queries, order[place], -1),)

    arguments = labels, left, right, queries, np.zeros(size, np.int32)
    return [Problem(search, arguments, blocks_for(size, THREADS), THREADS, (4,), expected)]
