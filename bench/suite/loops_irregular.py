"""The irregular kernels as loops over their threads, for numba and weft.jit; `prange` where they are parallel."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from bench.suite.irregular import STACK
from examples.irregular.barnes_hut import STACK as CELLS
from examples.irregular.cross_sections import CHANNELS
from examples.irregular.nab_cascade import LARGEST, RADIUS_OFFSET


def sparse_product(starts, columns, values, x, y):
    for row in prange(y.size):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


def search_levels(starts, neighbours, depths, changed):
    depth = 0
    changed[0] = 1
    while changed[0]:
        changed[0] = 0
        for vertex in prange(depths.size):
            if depths[vertex] == depth:
                for k in range(starts[vertex], starts[vertex + 1]):
                    other = neighbours[k]
                    if depths[other] < 0:
                        depths[other] = depth + 1
                        changed[0] = 1
        depth += 1


def find(labels, left, right, queries, found):
    for i in prange(queries.size):
        wanted = queries[i]
        node = 0
        while labels[node] != wanted:
            node = left[node] if wanted < labels[node] else right[node]
            if node == 0:
                node = -1
                break
        found[i] = node


def vantage(points, radii, queries, distances):
    for i in prange(distances.size):
        nodes = np.empty(STACK, np.int32)
        gaps = np.empty(STACK, points.dtype)
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


def multi_radius(points, lows, highs, queries, radii, counts):
    for i in prange(counts.size):
        stack = np.empty(STACK, np.int32)
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
            if outside <= limit:
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


def barnes_hut(centres, masses, sizes, children, positions, opening, softening, result):
    for i in prange(positions.shape[0]):
        stack = np.empty(CELLS, np.int32)
        stack[0] = 0
        top = 1
        x = positions[i, 0]
        y = positions[i, 1]
        z = positions[i, 2]
        ax = centres.dtype.type(0)
        ay = centres.dtype.type(0)
        az = centres.dtype.type(0)
        while top > 0:
            top -= 1
            cell = stack[top]
            dx = centres[cell, 0] - x
            dy = centres[cell, 1] - y
            dz = centres[cell, 2] - z
            squared = dx * dx + dy * dy + dz * dz + softening
            size = sizes[cell]
            if size * size > opening * opening * squared:
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


def macroscopic(energies, channels, starts, nuclides, densities, wanted, materials, totals):
    for i in prange(wanted.size):
        energy = wanted[i]
        material = materials[i]
        sums = np.zeros(CHANNELS)
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


def born_sums(positions, radii, scales, sums):
    for i in prange(sums.size):
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
