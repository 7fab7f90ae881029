"""Numbers of 16 bits in CUDA C++: what functions give for all kinds of bits; arguments and variables of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from weft import cuda
from weft.errors import ArgumentError

pytest.importorskip("ziglang")

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__constant__ __nv_bfloat16 gains[2];
__device__ half shift;
__global__ void both(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __nv_bfloat16 *c, __nv_bfloat162 *o) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  o[5 * t] = __halves2bfloat162(a[t] + b[t], a[t] - b[t]);
  o[5 * t + 1] = __halves2bfloat162(a[t] * b[t], a[t] / b[t]);
  o[5 * t + 2] = __halves2bfloat162(__hfma(a[t], b[t], c[t]), __hmax(a[t], b[t]));
  o[5 * t + 3] = __halves2bfloat162(__hmin_nan(a[t], b[t]), -a[t]);
  o[5 * t + 4] = __halves2bfloat162(hsqrt(__habs(a[t])), __float2bfloat16_ru(__bfloat162float(a[t]) * 1.01f));
}
template <class T> __global__ void to_whole(const T *a, int *o) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  o[3 * t] = (int)a[t];
  o[3 * t + 1] = (short)a[t];
  o[3 * t + 2] = __hisinf(a[t]) * 10 + __hltu(a[t], T(1.0f)) * 2 + __hlt(a[t], T(1.0f));
}
__global__ void one(__nv_bfloat16 a, float *x) { x[threadIdx.x] = (float)(a * gains[1]) + (float)shift; }
__global__ void sum(half *x, __nv_bfloat16 *y, const half *a) {
  atomicAdd(x, a[threadIdx.x]);
  atomicAdd(y, __float2bfloat16(__half2float(a[threadIdx.x])));
}
__global__ void from_long(const long long *x, __nv_bfloat16 *o) { o[threadIdx.x] = __ll2bfloat16_rn(x[threadIdx.x]); }
"""


@pytest.fixture(scope="module")
def module() -> cuda.Module:
    return cuda.Module(SOURCE, names=["to_whole<half>", "to_whole<__nv_bfloat16>"])


def _floats(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _bits(values: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of floats."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _nearest(exact: Fraction) -> float:
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent += size >= Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - 8, -133)
    found = round(size / step) * step
    return math.copysign(float(found) if found < 2**128 else math.inf, exact)


def test_functions_of_bfloat16_round_once(module):
    random = np.random.default_rng(0)
    special = [0, 0x8000, 1, 0x8001, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0x3F80]
    a, b, c = (random.integers(0, 1 << 16, 1024).astype(np.uint16) for _ in range(3))
    for values in (a, b, c):
        values[random.random(1024) < 0.2] = random.choice(special)
    # The product is halfway between two numbers, and what is added is far below.
    a[:2], b[:2], c[:2] = 0x3F81, 0x3FC0, (0x0100, 0x8100)
    out = np.zeros((1024, 10), np.uint16)
    module.both[4, 256](a, b, c, out)
    x, y, z = _floats(a), _floats(b), _floats(c)
    with np.errstate(all="ignore"):
        wanted = [x + y, x - y, x * y, x / y, None, np.fmax(x, y), np.minimum(x, y), -x, np.sqrt(np.abs(x))]
    for k, values in enumerate(wanted):
        if values is not None:
            got = _floats(out[:, k])
            assert np.array_equal(got, _floats(_bits(values)), equal_nan=True), k
    for i in range(1024):
        exact = [float(v[i]) for v in (x, y, z)]
        if all(map(math.isfinite, exact)):
            value = Fraction(exact[0]) * Fraction(exact[1]) + Fraction(exact[2])
            assert not value or _nearest(value) == float(_floats(out[i : i + 1, 4])[0])
    with np.errstate(all="ignore"):
        up = x * np.float32(1.01)
    found, finite = _floats(out[:, 9]), np.isfinite(up) & (np.abs(up) < 3e38)
    below = _floats(out[:, 9] + np.where(out[:, 9] >> 15, 1, -1).astype(np.uint16))
    assert (found >= up)[finite].all() and (below < up)[finite & (found > 0)].all()


@pytest.mark.parametrize("name", ["half", "__nv_bfloat16"])
def test_integers_of_such_numbers_are_the_nearest_ones(module, name):
    bits = np.arange(1 << 16).astype(np.uint16)
    values = bits.view(np.float16) if name == "half" else bits
    with np.errstate(invalid="ignore"):
        numbers = (bits.view(np.float16) if name == "half" else _floats(bits)).astype(np.float64)
    out = np.zeros((1 << 16, 3), np.int32)
    module[f"to_whole<{name}>"][256, 256](values, out)
    for k, width in ((0, 32), (1, 16)):
        low, high = -(1 << width - 1), (1 << width - 1) - 1
        wanted = np.clip(np.trunc(np.nan_to_num(numbers, nan=0.0, posinf=1e30, neginf=-1e30)), low, high)
        assert np.array_equal(out[:, k], wanted.astype(np.int64))
    infinite = np.where(np.isinf(numbers), np.sign(numbers), 0)
    assert np.array_equal(out[:, 2], 10 * infinite + 2 * ~(numbers >= 1) + (numbers < 1))


def test_numbers_and_variables_are_passed_as_values_or_bits(module):
    x = np.zeros(4, np.float32)
    module.variable("shift")[...] = 0.5
    variable = module.gains
    if variable.dtype == np.uint16:
        variable[:] = (0x3F80, 0x4000)
    else:
        variable[:] = [1, 2]
    for given in (1.5, np.uint16(0x3FC0), variable[:1].view(np.uint16) + np.uint16(0x40)):
        module.one[1, 4](given, x)
        assert x.tolist() == [3.5] * 4
    wide = np.array([(1 << 60) + (1 << 52) + 1, -(1 << 60) - (1 << 52) - 1, 257, -3])
    out = np.zeros(4, np.uint16)
    module.from_long[1, 4](wide, out)
    assert _floats(out).tolist() == [float(_nearest(Fraction(int(w)))) for w in wide]
    with pytest.raises(ArgumentError, match=r"pointer to __nv_bfloat16, and the array is of float16"):
        module.from_long[1, 4](wide, out.view(np.float16))
    with pytest.raises(ArgumentError, match=r"it is a __nv_bfloat16, and str"):
        module.one[1, 4]("1", x)


def test_sums_at_one_place_are_no_races():
    module = cuda.Module(SOURCE, debug=True)
    x, y = np.zeros(1, np.float16), np.zeros(1, np.uint16)
    module.sum[1, 40](x, y, (np.arange(40) % 3).astype(np.float16))
    assert x[0] == 39 and _floats(y)[0] == 39
