"""The dense kernels as loops over their threads, for numba and weft.jit; `prange` where they are parallel."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from bench.suite.dense import RADIUS, SIDE


def sobel(image, edges):
    for y in prange(1, image.shape[0] - 1):
        for x in prange(1, image.shape[1] - 1):
            above, below = y - 1, y + 1
            left, right = x - 1, x + 1
            across = image[above, right] + 2 * image[y, right] + image[below, right]
            across -= image[above, left] + 2 * image[y, left] + image[below, left]
            down = image[below, left] + 2 * image[below, x] + image[below, right]
            down -= image[above, left] + 2 * image[above, x] + image[above, right]
            edges[y, x] = math.sqrt(across * across + down * down)


def bilateral(image, nearness, sharpness, result):
    for y in prange(image.shape[0]):
        for x in prange(image.shape[1]):
            here = image[y, x]
            total = np.float32(0)
            weights = np.float32(0)
            for dy in range(-RADIUS, RADIUS + 1):
                row = min(max(y + dy, 0), image.shape[0] - 1)
                for dx in range(-RADIUS, RADIUS + 1):
                    column = min(max(x + dx, 0), image.shape[1] - 1)
                    there = image[row, column]
                    difference = there - here
                    alike = math.exp(-sharpness * difference * difference)
                    weight = nearness[dy + RADIUS, dx + RADIUS] * alike
                    weights += weight
                    total += weight * there
            result[y, x] = total / weights


def life(cells, following):
    for y in prange(1, cells.shape[0] - 1):
        for x in prange(1, cells.shape[1] - 1):
            around = 0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    around += cells[y + dy, x + dx]
            around -= cells[y, x]
            if around == 3 or (around == 2 and cells[y, x] == 1):
                following[y, x] = 1
            else:
                following[y, x] = 0


def nearest_centre(points, centres, nearest):
    for i in prange(points.shape[0]):
        best = 0
        least = points.dtype.type(3e38)
        for c in range(centres.shape[0]):
            squared = points.dtype.type(0)
            for d in range(points.shape[1]):
                step = points[i, d] - centres[c, d]
                squared += step * step
            if squared < least:
                least = squared
                best = c
        nearest[i] = best


def lu(matrices):
    for n in prange(matrices.shape[0]):
        for k in range(SIDE):
            for i in range(k + 1, SIDE):
                factor = matrices[n, i, k] / matrices[n, k, k]
                matrices[n, i, k] = factor
                for j in range(k + 1, SIDE):
                    matrices[n, i, j] -= factor * matrices[n, k, j]


def pi(seeds, throws, inside):
    for i in prange(seeds.size):
        state = seeds[i]
        hits = 0
        for _ in range(throws):
            state = np.uint32(state ^ state << np.uint32(13))
            state = np.uint32(state ^ state >> np.uint32(17))
            state = np.uint32(state ^ state << np.uint32(5))
            x = np.float32(state >> np.uint32(8)) * np.float32(2**-24)
            state = np.uint32(state ^ state << np.uint32(13))
            state = np.uint32(state ^ state >> np.uint32(17))
            state = np.uint32(state ^ state << np.uint32(5))
            y = np.float32(state >> np.uint32(8)) * np.float32(2**-24)
            if x * x + y * y < np.float32(1):
                hits += 1
        inside[i] = hits


def ray_triangle(origins, directions, triangles, distances, hits):
    for i in prange(hits.size):
        ox, oy, oz = origins[i, 0], origins[i, 1], origins[i, 2]
        dx, dy, dz = directions[i, 0], directions[i, 1], directions[i, 2]
        least = np.float32(1e30)
        hit = -1
        for k in range(triangles.shape[0]):
            ax, ay, az = triangles[k, 0, 0], triangles[k, 0, 1], triangles[k, 0, 2]
            ex, ey, ez = triangles[k, 1, 0] - ax, triangles[k, 1, 1] - ay, triangles[k, 1, 2] - az
            fx, fy, fz = triangles[k, 2, 0] - ax, triangles[k, 2, 1] - ay, triangles[k, 2, 2] - az
            px, py, pz = dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx
            determinant = ex * px + ey * py + ez * pz
            if abs(determinant) < np.float32(1e-8):
                continue
            inverse = np.float32(1) / determinant
            tx, ty, tz = ox - ax, oy - ay, oz - az
            u = (tx * px + ty * py + tz * pz) * inverse
            if u < 0 or u > 1:
                continue
            qx, qy, qz = ty * ez - tz * ey, tz * ex - tx * ez, tx * ey - ty * ex
            v = (dx * qx + dy * qy + dz * qz) * inverse
            if v < 0 or u + v > 1:
                continue
            t = (fx * qx + fy * qy + fz * qz) * inverse
            if t > np.float32(1e-4) and t < least:
                least = t
                hit = k
        distances[i] = least
        hits[i] = hit
