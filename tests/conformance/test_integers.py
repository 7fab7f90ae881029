"""Integer arithmetic, comparison and bit operations of every width, wrap-around and division included."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import INTEGERS, given, ints, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

BITS = {
    8: (np.int8, np.uint8),
    16: (np.int16, np.uint16),
    32: (np.int32, np.uint32),
    64: (np.int64, np.uint64),
}
SIGNED = tuple(pair[0] for pair in BITS.values())
UNSIGNED = tuple(pair[1] for pair in BITS.values())


def pair(dtype, other=None):
    """Make an output of the first type and two inputs."""
    return to_out(dtype, of(ints, dtype), of(ints, other or dtype))


@cases.kernel(pair(np.int32))
def add(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cases.kernel(pair(np.int32))
def subtract(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] - y[i]


@cases.kernel(pair(np.int32))
def multiply(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i]


def ring(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] * y[i] + x[i] - y[i]


for dtype in INTEGERS:
    cases.add(ring, to_out(dtype, of(ints, dtype), of(ints, dtype), size=(4, 48)), f"ring_{dtype.__name__}")


def bits(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] & y[i]
        out[1, i] = x[i] | y[i]
        out[2, i] = x[i] ^ y[i]
        out[3, i] = ~x[i]
        out[4, i] = (x[i] & ~y[i]) | (y[i] ^ x[i])


for dtype in INTEGERS:
    cases.add(bits, to_out(dtype, of(ints, dtype), of(ints, dtype), size=(5, 48)), f"bits_{dtype.__name__}")


def division(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] // y[i]
        out[1, i] = x[i] % y[i]


def _nonzero(rng, dtype):
    values = ints(rng, dtype)
    values[values == 0] = 3
    # INT_MIN // -1 overflows: defined by the dialect, but NumPy warns; it has a case of its own.
    values[values == np.asarray(-1).astype(dtype)] = 5
    return values


for dtype in INTEGERS:
    cases.add(
        division,
        to_out(dtype, of(ints, dtype), of(_nonzero, dtype), size=(2, 48)),
        f"division_{dtype.__name__}",
    )


@cases.kernel(to_out(np.int32, of(small, np.int32, low=-30, high=30), size=(6, 48)))
def division_by_constants(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] // 7
        out[1, i] = x[i] % 7
        out[2, i] = x[i] // -7
        out[3, i] = x[i] % -7
        out[4, i] = x[i] // 8
        out[5, i] = x[i] % 8


def _by_zero(out, x):
    out[:] = 0


def by_zero(out, x):
    i = cuda.grid(1)
    if i < x.size:
        zero = x[i] - x[i]
        out[0, i] = x[i] // zero
        out[1, i] = x[i] % zero


for dtype in (np.int8, np.int32, np.uint32, np.int64):
    cases.add(
        by_zero,
        to_out(dtype, of(ints, dtype), size=(2, 48)),
        f"by_zero_{dtype.__name__}",
        expect=_by_zero,
        undefined=True,
    )


def _least_by_minus_one(out, x, y):
    out[0], out[1] = x, 0


def least_by_minus_one(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] // y[i]
        out[1, i] = x[i] % y[i]


for dtype in SIGNED:
    least = np.full(48, np.iinfo(dtype).min, dtype)
    cases.add(
        least_by_minus_one,
        to_out(dtype, given(least), given(np.full(48, -1, dtype)), size=(2, 48)),
        f"least_by_minus_one_{dtype.__name__}",
        expect=_least_by_minus_one,
    )


@cases.kernel(to_out(np.float64, of(ints, np.int32), of(_nonzero, np.int32)))
def true_division(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / y[i]


@cases.kernel(to_out(np.float64, of(ints, np.int64), of(small, np.int64, low=0, high=2)))
def true_division_by_zero(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / y[i]


def shifts(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] << y[i]
        out[1, i] = x[i] >> y[i]
        out[2, i] = x[i] << 3
        out[3, i] = x[i] >> 5


for dtype in INTEGERS:
    cases.add(
        shifts,
        to_out(dtype, of(ints, dtype), of(small, dtype, high=np.dtype(dtype).itemsize * 8), size=(4, 48)),
        f"shifts_{dtype.__name__}",
    )


def _over_long(out, x, y):
    out[0] = 0
    out[1] = np.where(x < 0, -1, 0).astype(x.dtype)


def over_long_shifts(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] << y[i]
        out[1, i] = x[i] >> y[i]


for dtype in (np.int8, np.int32, np.uint32, np.int64):
    width = np.dtype(dtype).itemsize * 8
    cases.add(
        over_long_shifts,
        to_out(dtype, of(ints, dtype), of(small, dtype, low=width, high=width + 20), size=(2, 48)),
        f"over_long_shifts_{dtype.__name__}",
        expect=_over_long,
    )


def compare(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] < y[i]
        out[1, i] = x[i] <= y[i]
        out[2, i] = x[i] > y[i]
        out[3, i] = x[i] >= y[i]
        out[4, i] = x[i] == y[i]
        out[5, i] = x[i] != y[i]


for dtype in INTEGERS:
    cases.add(
        compare, to_out(np.bool_, of(ints, dtype), of(ints, dtype), size=(6, 48)), f"compare_{dtype.__name__}"
    )


@cases.kernel(to_out(np.bool_, of(ints, np.int32), of(ints, np.uint32), size=(3, 48)))
def compare_signed_with_unsigned(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] < y[i]
        out[1, i] = x[i] == y[i]
        out[2, i] = y[i] >= x[i]


@cases.kernel(to_out(np.int64, of(ints, np.int8), of(ints, np.uint16), of(ints, np.uint32), size=(3, 48)))
def mixed_widths(out, x, y, z):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] * y[i]
        out[1, i] = x[i] + z[i]
        out[2, i] = y[i] * z[i]


@cases.kernel(to_out(np.int32, of(ints, np.int32), size=(4, 48)))
def unary(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = -x[i]
        out[1, i] = +x[i]
        out[2, i] = ~x[i]
        out[3, i] = abs(x[i])


@cases.kernel(to_out(np.uint8, of(ints, np.uint8), size=(2, 48)))
def unary_unsigned(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = -x[i]
        out[1, i] = ~x[i]


@cases.kernel(to_out(np.int32, of(ints, np.int32), size=(4, 48)))
def powers_by_constants(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] ** 2
        out[1, i] = x[i] ** 3
        out[2, i] = x[i] ** 1
        out[3, i] = x[i] ** 0


@cases.kernel(to_out(np.int64, of(small, np.int64, low=-9, high=9), of(small, np.int64, low=0, high=12)))
def powers(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] ** y[i]


@cases.kernel(to_out(np.int32, of(ints, np.int32), of(ints, np.int32), size=(4, 48)))
def least_and_greatest(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = min(x[i], y[i])
        out[1, i] = max(x[i], y[i])
        out[2, i] = min(x[i], y[i], 17)
        out[3, i] = max(min(x[i], 100), -100)


@cases.kernel(to_out(np.int64, of(small, np.int32), given(2**40 + 1)))
def python_int_argument_is_64_bits_wide(out, x, n):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * n


@cases.kernel(to_out(np.int64, of(ints, np.int32)))
def thread_id_widens_a_narrower_integer(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + i


@cases.kernel(to_out(np.int16, of(ints, np.int16)))
def literal_takes_the_type_of_its_partner(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (x[i] + 1000) // 2


@cases.kernel(to_out(np.uint32, of(ints, np.uint32), given(np.uint32(0x9E3779B9))))
def typed_scalar_argument(out, x, k):
    i = cuda.grid(1)
    if i < out.size:
        h = x[i] * k
        h ^= h >> 15
        h *= np.uint32(0x85EBCA6B)
        out[i] = h ^ (h >> 13)


@cases.kernel(to_out(np.int32, of(ints, np.int32), of(ints, np.int32)))
def augmented(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        a = x[i]
        a += y[i]
        a *= 3
        a -= 1
        a ^= y[i]
        a |= 5
        a &= 0xFFFFFF
        a <<= 2
        a >>= 1
        a //= 7
        a %= 1000
        a **= 2
        out[i] = a


@cases.kernel(to_out(np.int32, of(ints, np.uint32)))
def bit_tricks(out, x):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        v = v - ((v >> 1) & 0x55555555)
        v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
        v = (v + (v >> 4)) & 0x0F0F0F0F
        out[i] = (v * np.uint32(0x01010101)) >> 24


def intrinsics(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = cuda.popc(x[i])
        out[1, i] = cuda.clz(x[i])
        out[2, i] = cuda.ffs(x[i])


for dtype in (np.int32, np.uint32, np.int64, np.uint64):
    cases.add(intrinsics, to_out(np.int64, of(ints, dtype), size=(3, 48)), f"bit_intrinsics_{dtype.__name__}")


def reverse(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = cuda.brev(x[i])


for dtype in (np.uint32, np.uint64):
    cases.add(reverse, to_out(dtype, of(ints, dtype)), f"brev_{dtype.__name__}")


@cases.kernel(to_out(np.int32, of(ints, np.int32), of(ints, np.int32)))
def selp(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.selp(x[i] > y[i], x[i], y[i])


def _bool_pair(rng):
    return rng.integers(0, 2, 48).astype(np.bool_)


@cases.kernel(to_out(np.bool_, _bool_pair, _bool_pair, size=(6, 48)))
def booleans(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] & y[i]
        out[1, i] = x[i] | y[i]
        out[2, i] = x[i] ^ y[i]
        out[3, i] = not x[i]
        out[4, i] = x[i] and not y[i]
        out[5, i] = x[i] == y[i]


@cases.kernel(to_out(np.int64, of(small, np.int64, high=2**31), of(small, np.int64, low=1, high=2**31)))
def greatest_common_divisor(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        a, b = x[i], y[i]
        while b != 0:
            a, b = b, a % b
        out[i] = a


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)
