"""Kernels of C dialects whose loads are replaced because buffers are apart: the others have a version of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blur_ptx import PTX
from weft import cuda, ptx
from weft.opencl import Program
from weft.opencl.prepare import Built, LaunchKind
from weft.opencl.source import build_source

pytest.importorskip("ziglang")

OPENCL = """
kernel void blur(global const float *a, global float *out, int n, int w) {
    int t = get_global_id(0);
    if (t < w)
        for (int i = 0; i < n; i++) out[i * w + t] = a[i * w + t] + a[(i + 1) * w + t] + a[(i + 2) * w + t];
}
"""
CUDA = (
    OPENCL.replace("kernel void", "__global__ void")
    .replace("global const", "const")
    .replace("global float", "float")
    .replace("get_global_id(0)", "blockIdx.x * blockDim.x + threadIdx.x")
)


def two_versions(launch: Callable[..., Any], kernel: Any) -> None:
    """Launch on arrays that are apart, and on some that are not; both are right, and not by the same code."""
    a = np.random.default_rng(1).random((12, 64), np.float32)
    out = np.zeros((10, 64), np.float32)
    launch(a, out, 10, 64)
    np.testing.assert_allclose(out, a[:-2] + a[1:-1] + a[2:], rtol=1e-6)
    assert kernel.compiled().terms.arrays_apart and not kernel._specializations.made
    wanted = a.copy()
    for i in range(10):
        wanted[i + 2] = wanted[i] + wanted[i + 1] + wanted[i + 2]
    launch(a, a[2:], 10, 64)
    np.testing.assert_allclose(a, wanted, rtol=1e-6)
    (special,) = kernel._specializations.made.values()
    assert not special.options.arrays_apart and not special.terms.arrays_apart


def test_opencl() -> None:
    kernel = Program(OPENCL).blur
    two_versions(lambda *args: kernel((64,), (32,), *args), kernel)


def test_cuda_cpp() -> None:
    kernel = cuda.Module(CUDA).blur
    two_versions(kernel[2, 32], kernel)


def test_ptx() -> None:
    kernel = ptx.Module(PTX).blur
    two_versions(kernel[2, 32], kernel)


def test_a_kernel_that_needs_no_second_version_has_none() -> None:
    kernel = Program(
        "kernel void twice(global float *x, global float *y) { y[get_global_id(0)] = x[0]; }"
    ).twice
    x = np.ones(64, np.float32)
    kernel((64,), (32,), x, x)
    assert not kernel.compiled().terms.arrays_apart and not kernel._specializations.made


def test_launchers_say_whether_buffers_are_apart() -> None:
    built = Built(build_source(OPENCL))
    apart, together = (built.code("blur", LaunchKind((64, 1, 1), apart=apart)) for apart in (True, False))
    assert apart.terms.arrays_apart and not together.terms.arrays_apart
