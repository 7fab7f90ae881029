"""Indices of type int, unsigned and size_t in C dialects: threads at ends of rows access neighbours, as others do."""

import numpy as np
import pytest

from weft import cuda

SOURCE = """
typedef unsigned char byte;
extern "C" __global__ void blur(const byte *a, byte *out, INDEX h, int w) {
  INDEX x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) out[y * w + x] = (a[y * w + x - 1] + a[y * w + x + 1]) / 2;
}
extern "C" __global__ void far(const byte *in, byte *out, int least) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[x]) out[(long long)(x - 13 + least) + 2147483658] = in[x];
}
extern "C" __global__ void product(const float *a, const float *b, float *c, int h, int w, int n) {
  INDEX x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= h || x >= w) return;
  float s = 0;
  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * w + x];
  c[y * w + x] = s;
}
"""


@pytest.mark.parametrize("index", ["int", "unsigned", "size_t"])
def test_ends_of_rows_are_no_gathers(index: str) -> None:
    module = cuda.Module(f"#define INDEX {index}\n{SOURCE}")
    draw = np.random.default_rng(5)
    a = draw.integers(0, 256, (9, 205), np.uint8)
    for width in (205, 1):
        out = np.zeros_like(a)
        module.blur[(4, 3), (64, 4)](a, out, 9, width)
        wanted = np.zeros_like(a)
        if width > 1:
            wanted[1:-1, 1:-1] = (a[1:-1, :-2].astype(int) + a[1:-1, 2:]) // 2
        assert (out == wanted).all()
    a, b = draw.integers(0, 9, (21, 7)).astype(np.float32), draw.integers(0, 9, (7, 19)).astype(np.float32)
    c = np.zeros((21, 19), np.float32)
    module.product[(2, 2), (16, 16)](a, b, c, 21, 19, 7)
    assert (c == a @ b).all()
    if index != "unsigned":
        assert not any("gather" in made.inspect_llvm() for made in (module.blur, module.product))


def test_sums_may_wrap_around_where_threads_do_nothing() -> None:
    """The sum is -2^31 in thread 10, the first one that computes it."""
    module = cuda.Module(f"#define INDEX int\n{SOURCE}")
    threads = np.arange(128)
    given, out = (
        np.where((threads > 9) & (threads % 7 > 0), threads, 0).astype(np.uint8),
        np.zeros(128, np.uint8),
    )
    module.far[2, 64](given, out, -(2**31) + 3)
    assert (out == given).all()
    assert "scatter" not in module.far.inspect_llvm()
