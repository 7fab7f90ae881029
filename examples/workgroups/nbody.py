"""Gravitational n-body step by tiles: a group loads as many bodies as it has threads, and each thread sums."""

from __future__ import annotations

import math

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 8192
THREADS = 256
SOFTENING = np.float32(0.01)


@cuda.jit
def accelerations(bodies, result):
    """Sum the pull of all bodies (x, y, z, mass) on one body a thread."""
    tile = cuda.shared.array((THREADS, 4), dtype=np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    count = bodies.shape[0]
    mine = min(i, count - 1)
    x, y, z = bodies[mine, 0], bodies[mine, 1], bodies[mine, 2]
    ax = np.float32(0)
    ay = np.float32(0)
    az = np.float32(0)
    for start in range(0, count, THREADS):
        for k in range(4):
            # A body beyond the last has no mass.
            tile[t, k] = bodies[start + t, k] if start + t < count else np.float32(0)
        cuda.syncthreads()
        for k in range(THREADS):
            dx = tile[k, 0] - x
            dy = tile[k, 1] - y
            dz = tile[k, 2] - z
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            inverse = 1 / math.sqrt(squared)
            pull = tile[k, 3] * inverse * inverse * inverse
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        cuda.syncthreads()
    if i < count:
        result[i, 0] = ax
        result[i, 1] = ay
        result[i, 2] = az


def pull_of_all(bodies: np.ndarray) -> np.ndarray:
    """Return the acceleration of each body; `bodies` is a float32 array of (x, y, z, mass)."""
    result = np.zeros((len(bodies), 3), np.float32)
    accelerations[blocks_for(len(bodies), THREADS), THREADS](bodies, result)
    return result


def by_numpy(bodies: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return the accelerations of some of the bodies in float64."""
    position, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    result = np.empty((len(which), 3))
    for row, body in enumerate(which):
        difference = position - position[body]
        squared = (difference**2).sum(axis=1) + float(SOFTENING)
        result[row] = (difference * (mass / squared**1.5)[:, None]).sum(axis=0)
    return result


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(9)
    bodies = rng.random((size, 4), dtype=np.float32)
    result = timed(f"n-body step of {size} bodies", lambda: pull_of_all(bodies))
    which = rng.choice(size, min(size, 200), replace=False)
    wanted = by_numpy(bodies, which)
    agree("acceleration", result[which], wanted, atol=1e-4 * np.abs(wanted).max())


if __name__ == "__main__":
    main()
