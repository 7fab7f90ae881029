"""A bilateral filter of a photograph: smooths what is nearly alike and leaves edges sharp.

Each pixel becomes the mean of its neighbourhood, weighted by distance in space and in colour (Tomasi and
Manduchi, 1998).
"""

import argparse
import math
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data
from timing import report

from weft import cuda

THREADS = (32, 8)


@cuda.jit
def bilateral(image, spatial, sharpness, result):
    """Filter ``image[channel, y, x]``; ``spatial`` holds the weight of each neighbour's distance."""
    x, y = cuda.grid(2)
    height = image.shape[1]
    width = image.shape[2]
    if x >= width or y >= height:
        return
    radius = spatial.shape[0] // 2
    red = image[0, y, x]
    green = image[1, y, x]
    blue = image[2, y, x]
    total = np.float32(0)
    red_sum = np.float32(0)
    green_sum = np.float32(0)
    blue_sum = np.float32(0)
    for dy in range(-radius, radius + 1):
        row = min(max(y + dy, 0), height - 1)
        for dx in range(-radius, radius + 1):
            column = min(max(x + dx, 0), width - 1)
            r = image[0, row, column]
            g = image[1, row, column]
            b = image[2, row, column]
            distance = (r - red) * (r - red) + (g - green) * (g - green) + (b - blue) * (b - blue)
            weight = spatial[dy + radius, dx + radius] * math.exp(-sharpness * distance)
            total += weight
            red_sum += weight * r
            green_sum += weight * g
            blue_sum += weight * b
    result[0, y, x] = red_sum / total
    result[1, y, x] = green_sum / total
    result[2, y, x] = blue_sum / total


def blocks_for(width: int, height: int) -> tuple[int, int]:
    return -(-width // THREADS[0]), -(-height // THREADS[1])


def gaussian(radius: int) -> np.ndarray:
    """Weights of the neighbours by their distance."""
    offsets = np.arange(-radius, radius + 1)
    squares = offsets[:, None] ** 2 + offsets**2
    return np.exp(-squares / (2 * (radius / 2) ** 2)).astype(np.float32)


def filter_by_numpy(
    image: np.ndarray, spatial: np.ndarray, sharpness, rows: slice, columns: slice
) -> np.ndarray:
    """The same filter for a part of the image, in NumPy."""
    radius = spatial.shape[0] // 2
    ys, xs = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
    centre = image[:, rows, columns]
    total = np.zeros(centre.shape[1:])
    sums = np.zeros(centre.shape)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            near_y = np.clip(ys + dy, 0, image.shape[1] - 1)
            near_x = np.clip(xs + dx, 0, image.shape[2] - 1)
            neighbour = image[:, near_y[:, None], near_x]
            distance = ((neighbour - centre) ** 2).sum(axis=0)
            weight = spatial[dy + radius, dx + radius] * np.exp(-sharpness * distance)
            total += weight
            sums += weight * neighbour
    return sums / total


def photograph(crop: int | None) -> np.ndarray:
    """A photograph that is part of scikit-image's wheel, as ``[channel, y, x]`` from 0 to 1."""
    image = data.astronaut()[:crop, :crop]
    return np.ascontiguousarray(image.transpose(2, 0, 1)).astype(np.float32) / np.float32(255)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--radius", type=int, default=6, help="of the neighbourhood, in pixels")
    parser.add_argument("--contrast", type=float, default=0.12, help="colour distance that counts as an edge")
    parser.add_argument("--crop", type=int, help="filter only so many rows and columns")
    options = parser.parse_args()

    image = photograph(options.crop)
    _, height, width = image.shape
    spatial = gaussian(options.radius)
    sharpness = np.float32(1 / (2 * options.contrast**2))
    result = np.zeros_like(image)
    configured = bilateral[blocks_for(width, height), THREADS]
    report(f"bilateral {width} x {height}", lambda: configured(image, spatial, sharpness, result))

    # The upper left corner, where the neighbourhood is clamped to the image.
    rows, columns = slice(0, min(height, 48)), slice(0, min(width, 64))
    expected = filter_by_numpy(image, spatial, sharpness, rows, columns)
    if not np.allclose(result[:, rows, columns], expected, rtol=0, atol=1e-5):
        raise SystemExit("bilateral: the picture differs from NumPy's")

    file = Path(__file__).parent.parent / "out" / "bilateral.png"
    file.parent.mkdir(exist_ok=True)
    both = np.concatenate([image, result], axis=2).transpose(1, 2, 0)
    Image.fromarray((both * 255).round().astype(np.uint8)).save(file)
    print(f"  agrees with NumPy; written to out/{file.name}: photograph and result, side by side")


if __name__ == "__main__":
    main()
