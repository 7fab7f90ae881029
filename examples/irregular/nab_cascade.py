"""Effective Born radii as in SPEC's 644.nab: a deep cascade of cases, most of them rare (Moll 2021, Fig. 9.4).

For each atom the others' spheres take volume from the solvent around it; the formula depends on how near, and
how far inside each other, two spheres are (Hawkins, Cramer and Truhlar 1995).
"""

from __future__ import annotations

import math

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 500
THREADS = 64
RADIUS_OFFSET = 0.09
LARGEST = 20.0
"""Spheres farther off than this do not count."""


@cuda.jit
def born_sums(positions, radii, scales, sums):
    """Add up for one atom what the others take from its surroundings."""
    i = cuda.grid(1)
    if i < sums.size:
        x = positions[i, 0]
        y = positions[i, 1]
        z = positions[i, 2]
        ri = radii[i] - RADIUS_OFFSET
        inverse = 1 / ri
        total = 0.0
        for j in range(sums.size):
            if j == i:
                continue
            dx = x - positions[j, 0]
            dy = y - positions[j, 1]
            dz = z - positions[j, 2]
            squared = dx * dx + dy * dy + dz * dz
            if squared > (LARGEST + 4) * (LARGEST + 4):
                continue
            d = math.sqrt(squared)
            sj = scales[j] * (radii[j] - RADIUS_OFFSET)
            if d > LARGEST + sj:
                continue
            if d > LARGEST - sj:
                upper = 1 / (d - sj)
                total -= 0.125 / d * (
                    1 + 2 * d * upper
                    + (squared - 4 * LARGEST * d - sj * sj) / (LARGEST * LARGEST)
                    + 2 * math.log((d - sj) / LARGEST)
                )  # fmt: skip
            elif d > 4 * sj:
                ratio = sj * sj / squared
                series = 1 / 3 + ratio * (2 / 5 + ratio * (3 / 7 + ratio * (4 / 9 + ratio * 5 / 11)))
                total -= sj * ratio / squared * series
            elif d > ri + sj:
                total -= 0.5 * (sj / (squared - sj * sj) + 0.5 / d * math.log((d - sj) / (d + sj)))
            elif d > abs(ri - sj):
                theta = 0.5 * inverse / d * (squared + ri * ri - sj * sj)
                upper = 1 / (d + sj)
                total -= 0.25 * (inverse * (2 - theta) - upper + 1 / d * math.log(ri * upper))
            elif ri < sj:
                total -= 0.5 * (
                    sj / (squared - sj * sj) + 2 * inverse + 0.5 / d * math.log((sj - d) / (sj + d))
                )
        sums[i] = total


def by_numpy(positions, radii, scales) -> np.ndarray:
    """Return the sums, computed for all pairs and all cases."""
    with np.errstate(all="ignore"):
        squared = np.square(positions[:, None] - positions).sum(axis=2)
        d = np.sqrt(squared)
        ri = (radii - RADIUS_OFFSET)[:, None]
        sj = scales * (radii - RADIUS_OFFSET)
        ratio = sj * sj / squared
        theta = 0.5 / ri / d * (squared + ri * ri - sj * sj)
        far = 0.125 / d * (
            1 + 2 * d / (d - sj)
            + (squared - 4 * LARGEST * d - sj * sj) / (LARGEST * LARGEST)
            + 2 * np.log((d - sj) / LARGEST)
        )  # fmt: skip
        series = 1 / 3 + ratio * (2 / 5 + ratio * (3 / 7 + ratio * (4 / 9 + ratio * 5 / 11)))
        apart = 0.5 * (sj / (squared - sj * sj) + 0.5 / d * np.log((d - sj) / (d + sj)))
        overlapping = 0.25 * ((2 - theta) / ri - 1 / (d + sj) + 1 / d * np.log(ri / (d + sj)))
        inside = 0.5 * (sj / (squared - sj * sj) + 2 / ri + 0.5 / d * np.log((sj - d) / (sj + d)))
        cases = [
            (np.eye(len(radii), dtype=bool), 0.0),
            ((squared > (LARGEST + 4) ** 2) | (d > LARGEST + sj), 0.0),
            (d > LARGEST - sj, far),
            (d > 4 * sj, sj * ratio / squared * series),
            (d > ri + sj, apart),
            (d > abs(ri - sj), overlapping),
            (ri < sj, inside),
        ]
        taken = np.select([c for c, _ in cases], [v for _, v in cases], 0.0)
    return -taken.sum(axis=1)


def problems(size: int = SIZE) -> list[Problem]:
    rng = np.random.default_rng(17)
    # About the density of atoms in a protein, one for 15 cubic ångström.
    positions = rng.random((size, 3)) * (15 * size) ** (1 / 3)
    radii, scales = rng.uniform(1.2, 1.9, size), rng.uniform(0.7, 0.9, size)
    return [
        Problem(
            born_sums,
            (positions, radii, scales, np.zeros(size)),
            blocks_for(size, THREADS),
            THREADS,
            (3,),
            lambda: (by_numpy(positions, radii, scales),),
            rtol=1e-9,
        )
    ]
