"""A whole CUDA C++ program's kernel on NumPy arrays: ``python -m examples.cuda_c``."""

import time
from pathlib import Path

import numpy as np

from weft import cuda


def main(n: int = 1 << 24) -> None:
    """Sum up floats and doubles, and compare with NumPy."""
    module = cuda.Module(Path(__file__).parent / "reduction.cu")
    for name, dtype in (("sum<float>", np.float32), ("sum<double>", np.float64)):
        kernel = module[name]
        x = np.random.default_rng(1).random(n).astype(dtype)
        result = np.zeros(1, dtype)
        kernel[256, 256](x, n, result)
        result[:] = 0
        begin = time.perf_counter()
        kernel[256, 256](x, n, result)
        elapsed = time.perf_counter() - begin
        error = abs(result[0] - x.sum(dtype=np.float64)) / n
        print(f"{name}: {result[0]:.6g}, off by {error:.1e} an element; {x.nbytes / elapsed / 1e9:.1f} GB/s")


if __name__ == "__main__":
    main()
