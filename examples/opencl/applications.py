"""What each application launches, on which data, and what comes out.

At a scale of 1 the sizes are those of Karrenberg and Hack's Table 1; how many steps Mandelbrot takes it does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf
from pathlib import Path
from typing import Any

import numpy as np

from weft import opencl

HERE = Path(__file__).parent

Launch = tuple[str, Any, Any, tuple[Any, ...]]
"""A kernel's name, global size, work-group size and arguments."""


@dataclass(frozen=True, slots=True)
class Application:
    """An application at some size.

    Parameters
    ----------
    launches
        What it consists of.
    result
        The array to look at behind the last launch.
    expected
        What NumPy says of it, and how far that may be off, relative to the largest number.
    options
        Build options.
    """

    launches: Sequence[Launch]
    result: Callable[[], np.ndarray]
    expected: Callable[[], np.ndarray]
    tolerance: float = 0.0
    options: str = ""


def _power_of_two(size: float) -> int:
    return 1 << max(int(size), 512).bit_length() - 1


def bitonic_sort(scale: float) -> Application:
    """2^20 integers."""
    values = np.random.default_rng(1).integers(0, 1 << 32, _power_of_two((1 << 20) * scale), np.uint32)
    wanted = np.sort(values)
    launches: list[Launch] = []
    length = 2
    while length <= values.size:
        distance = length // 2
        while distance:
            launches.append(("bitonic_stage", values.size // 2, 256, (values, distance, length)))
            distance //= 2
        length *= 2
    return Application(launches, lambda: values, lambda: wanted)


def black_scholes(scale: float) -> Application:
    """2^24 options."""
    side = 64 * max(1, int(32 * scale**0.5))
    chance = np.random.default_rng(2).random((side, side, 4), np.float32)
    call, put = np.zeros_like(chance), np.zeros_like(chance)

    def expected() -> np.ndarray:
        c = chance.reshape(-1)[:4096].astype(np.float64)
        price, years = 10 * c + 100 * (1 - c), c + 10 * (1 - c)
        rate, volatility = 0.01 * c + 0.05 * (1 - c), 0.01 * c + 0.1 * (1 - c)
        spread = volatility * np.sqrt(years)
        d1 = (rate + 0.5 * volatility**2) * years / spread
        normal = np.vectorize(lambda x: 0.5 * (1 + erf(x / 2**0.5)))
        return price * normal(d1) - price * np.exp(-rate * years) * normal(d1 - spread)

    launches: list[Launch] = [("black_scholes", (side, side), (64, 4), (chance, call, put, side))]
    return Application(launches, lambda: call.reshape(-1)[:4096], expected, 1e-5)


def dct(scale: float) -> Application:
    """An image of 4000 x 4000 pixels, in blocks of 8 x 8."""
    side = 8 * max(1, int(500 * scale**0.5))
    image = np.random.default_rng(3).random((side, side), np.float32)
    k = np.arange(8)
    basis = np.cos((2 * k[None] + 1) * k[:, None] * np.pi / 16) * np.where(k[:, None], 0.5, 8**-0.5)
    result, basis = np.zeros_like(image), basis.astype(np.float32)
    arguments = image, result, basis, opencl.LocalMemory(256), side

    def expected() -> np.ndarray:
        blocks = image.reshape(side // 8, 8, side // 8, 8)
        return np.einsum("ij,ajbk,lk->aibl", basis, blocks, basis, optimize=True).reshape(side, side)

    return Application([("dct", (side, side), (8, 8), arguments)], lambda: result, expected, 1e-5, "-DSIDE=8")


def fast_walsh_transform(scale: float) -> Application:
    """2^27 numbers."""
    size = _power_of_two((1 << 27) * scale)
    values = np.random.default_rng(4).random(size, np.float32)
    first = values.astype(np.float64)
    launches: list[Launch] = []
    distance = 1
    while distance < size:
        launches.append(("walsh_stage", size // 2, 256, (values, distance)))
        distance *= 2

    def expected() -> np.ndarray:
        result, width = first, 1
        while width < size:
            a, b = result.reshape(-1, 2, width)[:, 0], result.reshape(-1, 2, width)[:, 1]
            result = np.stack((a + b, a - b), axis=1).reshape(-1)
            width *= 2
        return result

    return Application(launches, lambda: values, expected, 1e-5)


def floyd_warshall(scale: float) -> Application:
    """A graph of 512 nodes."""
    nodes = 16 * max(1, int(32 * scale ** (1 / 3)))
    distance = np.random.default_rng(5).integers(1, 200, (nodes, nodes), np.uint32)
    np.fill_diagonal(distance, 0)
    first, way = distance.copy(), np.zeros_like(distance)
    launches: list[Launch] = [
        ("over_node", (nodes, nodes), (16, 16), (distance, way, nodes, node)) for node in range(nodes)
    ]

    def expected() -> np.ndarray:
        result = first.copy()
        for node in range(nodes):
            np.minimum(result, result[:, node, None] + result[node], out=result)
        return result

    return Application(launches, lambda: distance, expected)


def histogram(scale: float) -> Application:
    """15,000 x 15,000 bytes, in work-groups of 128 work-items that count 128 each."""
    groups = max(1, int(13_733 * scale))
    data = np.random.default_rng(6).integers(0, 256, groups * 128 * 128, np.uint8)
    counts = np.zeros((groups, 256), np.uint32)
    arguments = data, opencl.LocalMemory(128 * 256), counts, 128
    return Application(
        [("histogram", groups * 128, 128, arguments)],
        lambda: counts.sum(axis=0),
        lambda: np.bincount(data, minlength=256),
    )


def mandelbrot(scale: float) -> Application:
    """8192 x 8192 points, 64 steps at most."""
    side = 64 * max(1, int(128 * scale**0.5))
    steps = np.zeros(side * side, np.int32)

    def expected() -> np.ndarray:
        span = np.float32(3 / side)
        axis = np.arange(side, dtype=np.float32) * span - np.float32(0.5) * span * side
        c = (axis[None] - 0.5) + 1j * axis[:, None].astype(np.float64)
        # Points whose count is sensitive to how sums are rounded are many: a few thousandths may differ.
        z, count = c.copy(), np.zeros(c.shape, np.int32)
        for _ in range(64):
            inside = z.real**2 + z.imag**2 <= 4
            if not inside.any():
                break
            count += inside
            z = np.where(inside, z * z + c, z)
        return np.array([count.sum()])

    launches: list[Launch] = [("mandelbrot", side * side, 256, (steps, 3 / side, 64, side))]
    return Application(launches, lambda: np.array([steps.sum()]), expected, 1e-3)


def matrix_transpose(scale: float) -> Application:
    """A matrix of 12,000 x 12,000 numbers."""
    side = 16 * max(1, int(750 * scale**0.5))
    matrix = np.random.default_rng(7).random((side, side), np.float32)
    turned = np.zeros_like(matrix)
    arguments = matrix, turned, opencl.LocalMemory(4 * 16 * 17), side, side
    launches: list[Launch] = [("transpose", (side, side), (16, 16), arguments)]
    return Application(launches, lambda: turned, lambda: matrix.T, 0.0, "-DSIDE=16")


def nbody(scale: float) -> Application:
    """19,968 bodies."""
    count = 256 * max(1, int(78 * scale**0.5))
    rng = np.random.default_rng(8)
    place, speed = rng.random((count, 4), np.float32), rng.random((count, 4), np.float32)
    speed[:, 3] = 0
    new_place, new_speed = np.zeros_like(place), np.zeros_like(speed)
    arguments = place, speed, count, 0.005, 500.0, opencl.LocalMemory(16 * 256), new_place, new_speed

    def expected() -> np.ndarray:
        some = place[:64].astype(np.float64)
        way = place[None, :, :3].astype(np.float64) - some[:, None, :3]
        strength = place[:, 3] * ((way**2).sum(axis=2) + 500.0) ** -1.5
        return speed[:64, :3] + 0.005 * (strength[..., None] * way).sum(axis=1)

    return Application([("move", count, 256, arguments)], lambda: new_speed[:64, :3], expected, 1e-5)


APPLICATIONS: dict[str, Callable[[float], Application]] = {
    make.__name__: make
    for make in (
        bitonic_sort, black_scholes, dct, fast_walsh_transform, floyd_warshall, histogram, mandelbrot, matrix_transpose,
        nbody,
    )
}  # fmt: skip
"""By name, which is that of the file in OpenCL C, too."""


def run(application: Application, program: opencl.Program) -> None:
    """Launch all kernels of an application, in order."""
    for name, size, local, arguments in application.launches:
        program.kernel(name)(size, local, *arguments)


def error_of(application: Application) -> float:
    """How far the result is off, relative to the largest number."""
    got, wanted = application.result().astype(np.float64), application.expected().astype(np.float64)
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30))
