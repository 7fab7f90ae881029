"""Volatile accesses: vectors of shared memory, one by one elsewhere."""

import numpy as np
import pytest

from weft import cuda, opencl

pytest.importorskip("ziglang")

LEVELS = ["x86-64", "x86-64-v3", ""]

WARP_SUM = """
kernel void k(global const float *x, global float *out, local volatile float *s) {
  int t = get_local_id(0);
  s[t] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 16; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = s[31 - t] + s[0];
}"""

TAGGED = """
kernel void k(global const uchar *x, global uint *out, int n) {
  volatile local uint s[16];
  uint t = get_local_id(0), tag = t << 27, mask = 0x7ffffff;
  if (t < 16) s[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = t; i < n; i += 32) {
    uint count;
    do {
      count = tag | ((s[x[i]] & mask) + 1);
      s[x[i]] = count;
    } while (s[x[i]] != count);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t < 16) out[t] = s[t] & mask;
}"""


def lane_by_lane(kernel) -> list[str]:
    return [r.message for r in kernel.remarks if r.kind.value == "lane-by-lane"]


def summed(x: np.ndarray) -> np.ndarray:
    """What `WARP_SUM` makes of the numbers of one work-group."""
    s = x.copy()
    for d in (16, 8, 4, 2, 1):
        s[:d] += s[d : 2 * d]
    return s[::-1] + s[0]


@pytest.mark.parametrize("level", LEVELS)
def test_shared_memory_is_accessed_in_vectors(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    x = np.random.default_rng(3).random(96, np.float32)
    expected = np.concatenate([summed(row) for row in x.reshape(3, 32)])
    for debug in (False, True):
        kernel = opencl.Program(WARP_SUM, debug=debug).k
        out = np.zeros_like(x)
        kernel(96, 32, x, out, opencl.LocalMemory(128))
        assert out.tolist() == expected.tolist()
        if not debug:
            assert lane_by_lane(kernel) == []


@pytest.mark.parametrize("level", LEVELS)
def test_what_another_lane_has_stored_is_read(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes that store at one place find out who was the last; so none is forwarded what it has stored itself."""
    monkeypatch.setenv("WEFT_CPU", level)
    x = np.random.default_rng(4).integers(0, 16, 640).astype(np.uint8)
    kernel = opencl.Program(TAGGED).k
    out = np.zeros(16, np.uint32)
    kernel(32, 32, x, out, x.size)
    assert out.tolist() == np.bincount(x, minlength=16).tolist()
    assert lane_by_lane(kernel) == []


def test_shared_memory_of_cuda_is_accessed_in_vectors() -> None:
    module = cuda.Module("""
    __global__ void k(const float *x, float *out) {
      volatile __shared__ float s[32];
      s[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      out[threadIdx.x] = s[31 - threadIdx.x];
    }""")
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    module.k[1, 32](x, out)
    assert out.tolist() == x[::-1].tolist()
    assert lane_by_lane(module.k) == []


def test_memory_that_others_see_is_accessed_one_by_one() -> None:
    kernel = opencl.Program("kernel void k(volatile global int *x) { x[get_global_id(0)] += 1; }").k
    x = np.zeros(32, np.int32)
    kernel(32, 32, x)
    assert x.tolist() == [1] * 32
    assert len(lane_by_lane(kernel)) == 2
