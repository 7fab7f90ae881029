"""The kernels of `bench.workloads` written as loops over all elements, for numba's njit."""

import math

import numpy as np
from numba import prange


def add(a, b, c):
    for i in prange(c.size):
        c[i] = a[i] + b[i]


def mandelbrot(left, top, step, limit, counts):
    for y in range(counts.shape[0]):
        for x in range(counts.shape[1]):
            real = left + np.float32(x) * step
            imag = top - np.float32(y) * step
            zr = np.float32(0)
            zi = np.float32(0)
            n = 0
            while n < limit and zr * zr + zi * zi <= np.float32(4):
                zr, zi = zr * zr - zi * zi + real, (zr + zr) * zi + imag
                n += 1
            counts[y, x] = n


def bilateral(image, spatial, sharpness, result):
    height, width = image.shape[1:]
    radius = spatial.shape[0] // 2
    for y in range(height):
        for x in range(width):
            red, green, blue = image[0, y, x], image[1, y, x], image[2, y, x]
            total = red_sum = green_sum = blue_sum = np.float32(0)
            for dy in range(-radius, radius + 1):
                row = min(max(y + dy, 0), height - 1)
                for dx in range(-radius, radius + 1):
                    column = min(max(x + dx, 0), width - 1)
                    r, g, b = image[0, row, column], image[1, row, column], image[2, row, column]
                    distance = (r - red) * (r - red) + (g - green) * (g - green) + (b - blue) * (b - blue)
                    weight = spatial[dy + radius, dx + radius] * math.exp(-sharpness * distance)
                    total += weight
                    red_sum += weight * r
                    green_sum += weight * g
                    blue_sum += weight * b
            result[0, y, x] = red_sum / total
            result[1, y, x] = green_sum / total
            result[2, y, x] = blue_sum / total


LOOPS = {"mandelbrot": mandelbrot, "bilateral": bilateral}
