"""The rows as loops for numba; parallel over the outermost where asked to be."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from examples.workgroups.dct import BASIS

PARTS = 64
"""How many parts of a vector are counted, summed or scanned on their own."""

TILE = 32
STRETCH = 1024
SOFTENING = np.float32(0.01)


def matrix_product(a, b, c):
    for i in prange(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def dct(image, result):
    for block in prange(image.shape[0] // 8):
        y = 8 * block
        half = np.empty((8, 8), np.float32)
        for x in range(0, image.shape[1], 8):
            for i in range(8):
                for j in range(8):
                    total = np.float32(0)
                    for k in range(8):
                        total += image[y + i, x + k] * BASIS[j, k]
                    half[i, j] = total
            for i in range(8):
                for j in range(8):
                    total = np.float32(0)
                    for k in range(8):
                        total += BASIS[i, k] * half[k, j]
                    result[y + i, x + j] = total


def transpose(source, target):
    rows, columns = source.shape
    for block in prange((rows + TILE - 1) // TILE):
        for x0 in range(0, columns, TILE):
            for x in range(x0, min(x0 + TILE, columns)):
                for y in range(TILE * block, min(TILE * (block + 1), rows)):
                    target[x, y] = source[y, x]


def reduction(values, total):
    result = np.float32(0)
    for i in prange(values.size):
        result += values[i]
    total[0] = result


def scan(values, result):
    length = (values.size + PARTS - 1) // PARTS
    sums = np.zeros(PARTS + 1, np.int64)
    for part in prange(PARTS):
        total = np.int64(0)
        for i in range(length * part, min(length * (part + 1), values.size)):
            total += values[i]
        sums[part + 1] = total
    for part in range(PARTS):
        sums[part + 1] += sums[part]
    for part in prange(PARTS):
        total = sums[part]
        for i in range(length * part, min(length * (part + 1), values.size)):
            total += values[i]
            result[i] = total


def histogram(data, counts):
    length = (data.size + PARTS - 1) // PARTS
    own = np.zeros((PARTS, counts.size), np.int32)
    for part in prange(PARTS):
        for i in range(length * part, min(length * (part + 1), data.size)):
            own[part, data[i]] += 1
    for part in range(PARTS):
        for k in range(counts.size):
            counts[k] += own[part, k]


def nbody(bodies, result):
    for i in prange(bodies.shape[0]):
        ax = np.float32(0)
        ay = np.float32(0)
        az = np.float32(0)
        for j in range(bodies.shape[0]):
            dx = bodies[j, 0] - bodies[i, 0]
            dy = bodies[j, 1] - bodies[i, 1]
            dz = bodies[j, 2] - bodies[i, 2]
            inverse = np.float32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = bodies[j, 3] * inverse * inverse * inverse
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        result[i, 0] = ax
        result[i, 1] = ay
        result[i, 2] = az


def bitonic_sort(values):
    for block in prange(values.size // STRETCH):
        stretch = values[STRETCH * block : STRETCH * (block + 1)]
        length = 2
        while length <= STRETCH:
            distance = length // 2
            while distance > 0:
                for first in range(0, STRETCH, 2 * distance):
                    ascending = (first & length) == 0
                    for k in range(first, first + distance):
                        a, b = stretch[k], stretch[k + distance]
                        less, more = min(a, b), max(a, b)
                        stretch[k] = less if ascending else more
                        stretch[k + distance] = more if ascending else less
                distance //= 2
            length *= 2


def walsh(values):
    for block in prange(values.size // STRETCH):
        stretch = values[STRETCH * block : STRETCH * (block + 1)]
        near = 1
        while near < STRETCH:
            for first in range(0, STRETCH, 2 * near):
                for k in range(first, first + near):
                    a, b = stretch[k], stretch[k + near]
                    stretch[k] = a + b
                    stretch[k + near] = a - b
            near *= 2
    distance = STRETCH
    while distance < values.size:
        for part in prange(values.size // (2 * STRETCH)):
            # A part is so many butterflies, which lie side by side as no distance is less.
            begin = STRETCH * part
            low = 2 * begin - (begin & (distance - 1))
            for k in range(low, low + STRETCH):
                a, b = values[k], values[k + distance]
                values[k] = a + b
                values[k + distance] = a - b
        distance *= 2
