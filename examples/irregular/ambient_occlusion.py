"""Ambient occlusion: rays from each visible point against three spheres and a plane, after Fujita's aobench."""

from __future__ import annotations

import math

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 64
SAMPLES = 8
"""Rays from a point are the square of this."""
BLOCK = (32, 4)
FAR = 1e17
SPHERES = np.array([[-2.0, 0.0, -3.5, 0.5], [-0.5, 0.0, -3.0, 0.5], [1.0, 0.0, -2.2, 0.5]], np.float32)
"""Centre and radius of each sphere."""
FLOOR = -0.5
"""Height of the plane."""


@cuda.jit(device=True)
def sphere_distance(spheres, k, ox, oy, oz, dx, dy, dz, far):
    """Return where a ray meets sphere k, or `far` when that is not nearer."""
    rx = ox - spheres[k, 0]
    ry = oy - spheres[k, 1]
    rz = oz - spheres[k, 2]
    b = rx * dx + ry * dy + rz * dz
    c = rx * rx + ry * ry + rz * rz - spheres[k, 3] * spheres[k, 3]
    discriminant = b * b - c
    if discriminant > 0:
        t = -b - math.sqrt(discriminant)
        if t > 0 and t < far:
            far = t
    return far


@cuda.jit(device=True)
def plane_distance(height, oy, dy, far):
    """Return where a ray meets the plane, or `far` when that is not nearer."""
    if abs(dy) > np.float32(1e-17):
        t = (height - oy) / dy
        if t > 0 and t < far:
            far = t
    return far


@cuda.jit(device=True)
def random_unit(state):
    """Return the next state of a linear congruential generator and a number in [0, 1)."""
    state = state * np.uint32(1664525) + np.uint32(1013904223)
    return state, np.float32(np.int32(state >> np.uint32(8))) * np.float32(1 / 16777216)


@cuda.jit
def ambient_occlusion(spheres, height, samples, image):
    """Return for one pixel the fraction of rays that leave the scene, 0 where nothing is seen."""
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        far = np.float32(1e17)
        half_width = np.float32(image.shape[1]) / 2
        half_height = np.float32(image.shape[0]) / 2
        dx = (np.float32(x) - half_width) / half_width
        dy = (half_height - np.float32(y)) / half_height
        dz = np.float32(-1)
        length = 1 / math.sqrt(dx * dx + dy * dy + dz * dz)
        dx *= length
        dy *= length
        dz *= length

        zero = np.float32(0)
        nearest = far
        hit = -1
        for k in range(spheres.shape[0]):
            t = sphere_distance(spheres, k, zero, zero, zero, dx, dy, dz, nearest)
            if t < nearest:
                nearest = t
                hit = k
        t = plane_distance(height, zero, dy, nearest)
        on_plane = t < nearest
        nearest = t

        light = zero
        if nearest < far:
            px = nearest * dx
            py = nearest * dy
            pz = nearest * dz
            if on_plane:
                nx = zero
                ny = np.float32(1)
                nz = zero
            else:
                nx = (px - spheres[hit, 0]) / spheres[hit, 3]
                ny = (py - spheres[hit, 1]) / spheres[hit, 3]
                nz = (pz - spheres[hit, 2]) / spheres[hit, 3]
            # A basis around the normal: the axis to which it is least parallel gives the second vector.
            if abs(nx) < np.float32(0.6):
                ax = np.float32(1)
                ay = zero
            else:
                ax = zero
                ay = np.float32(1)
            ux = -nz * ay
            uy = nz * ax
            uz = nx * ay - ny * ax
            length = 1 / math.sqrt(ux * ux + uy * uy + uz * uz)
            ux *= length
            uy *= length
            uz *= length
            vx = ny * uz - nz * uy
            vy = nz * ux - nx * uz
            vz = nx * uy - ny * ux
            ox = px + np.float32(1e-4) * nx
            oy = py + np.float32(1e-4) * ny
            oz = pz + np.float32(1e-4) * nz

            state = np.uint32(x + image.shape[1] * y) * np.uint32(747796405) + np.uint32(1)
            escaped = 0
            for _ in range(samples * samples):
                state, first = random_unit(state)
                state, second = random_unit(state)
                radius = math.sqrt(first)
                phi = np.float32(2 * math.pi) * second
                along = math.cos(phi) * radius
                across = math.sin(phi) * radius
                up = math.sqrt(1 - first)
                rx = along * ux + across * vx + up * nx
                ry = along * uy + across * vy + up * ny
                rz = along * uz + across * vz + up * nz
                met = far
                for k in range(spheres.shape[0]):
                    met = sphere_distance(spheres, k, ox, oy, oz, rx, ry, rz, met)
                    if met < far:
                        break
                if met == far:
                    met = plane_distance(height, oy, ry, far)
                if met == far:
                    escaped += 1
            light = np.float32(escaped) / np.float32(samples * samples)
        image[y, x] = light


def _sphere_distance(spheres, k, origin, direction, far):
    relative = [origin[axis] - spheres[k, axis] for axis in range(3)]
    b = sum(r * d for r, d in zip(relative, direction, strict=True))
    c = sum(r * r for r in relative) - spheres[k, 3] * spheres[k, 3]
    discriminant = b * b - c
    t = -b - np.sqrt(np.maximum(discriminant, 0))
    return np.where((discriminant > 0) & (t > 0) & (t < far), t, far)


def _plane_distance(height, oy, dy, far):
    steep = np.abs(dy) > np.float32(1e-17)
    t = (height - oy) / np.where(steep, dy, np.float32(1))
    return np.where(steep & (t > 0) & (t < far), t, far)


def _random_unit(state):
    state = state * np.uint32(1664525) + np.uint32(1013904223)
    return state, (state >> np.uint32(8)).astype(np.float32) * np.float32(1 / 16777216)


def by_numpy(spheres, height, samples: int, shape: tuple[int, int]) -> np.ndarray:
    """Return the picture, computed for all pixels together."""
    one, zero, far = np.float32(1), np.float32(0), np.float32(FAR)
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    half_height, half_width = np.float32(shape[0] / 2), np.float32(shape[1] / 2)
    direction = [(x - half_width) / half_width, (half_height - y) / half_height, np.full(shape, -one)]
    length = one / np.sqrt(sum(d * d for d in direction))
    direction = [d * length for d in direction]
    nearest, hit = np.full(shape, far), np.full(shape, 0)
    for k in range(len(spheres)):
        t = _sphere_distance(spheres, k, (zero, zero, zero), direction, nearest)
        hit = np.where(t < nearest, k, hit)
        nearest = t
    t = _plane_distance(height, zero, direction[1], nearest)
    on_plane, nearest = t < nearest, t
    seen = nearest < far
    point = [np.where(seen, nearest, zero) * d for d in direction]
    up = (zero, one, zero)
    normal = [
        np.where(on_plane, up[axis], (point[axis] - spheres[hit, axis]) / spheres[hit, 3])
        for axis in range(3)
    ]
    ax = np.where(np.abs(normal[0]) < np.float32(0.6), one, zero)
    ay = one - ax
    first = [-normal[2] * ay, normal[2] * ax, normal[0] * ay - normal[1] * ax]
    length = one / np.sqrt(sum(u * u for u in first))
    first = [u * length for u in first]
    second = [
        normal[(axis + 1) % 3] * first[(axis + 2) % 3] - normal[(axis + 2) % 3] * first[(axis + 1) % 3]
        for axis in range(3)
    ]
    origin = [p + np.float32(1e-4) * n for p, n in zip(point, normal, strict=True)]
    state = (np.arange(shape[0] * shape[1], dtype=np.uint32)).reshape(shape) * np.uint32(747796405)
    state += np.uint32(1)
    escaped = np.zeros(shape, np.int32)
    for _ in range(samples * samples):
        state, one_number = _random_unit(state)
        state, other_number = _random_unit(state)
        radius, phi = np.sqrt(one_number), np.float32(2 * np.pi) * other_number
        parts = np.cos(phi) * radius, np.sin(phi) * radius, np.sqrt(one - one_number)
        ray = [
            sum(p * v[axis] for p, v in zip(parts, (first, second, normal), strict=True)) for axis in range(3)
        ]
        met = np.full(shape, far)
        for k in range(len(spheres)):
            met = _sphere_distance(spheres, k, origin, ray, met)
        met = _plane_distance(height, origin[1], ray[1], met)
        escaped += met == far
    light = escaped.astype(np.float32) / np.float32(samples * samples)
    return np.where(seen, light, zero)


def picture(size: int, samples: int) -> Problem:
    """Return the scene in a square picture."""
    image = np.zeros((size, size), np.float32)
    height = np.float32(FLOOR)
    return Problem(
        ambient_occlusion,
        (SPHERES, height, samples, image),
        (blocks_for(size, BLOCK[0]), blocks_for(size, BLOCK[1])),
        BLOCK,
        (3,),
        lambda: (by_numpy(SPHERES, height, samples, image.shape),),
        # A ray that grazes a sphere may pass it or not.
        atol=2.5 / samples**2,
        mismatches=0.01,
    )


def problems(size: int = SIZE) -> list[Problem]:
    return [picture(size, SAMPLES)]
