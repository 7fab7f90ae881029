"""Trees of points, as heaps: the children of node `i` are `2 i + 1` and `2 i + 2`, and every level is full."""

from __future__ import annotations

import numpy as np


def _full(points: np.ndarray) -> np.ndarray:
    """Return as many of the points as fill a tree."""
    return points[: (1 << (len(points) + 1).bit_length() - 1) - 1]


def vantage_heap(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points in the order of a tree of vantage points, and the radius within which the first child is."""
    segments, levels, radii = _full(points)[None], [], []
    while segments.shape[1] > 1:
        centres, others = segments[:, 0], segments[:, 1:]
        distances = np.linalg.norm(others - centres[:, None], axis=2)
        order = np.argsort(distances, axis=1, kind="stable")
        middle = others.shape[1] // 2
        radii.append(np.take_along_axis(distances, order[:, middle - 1 : middle], axis=1)[:, 0])
        others = np.take_along_axis(others, order[:, :, None], axis=1)
        levels.append(centres)
        halves = others[:, :middle], others[:, middle:]
        segments = np.stack(halves, axis=1).reshape(2 * len(segments), middle, points.shape[1])
    levels.append(segments[:, 0])
    radii.append(np.zeros(len(segments), points.dtype))
    return np.concatenate(levels), np.concatenate(radii)


def boxed_heap(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points in the order of a kd-tree, and the least and greatest coordinates below each node."""
    segments, levels, lows, highs, axis = _full(points)[None], [], [], [], 0
    while segments.shape[1]:
        lows.append(segments.min(axis=1))
        highs.append(segments.max(axis=1))
        order = np.argsort(segments[:, :, axis], axis=1, kind="stable")
        segments = np.take_along_axis(segments, order[:, :, None], axis=1)
        middle = segments.shape[1] // 2
        levels.append(segments[:, middle])
        halves = segments[:, :middle], segments[:, middle + 1 :]
        segments = np.stack(halves, axis=1).reshape(2 * len(segments), middle, points.shape[1])
        axis = (axis + 1) % points.shape[1]
    return np.concatenate(levels), np.concatenate(lows), np.concatenate(highs)
