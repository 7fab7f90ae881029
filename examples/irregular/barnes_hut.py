"""Barnes and Hut's n-body forces: the threads of a lane group walk one octree with one stack.

A cell that is far enough from every thread acts through its centre of mass; otherwise its children are visited. So
a thread may see more of the tree than it had to, and never less (Moll 2021, §13.1).
"""

from __future__ import annotations

import math

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 500
THREADS = 128
STACK = 256
OPENING = 0.5
"""A cell is opened when its size is more than this fraction of its distance."""
SOFTENING = 1e-4


@cuda.jit
def accelerations(centres, masses, sizes, children, positions, opening, softening, result):
    """Compute the acceleration of one body."""
    i = cuda.grid(1)
    if i < positions.shape[0]:
        stack = cuda.local.array(STACK, np.int32)
        stack[0] = 0
        top = 1
        x = positions[i, 0]
        y = positions[i, 1]
        z = positions[i, 2]
        ax = np.float32(0)
        ay = np.float32(0)
        az = np.float32(0)
        while top > 0:
            top -= 1
            cell = stack[top]
            dx = centres[cell, 0] - x
            dy = centres[cell, 1] - y
            dz = centres[cell, 2] - z
            squared = dx * dx + dy * dy + dz * dz + softening
            size = sizes[cell]
            if cuda.any_sync(cuda.activemask(), size * size > opening * opening * squared):
                for child in range(8):
                    below = children[cell, child]
                    if below > 0:
                        stack[top] = below
                        top += 1
            else:
                pull = masses[cell] / (squared * math.sqrt(squared))
                ax += pull * dx
                ay += pull * dy
                az += pull * dz
        result[i, 0] = ax
        result[i, 1] = ay
        result[i, 2] = az


class Octree:
    """Cells of a cube, the root first; a leaf holds one body and has size 0."""

    def __init__(self, positions: np.ndarray, masses: np.ndarray) -> None:
        self.centres: list[np.ndarray] = []
        self.masses: list[float] = []
        self.sizes: list[float] = []
        self.children: list[list[int]] = []
        low = positions.min(axis=0)
        self._add(positions, masses, low, float((positions.max(axis=0) - low).max()) * 1.001)

    def _add(self, positions: np.ndarray, masses: np.ndarray, low: np.ndarray, size: float) -> int:
        cell = len(self.masses)
        total = float(masses.sum())
        self.centres.append(masses @ positions / total)
        self.masses.append(total)
        self.sizes.append(size if len(masses) > 1 else 0.0)
        self.children.append([0] * 8)
        if len(masses) > 1:
            upper = positions >= low + size / 2
            octants = upper @ np.array([1, 2, 4])
            for octant in range(8):
                here = octants == octant
                if here.any():
                    corner = low + size / 2 * np.array([octant & 1, octant >> 1 & 1, octant >> 2])
                    self.children[cell][octant] = self._add(positions[here], masses[here], corner, size / 2)
        return cell

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return centres, masses, sizes and children as arrays by cell."""
        floats = (np.array(part, np.float32) for part in (self.centres, self.masses, self.sizes))
        return (*floats, np.array(self.children, np.int32))


def by_numpy(positions: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the accelerations from all pairs, in double precision."""
    steps = positions - positions[:, None]
    squared = np.square(steps).sum(axis=2) + SOFTENING
    return np.einsum("ij,ijk->ik", masses / squared**1.5, steps)


def problems(size: int = SIZE) -> list[Problem]:
    rng = np.random.default_rng(23)
    positions, masses = rng.normal(size=(size, 3)), rng.uniform(0.5, 1.5, size) / size
    # Neighbours in the array are neighbours in space, so that a lane group agrees on most cells.
    positions = positions[np.lexsort(np.floor(2 * positions).T)]
    tree = Octree(positions, masses).arrays()
    numbers = np.float32(OPENING), np.float32(SOFTENING)
    arguments = *tree, positions.astype(np.float32), *numbers, np.zeros((size, 3), np.float32)
    wanted = by_numpy(positions, masses)
    return [
        Problem(
            accelerations,
            arguments,
            blocks_for(size, THREADS),
            THREADS,
            (7,),
            lambda: (wanted,),
            # The method's own error, as a fraction of the largest acceleration.
            atol=0.02 * float(np.abs(wanted).max()),
        )
    ]
