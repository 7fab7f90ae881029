"""Conversions between the scalar types: by call, by store and by argument."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

from conformance.cases import Case, Cases
from conformance.data import FLOATS, INTEGERS, floats, given, ints, of, small, special, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()


@cases.kernel(
    lambda rng: (*(np.zeros(48, dtype) for dtype in INTEGERS), ints(rng, np.int64)),
)
def integer_to_every_integer(i8, i16, i32, i64, u8, u16, u32, u64, x):
    i = cuda.grid(1)
    if i < x.size:
        i8[i] = np.int8(x[i])
        i16[i] = np.int16(x[i])
        i32[i] = np.int32(x[i])
        i64[i] = np.int64(x[i])
        u8[i] = np.uint8(x[i])
        u16[i] = np.uint16(x[i])
        u32[i] = np.uint32(x[i])
        u64[i] = np.uint64(x[i])


@cases.kernel(
    lambda rng: (*(np.zeros(48, dtype) for dtype in INTEGERS), ints(rng, np.int64)),
)
def store_converts(i8, i16, i32, i64, u8, u16, u32, u64, x):
    i = cuda.grid(1)
    if i < x.size:
        i8[i] = x[i]
        i16[i] = x[i]
        i32[i] = x[i]
        i64[i] = x[i]
        u8[i] = x[i]
        u16[i] = x[i]
        u32[i] = x[i]
        u64[i] = x[i]


@cases.kernel(
    lambda rng: (*(np.zeros(48, dtype) for dtype in INTEGERS), special(rng, np.float64)),
)
def float_to_integer_saturates(i8, i16, i32, i64, u8, u16, u32, u64, x):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i] * 100.0
        i8[i] = np.int8(v)
        i16[i] = np.int16(v)
        i32[i] = np.int32(v)
        i64[i] = np.int64(v)
        u8[i] = np.uint8(v)
        u16[i] = np.uint16(v)
        u32[i] = np.uint32(v)
        u64[i] = np.uint64(v)


@cases.kernel(to_out(np.int64, of(special, np.float32)))
def int_of_float32(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = int(x[i])


@cases.kernel(to_out(np.int32, of(floats, np.float32, scale=1000)))
def store_of_a_float_truncates(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


def to_float(single, double, x):
    i = cuda.grid(1)
    if i < x.size:
        single[i] = np.float32(x[i])
        double[i] = float(x[i])


def _pair_and(dtype):
    return lambda rng: (np.zeros(48, np.float32), np.zeros(48, np.float64), ints(rng, dtype))


for dtype in INTEGERS:
    cases.add(to_float, _pair_and(dtype), f"float_of_{dtype.__name__}")


@cases.kernel(to_out(np.float32, of(special, np.float64)))
def float64_to_float32_rounds(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.float32(x[i] / 3)


@cases.kernel(to_out(np.float64, of(special, np.float32)))
def float32_to_float64_is_exact(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.float64(x[i])


@cases.kernel(to_out(np.float16, of(floats, np.float32), of(floats, np.float16)))
def float16_is_storage(out, x, h):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.float16(x[i] + np.float32(h[i]))


@cases.kernel(to_out(np.float32, of(special, np.float16)))
def float16_loads(out, h):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = h[i]


def _bfloat16_args(rng):
    # The bits of a NaN are of no account, and the runner takes these for something else than floats.
    x, y = (floats(rng, np.float32).astype(bfloat16) for _ in range(2))
    return np.zeros(x.size, bfloat16), np.zeros(x.size, np.float32), x, y


@cases.kernel(_bfloat16_args)
def bfloat16_arithmetic(out, wide, x, y):
    i = cuda.grid(1)
    if i < out.size:
        a, b = x[i], y[i]
        if a < b:
            a = -a * b
        out[i] = a / b + a
        wide[i] = abs(a) - b


def to_bool(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = bool(x[i])


for dtype in (np.int32, np.uint8):
    cases.add(to_bool, to_out(np.bool_, of(small, dtype, high=2)), f"bool_of_{dtype.__name__}")
for dtype in FLOATS:
    cases.add(to_bool, to_out(np.bool_, of(special, dtype)), f"bool_of_{dtype.__name__}")


@cases.kernel(to_out(np.int32, lambda rng: rng.integers(0, 2, 48).astype(np.bool_)))
def bool_to_numbers(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = int(x[i]) * 10 + np.int32(x[i])


@cases.kernel(to_out(np.int32, of(ints, np.uint8)))
def byte_widened_before_arithmetic(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.int32(x[i]) * 1000 - np.int32(7)


@cases.kernel(to_out(np.uint8, of(floats, np.float32, scale=100)))
def clamp_to_a_byte(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.uint8(min(max(x[i] + np.float32(0.5), np.float32(0)), np.float32(255)))


@cases.kernel(
    to_out(
        np.float64, given(np.int8(-3)), given(np.uint16(65535)), given(np.float32(0.5)), given(True), size=4
    )
)
def scalar_arguments_keep_their_type(out, a, b, c, d):
    i = cuda.grid(1)
    if i < 1:
        out[0] = a
        out[1] = b
        out[2] = c
        out[3] = 1.0 if d else 0.0


@cases.kernel(to_out(np.float32, of(small, np.int32)))
def types_of_numba_name(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.float32(np.int16(x[i])) / np.float32(4)


@cases.kernel(to_out(np.int64, of(ints, np.int8), of(ints, np.uint8)))
def sign_and_zero_extension(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.int64(x[i]) * 65536 + np.int64(y[i])


@cases.kernel(to_out(np.uint64, of(floats, np.float64)))
def negative_float_to_unsigned_is_zero(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.uint64(-abs(x[i]) - 1.0)


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)
