"""Kernels that the tests of the check launch."""

from weft import cuda


def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def steps_of_collatz(start, steps):
    i = cuda.grid(1)
    if i < start.size:
        n = start[i]
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps[i] = count


def reverse_blocks(x):
    tile = cuda.shared.array(32, "float32")
    i = cuda.threadIdx.x
    tile[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    x[cuda.grid(1)] = tile[cuda.blockDim.x - 1 - i]
