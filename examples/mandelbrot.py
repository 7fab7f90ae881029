"""The Mandelbrot set, one thread a pixel: a loop that each lane leaves in its own time."""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image
from timing import report

from weft import cuda

THREADS = (32, 8)


@cuda.jit
def mandelbrot(left, top, step, limit, counts):
    """Count the iterations after which each point has left the circle of radius two."""
    x, y = cuda.grid(2)
    if y < counts.shape[0] and x < counts.shape[1]:
        real = left + x * step
        imag = top - y * step
        zr = np.float32(0)
        zi = np.float32(0)
        n = 0
        while n < limit and zr * zr + zi * zi <= 4:
            zr, zi = zr * zr - zi * zi + real, (zr + zr) * zi + imag
            n += 1
        counts[y, x] = n


def blocks_for(width: int, height: int) -> tuple[int, int]:
    return -(-width // THREADS[0]), -(-height // THREADS[1])


def counts_by_numpy(left, top, step, limit, rows: slice, columns: slice) -> np.ndarray:
    """The same counts for a part of the picture, in NumPy."""
    real = left + np.arange(columns.start, columns.stop).astype(np.float32) * step
    imag = top - np.arange(rows.start, rows.stop).astype(np.float32)[:, None] * step
    zr = np.zeros(np.broadcast_shapes(real.shape, imag.shape), np.float32)
    zi = np.zeros_like(zr)
    counts = np.zeros(zr.shape, np.int32)
    inside = np.ones(zr.shape, bool)
    for _ in range(limit):
        inside &= zr * zr + zi * zi <= 4
        counts += inside
        following = zr * zr - zi * zi + real, (zr + zr) * zi + imag
        zr, zi = np.where(inside, following[0], zr), np.where(inside, following[1], zi)
    return counts


def colours(counts: np.ndarray, limit: int) -> np.ndarray:
    """Colour points by the logarithm of their count; points of the set are black."""
    phase = np.log1p(counts)[..., None] * 1.3 + np.array([3.6, 3.2, 2.4])
    picture = 127.5 * (1 - np.cos(phase))
    picture[counts == limit] = 0
    return picture.astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1600)
    parser.add_argument("--height", type=int, default=1200)
    parser.add_argument(
        "--limit", type=int, default=256, help="iterations after which a point counts as inside"
    )
    options = parser.parse_args()

    width, height = options.width, options.height
    left, top, step = np.float32(-2.2), np.float32(1.2), np.float32(3.2 / width)
    counts = np.zeros((height, width), np.int32)
    configured = mandelbrot[blocks_for(width, height), THREADS]
    report(f"mandelbrot {width} x {height}", lambda: configured(left, top, step, options.limit, counts))

    rows, columns = slice(height // 3, height // 3 + 40), slice(width // 4, width // 4 + 60)
    expected = counts_by_numpy(left, top, step, options.limit, rows, columns)
    if not np.array_equal(counts[rows, columns], expected):
        raise SystemExit("mandelbrot: the picture differs from NumPy's")

    file = Path(__file__).parent.parent / "out" / "mandelbrot.png"
    file.parent.mkdir(exist_ok=True)
    Image.fromarray(colours(counts, options.limit)).save(file)
    print(f"  agrees with NumPy; written to out/{file.name}")


if __name__ == "__main__":
    main()
