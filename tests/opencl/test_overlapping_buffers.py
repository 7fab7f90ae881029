"""Kernels of C dialects whose loads are replaced because buffers are apart: the others have a version of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry blur(.param .u64 a, .param .u64 out, .param .u32 n, .param .u32 w)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<6>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r2, [w];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  mul.wide.u32 %rd3, %r2, 4;
  mul.wide.u32 %rd4, %r6, 4;
  add.s64 %rd1, %rd1, %rd4;
  add.s64 %rd2, %rd2, %rd4;
  mov.u32 %r7, 0;
next:
  setp.ge.s32 %p, %r7, %r1;
  @%p bra done;
  add.s64 %rd5, %rd1, %rd3;
  add.s64 %rd6, %rd5, %rd3;
  ld.global.f32 %f1, [%rd1];
  ld.global.f32 %f2, [%rd5];
  ld.global.f32 %f3, [%rd6];
  add.f32 %f4, %f1, %f2;
  add.f32 %f5, %f4, %f3;
  st.global.f32 [%rd2], %f5;
  mov.u64 %rd1, %rd5;
  add.s64 %rd2, %rd2, %rd3;
  add.s32 %r7, %r7, 1;
  bra next;
done:
  ret;
}
"""


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
