"""CUDA C++: what kernel writers type, run beside NumPy; variables, templates, host code in the file, wrong programs."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from weft import cuda
from weft.cli import main
from weft.diag.remarks import RemarkKind
from weft.errors import (
    ArgumentError,
    BuildError,
    FailedAssertionError,
    LaunchError,
    SanitizerError,
    SettingError,
    UnsupportedError,
)

pytest.importorskip("ziglang")

SOURCE = r"""
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <assert.h>
namespace cg = cooperative_groups;
struct P { float a; int b; };
__constant__ float coef[4];
__device__ int counter = 3;
__constant__ P setting;
namespace ns { __device__ float gain[2][3] = {{1, 2, 3}, {4, 5, 6}}; }

__global__ void saxpy(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
template <class T, int N> __global__ void reversed(T *x, P p) {
  __shared__ T tile[N];
  const int i = threadIdx.x;
  tile[i] = x[blockIdx.x * N + i];
  __syncthreads();
  x[blockIdx.x * N + i] = tile[N - 1 - i] * coef[i & 3] + p.a;
  atomicAdd(&counter, p.b);
}
__global__ void warps(const int *x, int *y) {
  const int t = threadIdx.x;
  y[t] = __shfl_down_sync(~0u, x[t], 1, 8);
  y[64 + t] = __shfl_up_sync(~0u, x[t], 2, 16);
  y[128 + t] = __shfl_xor_sync(~0u, x[t], 5);
  y[192 + t] = __shfl_sync(~0u, x[t], 3, 4);
  y[256 + t] = __ballot_sync(0xffff, x[t] & 1);
  y[320 + t] = __any_sync(~0u, x[t] > 60) * 2 + __all_sync(~0u, x[t] >= 0);
  y[384 + t] = __reduce_add_sync(~0u, x[t]);
  y[448 + t] = __match_any_sync(~0u, x[t] / 4);
  y[512 + t] = __syncthreads_count(x[t] & 1);
}
__global__ void tiles(const float *x, float *y) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  float v = x[threadIdx.x];
  for (int n = tile.size() / 2; n; n /= 2) v += tile.shfl_down(v, n);
  if (tile.thread_rank() == 0) y[tile.meta_group_rank()] = v;
}
__global__ void first_lanes(const float *x, float *y) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 8) {
    for (int n = 16; n; n /= 2) v += __shfl_down_sync(0xff, v, n);
    if (threadIdx.x == 0) y[0] = v;
  }
}
__global__ void words(const unsigned *x, unsigned *y) {
  unsigned a = x[threadIdx.x], b = x[15 - threadIdx.x], *o = y + 8 * threadIdx.x;
  o[0] = __popc(a) + 100 * __clz(a) + 10000 * __ffs(a);
  o[1] = __brev(a);
  o[2] = __byte_perm(a, b, 0x5410);
  o[3] = __funnelshift_l(a, b, 7);
  o[4] = __mul24(a, b);
  o[5] = __umulhi(a, b);
  o[6] = __sad(a, b, 3);
  o[7] = __dp4a((int)a, (int)b, 5);
}
__global__ void rounded(const float *x, float *o) {
  const float a = x[2 * threadIdx.x], b = x[2 * threadIdx.x + 1];
  float *r = o + 12 * threadIdx.x;
  r[0] = __fadd_rd(a, b); r[1] = __fadd_rn(a, b); r[2] = __fadd_ru(a, b);
  r[3] = __fmul_rd(a, b); r[4] = __fmul_rn(a, b); r[5] = __fmul_ru(a, b);
  r[6] = __fdiv_rd(a, b); r[7] = __fdiv_rn(a, b); r[8] = __fdiv_ru(a, b);
  r[9] = __fmaf_rd(a, b, a); r[10] = __fmaf_rn(a, b, a); r[11] = __fmaf_ru(a, b, a);
}
__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__global__ void mixed(int *n, const half *a, half2 *b, float4 v, float *c, bool up) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  n[t] = factorial(n[t]);
  s[t] = __half2float(a[t] * __float2half(2) + a[t]);
  __syncthreads();
  b[t] = __hfma2(b[t], b[t], __float2half2_rn(1));
  auto f = [=](int i) { return s[i] * ns::gain[1][i % 3]; };
  c[t] = f(blockDim.x - 1 - t) + (up ? v.x : v.w) + rsqrtf(setting.a) + std::max(1, setting.b);
}
__global__ void say(int n) {
  if (threadIdx.x == 1) printf("%d of %d: %5.2f\n", (int)threadIdx.x, n, 1.5f);
}
__global__ void below_five(const int *x) {
  assert(x[threadIdx.x] < 5);
}
__global__ void timed(long long *x) {
  const long long begin = clock64();
  x[threadIdx.x] = clock64() - begin;
}
__global__ void past(float *x) {
  x[threadIdx.x + 1] = 0;
}
int main() {
  float *x;
  cudaMalloc(&x, 16);
  reversed<float, 64><<<4, 64>>>(x, P{1, 2});
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
"""
RECORD = np.dtype([("a", "f4"), ("b", "i4")], align=True)


@pytest.fixture(scope="module")
def module() -> cuda.Module:
    return cuda.Module(SOURCE)


def test_a_position_in_the_grid_is_contiguous(module):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    module.saxpy[4, 256](2, x, cuda.as_cuda_array(y), 1000)
    assert np.array_equal(y, 2 * x + 1)
    assert not [r for r in module.saxpy.remarks if r.kind is RemarkKind.MEMORY]
    assert "contiguous" in str(module.saxpy.report())


def test_variables_are_arrays_and_templates_have_instances(module):
    module.counter = 3
    module.coef[:] = [1, 2, 3, 4]
    instance = module["reversed<float, 64>"]
    assert instance is module["reversed<float,64>"]
    x, factors = np.arange(256, dtype=np.float32), np.tile([1, 2, 3, 4], 16)
    instance[4, 64](x, np.array((0.5, 2), RECORD)[()])
    assert np.array_equal(x, (np.arange(256).reshape(4, 64)[:, ::-1] * factors + 0.5).ravel())
    assert module.counter == 3 + 2 * 256
    # One that the file does not make shares the variables.
    n = np.arange(8, dtype=np.int32)
    module["reversed<int, 8>"][1, 8](n, np.array((0, 1), RECORD)[()])
    assert n.tolist() == [7, 12, 15, 16, 3, 4, 3, 0]
    assert module.counter == 3 + 2 * 256 + 8


def test_warps(module):
    x, y, t = np.arange(64, dtype=np.int32), np.zeros(576, np.int32), np.arange(64)
    module.warps[1, 64](x, y)
    first = t < 32
    rows = [
        np.where(t % 8 < 7, t + 1, t), np.where(t % 16 >= 2, t - 2, t), t ^ 5, t // 4 * 4 + 3,
        np.full(64, 0xAAAA), np.where(first, 1, 3), np.where(first, 496, 1520),
        15 << t % 32 // 4 * 4,
        np.full(64, 32),
    ]  # fmt: skip
    assert np.array_equal(y.reshape(9, 64).view(np.uint32), np.array(rows).astype(np.uint32))
    sums = np.zeros(8, np.float32)
    module.tiles[1, 64](x.astype(np.float32), sums)
    assert np.array_equal(sums, x.reshape(8, 8).sum(1))


@pytest.mark.parametrize("width", [None, 1])
def test_a_lane_that_is_not_there_is_read_as_0(width):
    sums, x = np.zeros(1, np.float32), np.arange(32, dtype=np.float32)
    cuda.Module(SOURCE, width=width).first_lanes[1, 32](x, sums)
    assert sums[0] == 28


def test_words(module):
    x = np.random.default_rng(1).integers(0, 1 << 32, 16, dtype=np.uint32)
    y = np.zeros((16, 8), np.uint32)
    module.words[1, 16](x, y)

    def signed(value: int, bits: int) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits if value >> bits - 1 else 0)

    for got, a, b in zip(y.tolist(), x.tolist(), x[::-1].tolist(), strict=True):
        both = (b << 32 | a).to_bytes(8, "little")
        products = [signed(a >> 8 * k, 8) * signed(b >> 8 * k, 8) for k in range(4)]
        wanted = [
            a.bit_count() + 100 * (32 - a.bit_length()) + 10000 * (a & -a).bit_length(),
            int(f"{a:032b}"[::-1], 2),
            int.from_bytes(both[:2] + both[4:6], "little"),
            (b << 32 | a) >> 25,
            signed(a, 24) * signed(b, 24),
            a * b >> 32,
            abs(signed(a, 32) - signed(b, 32)) + 3,
            sum(products) + 5,
        ]
        assert got == [w & 0xFFFFFFFF for w in wanted]


def test_rounding_down_to_nearest_and_up(module):
    x = (np.random.default_rng(2).standard_normal(32) * 1000).astype(np.float32)
    r = np.zeros((16, 4, 3), np.float32)
    module.rounded[1, 16](x, r)
    for (a, b), rows in zip(x.reshape(16, 2).tolist(), r, strict=True):
        a, b = Fraction(a), Fraction(b)
        for exact, (down, near, up) in zip((a + b, a * b, a / b, a * b + a), rows, strict=True):
            assert Fraction(float(down)) <= exact <= Fraction(float(up))
            assert near in (down, up)
            assert up == down or np.nextafter(down, np.float32(np.inf)) == up


def test_halves_vectors_recursion_and_dynamic_memory(module):
    n = np.arange(8, dtype=np.int32)
    a, b, c = np.arange(8, dtype=np.float16), np.arange(16, dtype=np.float16), np.zeros(8, np.float32)
    module.variable("ns::gain")[1, 2] = 60
    module.setting["a"], module.setting["b"] = 4, 10
    module.mixed[1, 8, 0, 32](n, a, b, (1, 2, 3, 4), c, True)
    assert n.tolist() == [1, 1, 2, 6, 24, 120, 720, 5040]
    assert np.array_equal(b, np.arange(16) ** 2 + 1)
    k = np.arange(8)[::-1]
    assert np.array_equal(c, k * 3 * np.array([4, 5, 60])[k % 3] + 1 + 0.5 + 10), (c, k)


def test_printing_and_assertions(module, capsys):
    module.say[1, 4](7)
    assert capsys.readouterr().out == "1 of 7:  1.50\n"
    with pytest.raises(FailedAssertionError, match=r"x\[threadIdx.x\] < 5 does not hold") as raised:
        module.below_five[1, 8](np.arange(8, dtype=np.int32))
    assert "assert(x[threadIdx.x] < 5)" in str(raised.value)
    module.below_five[1, 4](np.arange(4, dtype=np.int32))


def test_the_sanitizer_names_line_and_thread():
    module = cuda.Module(SOURCE, debug=True)
    x = np.full(4, -1, np.int64)
    module.timed[1, 4](x)
    assert (x >= 0).all()
    with pytest.raises(SanitizerError, match=r"x\[threadIdx.x \+ 1\] = 0"):
        module.past[1, 4](np.zeros(4, np.float32))


def test_headers_options_and_files(tmp_path: Path):
    (tmp_path / "scale.h").write_text("#define SCALE 3\n")
    file = tmp_path / "k.cu"
    text = '#include "scale.h"\n__global__ void k(T *x) { x[threadIdx.x] *= SCALE; }\n'
    file.write_text(text)
    x = np.ones(4, np.int16)
    cuda.Module(file, "-DT=short -std=c++20 -O3 -Xcompiler -fopenmp").k[1, 4](x)
    assert x.tolist() == [3] * 4
    # What is included is part of what the cache knows a program by.
    cuda.Module(text, ["-DT=short"], headers={"scale.h": "#define SCALE 5\n"}).k[1, 4](x)
    assert x.tolist() == [15] * 4


def test_analyze_reads_cu_files(tmp_path: Path, capsys):
    file = tmp_path / "k.cu"
    file.write_text(SOURCE)
    assert main(["analyze", str(file), "--function", "saxpy"]) == 0
    assert "bound" in capsys.readouterr().out


def test_wrong_programs_and_launches(module):
    with pytest.raises(BuildError, match="undeclared identifier 'y'") as raised:
        cuda.Module("__global__ void k(int *x) {\n  x[0] = y;\n}")
    assert raised.value.span is not None and raised.value.span.line == 2
    program = cuda.Module(
        "typedef int (*F)(); __device__ int one() { return 1; } __device__ F f = one;"
        "__global__ void k(int *x) { x[0] = f(); }"
    )
    with pytest.raises(UnsupportedError, match="the variable f holds the address of a function"):
        program.k[1, 1](np.zeros(1, np.int32))
    with pytest.raises(SettingError, match="--use_slow_math"):
        cuda.Module("", "--use_slow_math")
    with pytest.raises(ArgumentError, match="no kernel 'reversed<nothing, 1>': clang: use of undeclared"):
        module["reversed<nothing, 1>"]
    with pytest.raises(AttributeError, match="no kernel and no variable 'saxpi'"):
        module.saxpi
    with pytest.raises(LaunchError, match=r"write saxpy\[blocks"):
        module.saxpy(1)
    x = np.zeros(4, np.float32)
    for args, message in (
        ((1, x, x), r"takes 4 arguments \(float a, const float \* x, float \* y, int n\), and got 3"),
        (
            (1, x, x.astype(np.float64), 4),
            "'y' of saxpy: it is a pointer to float, and the array is of float64",
        ),
        ((1, x, x, 1 << 31), "does not fit the type, int"),
        ((1, x, b"\0" * 16, 4), "read-only"),
    ):
        with pytest.raises(ArgumentError, match=message):
            module.saxpy[1, 4](*args)


def test_an_installed_toolkit_has_no_say(tmp_path, monkeypatch):
    # A toolkit of long ago, where clang looks for one.
    (tmp_path / "bin").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "nvvm" / "libdevice").mkdir(parents=True)
    (tmp_path / "include" / "cuda.h").write_text("#define CUDA_VERSION 7000\n")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    monkeypatch.setenv("WEFT_CACHE", "0")
    for arch in ("sm_70", "sm_90", "sm_100"):
        module = cuda.Module("__global__ void one(int *x) { x[threadIdx.x] = 1; }", f"-arch={arch}")
        x = np.zeros(4, np.int32)
        module.one[1, 4](x)
        assert x.tolist() == [1] * 4


def test_inline_ptx_does_not_run_but_is_printed() -> None:
    source = """extern "C" __global__ void k(int *a) {
  int lane;
  asm volatile("" ::: "memory");
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  a[threadIdx.x] = lane;
}"""
    kernel = cuda.Module(source).k
    with pytest.raises(UnsupportedError, match=r":4:3: k has inline assembly"):
        kernel[1, 32](np.zeros(32, np.int32))
    assert "%laneid" in str(kernel.inspect_ptx("sm_70"))


def test_ptx_is_not_taken_for_cuda_cpp() -> None:
    with pytest.raises(ArgumentError, match=r"the source is PTX(?s:.*)weft\.ptx\.Module"):
        cuda.Module("//\n// nvcc\n.version 8.5\n.target sm_70\n")


def test_names_that_programs_take_for_given_and_functions_of_their_own():
    module = cuda.Module(r"""
#ifndef __CUDACC__
inline int max(int a, int b) { return a; }
#endif
__device__ float atomicMax(float *p, float x) {
  int *place = (int *)p, old = *place, expected;
  do {
    expected = old;
    old = atomicCAS(place, expected, __float_as_int(fmaxf(x, __int_as_float(expected)) + 1));
  } while (old != expected);
  return __int_as_float(old);
}
__global__ void k(uint *a, const ushort *b, float *c, double *d, ulong e) {
  a[threadIdx.x] = b[threadIdx.x] + (uint)__ffsll(e) + max(2, 3);
  if (threadIdx.x == 0) atomicMax(c, 4.0f);
  atomicMax(d, (double)threadIdx.x);
}""")
    a, c, d = np.zeros(8, np.uint32), np.zeros(1, np.float32), np.zeros(1)
    module.k[1, 8](a, np.arange(8, dtype=np.uint16), c, d, 8)
    assert a.tolist() == [7 + t for t in range(8)] and c[0] == 5 and d[0] == 7


def test_constants_of_the_c_library_are_there_and_may_be_included_once_more():
    source = """
    __global__ void f(float *y) {
      y[0] = INFINITY, y[1] = NAN, y[2] = (float)(M_PI_2 * M_2_PI), y[3] = -(float)HUGE_VAL, y[4] = HUGE_VALF;
    }"""
    for text in (source, f"#include <math.h>{source}", f"#include <cuda_runtime.h>{source}"):
        module = cuda.Module(text)
        y = np.zeros(5, np.float32)
        module.f[1, 1](y)
        np.testing.assert_array_equal(y, np.array([np.inf, np.nan, 1, -np.inf, np.inf], np.float32))
        assert not module.log


def test_groups_are_parted_by_labels_and_scanned():
    module = cuda.Module(r"""
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__device__ int sum(cg::thread_group g, int *s, int v) {
  const int rank = g.thread_rank();
  for (int n = g.size() / 2; n > 0; n /= 2) {
    s[rank] = v;
    g.sync();
    if (rank < n) v += s[rank + n];
    g.sync();
  }
  return rank == 0 ? v : -1;
}
__global__ void parts(const int *x, int *o) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto tile = cg::tiled_partition<8>(block);
  const int t = threadIdx.x, v = x[t];
  const auto odd = cg::binary_partition(warp, v & 1), label = cg::labeled_partition(warp, v % 3);
  o[6 * t] = odd.size() * 100 + odd.thread_rank();
  o[6 * t + 1] = cg::reduce(label, v, cg::plus<int>());
  o[6 * t + 2] = cg::inclusive_scan(tile, v);
  o[6 * t + 3] = cg::exclusive_scan(tile, v, cg::plus<int>());
  o[6 * t + 4] = tile.match_any(v & 1);
  __shared__ int copy[64], s[64];
  cg::memcpy_async(block, copy, x, sizeof copy);
  cg::wait(block);
  o[6 * t + 5] = sum(block, s, copy[63 - t]) + sum(cg::tiled_partition(block, 16), s + t / 16 * 16, v);
}""")
    x = np.random.default_rng(1).integers(0, 50, 64).astype(np.int32)
    out = np.zeros((64, 6), np.int32)
    module.parts[1, 64](x, out)
    warps, tiles = x.reshape(2, 32), x.reshape(8, 8)
    for w, warp in enumerate(warps):
        for t, v in enumerate(warp):
            alike = np.flatnonzero(warp % 2 == v % 2).tolist()
            assert out[32 * w + t, 0] == len(alike) * 100 + alike.index(t)
            assert out[32 * w + t, 1] == warp[warp % 3 == v % 3].sum()
    assert np.array_equal(out[:, 2].reshape(8, 8), np.cumsum(tiles, 1))
    assert np.array_equal(out[:, 3].reshape(8, 8), np.cumsum(tiles, 1) - tiles)
    alike = [[int(((tile % 2 == v % 2) << np.arange(8)).sum()) for v in tile] for tile in tiles]
    assert out[:, 4].reshape(8, 8).tolist() == alike
    first = np.where(np.arange(64) % 16 == 0, x.reshape(4, 16).sum(1).repeat(16), -1)
    assert np.array_equal(out[:, 5], first + np.where(np.arange(64) == 0, x.sum(), -1))


def test_objects_are_made_in_memory_that_there_is_and_what_is_absent_is_named() -> None:
    module = cuda.Module(r"""
struct P {
  int a, b;
  __device__ P(int x) : a(x), b(2 * x) {}
};
__host__ __device__ double missing() { return ::nan(""); }
__global__ void k(int *o, clock_t c, double *d) {
  __shared__ int room[64];
  const P *p = new (room + 2 * threadIdx.x) P(threadIdx.x);
  o[threadIdx.x] = p->a + p->b + (int)c;
  d[threadIdx.x] = missing();
}
__device__ float tex1D(float x) { return x; }
__global__ void own(float *o) { o[threadIdx.x] = tex1D(2.0f); }
""")
    out, d, x = np.zeros(8, np.int32), np.zeros(8), np.zeros(8, np.float32)
    module.k[1, 8](out, 5, d)
    module.own[1, 8](x)
    assert out.tolist() == [3 * t + 5 for t in range(8)] and np.isnan(d).all() and (x == 2).all()
    with pytest.raises(BuildError, match=r":1:61: .*weft has no textures and surfaces; pass a pointer"):
        cuda.Module(
            "__global__ void k(cudaTextureObject_t t, float *o) { o[0] = tex2D<float>(t, 1.f, 2.f); }"
        )
