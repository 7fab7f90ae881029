"""Ambient occlusion as a loop over pixels, for numba and weft.jit."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange

from examples.irregular import ambient_occlusion as rays

_sphere_distance = numba.njit(inline="always")(rays.sphere_distance.py_func)
_plane_distance = numba.njit(inline="always")(rays.plane_distance.py_func)


@numba.njit(inline="always")
def _random_unit(state):
    state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
    return state, np.float32(state >> np.uint32(8)) * np.float32(1 / 16777216)


@numba.njit(fastmath=True)
def _shade(spheres, height, samples, x, y, rows, columns):
    one, zero, far = np.float32(1), np.float32(0), np.float32(1e17)
    half_width, half_height = np.float32(columns) / np.float32(2), np.float32(rows) / np.float32(2)
    dx = (np.float32(x) - half_width) / half_width
    dy = (half_height - np.float32(y)) / half_height
    dz = -one
    length = one / math.sqrt(dx * dx + dy * dy + dz * dz)
    dx *= length
    dy *= length
    dz *= length
    nearest = far
    hit = -1
    for k in range(spheres.shape[0]):
        t = _sphere_distance(spheres, k, zero, zero, zero, dx, dy, dz, nearest)
        if t < nearest:
            nearest = t
            hit = k
    t = _plane_distance(height, zero, dy, nearest)
    on_plane = t < nearest
    nearest = t
    if not nearest < far:
        return zero
    px, py, pz = nearest * dx, nearest * dy, nearest * dz
    nx, ny, nz = zero, one, zero
    if not on_plane:
        nx = (px - spheres[hit, 0]) / spheres[hit, 3]
        ny = (py - spheres[hit, 1]) / spheres[hit, 3]
        nz = (pz - spheres[hit, 2]) / spheres[hit, 3]
    ax = one if abs(nx) < np.float32(0.6) else zero
    ay = one - ax
    ux, uy, uz = -nz * ay, nz * ax, nx * ay - ny * ax
    length = one / math.sqrt(ux * ux + uy * uy + uz * uz)
    ux *= length
    uy *= length
    uz *= length
    vx, vy, vz = ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux
    away = np.float32(1e-4)
    ox, oy, oz = px + away * nx, py + away * ny, pz + away * nz
    state = np.uint32(np.uint32(x + columns * y) * np.uint32(747796405) + np.uint32(1))
    escaped = 0
    for _ in range(samples * samples):
        state, first = _random_unit(state)
        state, second = _random_unit(state)
        radius = math.sqrt(first)
        phi = np.float32(2 * math.pi) * second
        along, across, up = math.cos(phi) * radius, math.sin(phi) * radius, math.sqrt(one - first)
        rx = along * ux + across * vx + up * nx
        ry = along * uy + across * vy + up * ny
        rz = along * uz + across * vz + up * nz
        met = far
        for k in range(spheres.shape[0]):
            met = _sphere_distance(spheres, k, ox, oy, oz, rx, ry, rz, met)
            if met < far:
                break
        if met == far:
            met = _plane_distance(height, oy, ry, far)
        if met == far:
            escaped += 1
    return np.float32(escaped) / np.float32(samples * samples)


def ambient_occlusion(spheres, height, samples, image):
    for y in prange(image.shape[0]):
        for x in prange(image.shape[1]):
            image[y, x] = _shade(spheres, height, samples, x, y, image.shape[0], image.shape[1])
