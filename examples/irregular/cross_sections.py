"""XSBench's macroscopic cross sections: a search in the grid of each nuclide of a material, then interpolation.

The threads take different materials, so loops of different lengths, and each search ends in its own time (Romano
and others 2015; Moll 2021, §13.3).
"""

from __future__ import annotations

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 2_000
THREADS = 128
CHANNELS = 5
NUCLIDES = 24
MATERIALS = 8
POINTS = 256


@cuda.jit
def macroscopic(energies, channels, starts, nuclides, densities, wanted, materials, totals):
    """Sum the cross sections of a material's nuclides at one energy."""
    i = cuda.grid(1)
    if i < wanted.size:
        energy = wanted[i]
        material = materials[i]
        sums = cuda.local.array(CHANNELS, np.float64)
        for c in range(CHANNELS):
            sums[c] = 0
        for entry in range(starts[material], starts[material + 1]):
            nuclide = nuclides[entry]
            low = 0
            high = energies.shape[1] - 1
            while high - low > 1:
                middle = (low + high) // 2
                if energies[nuclide, middle] > energy:
                    high = middle
                else:
                    low = middle
            above = energies[nuclide, low + 1]
            fraction = (above - energy) / (above - energies[nuclide, low])
            for c in range(CHANNELS):
                upper = channels[nuclide, low + 1, c]
                value = upper - fraction * (upper - channels[nuclide, low, c])
                sums[c] += densities[entry] * value
        for c in range(CHANNELS):
            totals[i, c] = sums[c]


def by_numpy(energies, channels, starts, nuclides, densities, wanted, materials) -> np.ndarray:
    """Return the sums, one nuclide of one material at a time."""
    totals = np.zeros((wanted.size, CHANNELS))
    for material in range(starts.size - 1):
        here = materials == material
        energy = wanted[here]
        for entry in range(starts[material], starts[material + 1]):
            grid, values = energies[nuclides[entry]], channels[nuclides[entry]]
            low = np.clip(np.searchsorted(grid, energy, "right") - 1, 0, grid.size - 2)
            fraction = (grid[low + 1] - energy) / (grid[low + 1] - grid[low])
            upper = values[low + 1]
            totals[here] += densities[entry] * (upper - fraction[:, None] * (upper - values[low]))
    return totals


def problems(size: int = SIZE) -> list[Problem]:
    rng = np.random.default_rng(19)
    energies = np.sort(rng.random((NUCLIDES, POINTS)), axis=1)
    channels = rng.random((NUCLIDES, POINTS, CHANNELS))
    counts = rng.integers(1, NUCLIDES, MATERIALS)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    nuclides = np.concatenate([rng.permutation(NUCLIDES)[:n] for n in counts]).astype(np.int32)
    densities = rng.random(nuclides.size)
    wanted = rng.random(size)
    materials = rng.integers(0, MATERIALS, size).astype(np.int32)
    inputs = energies, channels, starts, nuclides, densities, wanted, materials
    return [
        Problem(
            macroscopic,
            (*inputs, np.zeros((size, CHANNELS))),
            blocks_for(size, THREADS),
            THREADS,
            (7,),
            lambda: (by_numpy(*inputs),),
            rtol=1e-12,
        )
    ]
