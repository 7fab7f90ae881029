"""The 8 x 8 discrete cosine transform of JPEG: one group of 64 threads a block of pixels."""

from __future__ import annotations

import numpy as np
from scipy import fft

from examples.workgroups.checking import agree, timed
from weft import cuda

SIZE = 1024
SIDE = 8

_K = np.arange(SIDE)
BASIS = np.sqrt(np.where(_K == 0, 1, 2) / SIDE)[:, None] * np.cos(
    np.pi * _K[:, None] * (2 * _K + 1) / (2 * SIDE)
)
BASIS = BASIS.astype(np.float32)


@cuda.jit
def dct_of_block(image, result):
    """Transform rows, then columns: ``BASIS @ block @ BASIS.T``."""
    block = cuda.shared.array((SIDE, SIDE), dtype=np.float32)
    half = cuda.shared.array((SIDE, SIDE), dtype=np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    block[ty, tx] = image[row, column]
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(SIDE):
        total += block[ty, k] * BASIS[tx, k]
    half[ty, tx] = total
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(SIDE):
        total += BASIS[ty, k] * half[k, tx]
    result[row, column] = total


def dct(image: np.ndarray) -> np.ndarray:
    """Return the transform of each 8 x 8 block of a float32 image with sides that are multiples of 8."""
    rows, columns = image.shape
    result = np.zeros_like(image)
    dct_of_block[(columns // SIDE, rows // SIDE), (SIDE, SIDE)](image, result)
    return result


def main(size: int = SIZE) -> None:
    side = max(1, size // SIDE) * SIDE
    image = np.random.default_rng(6).random((side, side + SIDE), dtype=np.float32)
    result = timed(f"DCT of {side} rows", lambda: dct(image))
    blocks = image.reshape(side // SIDE, SIDE, -1, SIDE).swapaxes(1, 2)
    wanted = fft.dctn(blocks, axes=(2, 3), norm="ortho").swapaxes(1, 2).reshape(image.shape)
    agree("DCT", result, wanted, atol=1e-4)


if __name__ == "__main__":
    main()
