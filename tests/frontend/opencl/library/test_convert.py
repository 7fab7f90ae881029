"""Conversions: all values of 8 and 16 bits, edges and random values of the others, in every mode.

The reference rounds exactly, by Python's fractions of integers or in arrays of a wider type.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest

from frontend.opencl.library.running import FLOATS, INTEGERS, TYPES, Call, Program, load

FUZZ = bool(os.environ.get("WEFT_FUZZ"))
MODES = ("", "_rte", "_rtz", "_rtp", "_rtn")
TARGETS = INTEGERS if FUZZ else ("char", "uint", "long", "short")
DRAWS = 2000 if FUZZ else 60


def values(t: str) -> np.ndarray:
    """All of a type of up to 16 bits; edges of it and of the other types, and random numbers, of a larger one."""
    kind = np.dtype(TYPES[t])
    if kind.itemsize <= 2:
        return np.arange(1 << (8 * kind.itemsize), dtype=f"u{kind.itemsize}").view(kind)
    edges = [
        0,
        1,
        2,
        3,
        5,
        65504,
        65519,
        65520,
        65521,
        65535,
        70000,
        2**24 + 1,
        2**24 + 2,
        2**24 + 3,
        2**53 + 1,
    ]
    edges += [2**k + d for k in (7, 8, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 62, 63) for d in (-1, 0, 1)]
    edges += [-e for e in edges]
    draw = np.random.default_rng(kind.itemsize)
    if t in INTEGERS:
        info = np.iinfo(kind)
        inside = [e for e in edges if info.min <= e <= info.max] + [int(info.max), int(info.min)]
        random = [int(x) >> int(draw.integers(60)) for x in draw.integers(-(2**63), 2**63 - 1, DRAWS)]
        return np.array(inside + [r for r in random if info.min <= r <= info.max], kind)
    parts = [
        0.5,
        1.5,
        2.5,
        126.5,
        127.5,
        128.5,
        254.5,
        255.5,
        32767.5,
        2**-24,
        2**-25,
        2**-25 * 1.5,
        2**-15 * 1.001,
        1e-30,
    ]
    parts += [-p for p in parts] + [-0.0, math.inf, -math.inf, math.nan]
    with np.errstate(over="ignore"):
        named = np.array(edges + parts, np.float64)
        all_named = np.concatenate([named, np.nextafter(named, np.inf), np.nextafter(named, -np.inf)]).astype(
            kind
        )
    random = draw.standard_normal(DRAWS) * 2.0 ** draw.integers(-30, 70, DRAWS)
    return np.concatenate([all_named, random.astype(kind)])


def rounded_integer(x: Fraction, mode: str) -> int:
    down = math.floor(x)
    rest = x - down
    if mode in ("", "_rtz"):
        return down if x >= 0 or rest == 0 else down + 1
    if mode == "_rte":
        return down + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2))
    return down if mode == "_rtn" or rest == 0 else down + 1


def to_integer(x: float, t: str, mode: str) -> int | None:
    """What saturates; None for what is not finite, by the value itself for the limits."""
    info = np.iinfo(TYPES[t])
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return int(info.max if x > 0 else info.min)
    return min(max(rounded_integer(Fraction(x), mode), int(info.min)), int(info.max))


def to_float(x: Fraction, t: str, mode: str, negative: bool) -> float:
    """The number of a floating-point type that a mode gives for an exact one."""
    info = np.finfo(TYPES[t])
    low_exponent = int(info.minexp) - int(info.nmant)
    if x == 0:
        return -0.0 if negative else 0.0
    exponent = max(_exponent(abs(x)) - int(info.nmant), low_exponent)
    unit = Fraction(2) ** exponent
    mode = mode or "_rte"
    steps = rounded_integer(x / unit, mode)
    limit = Fraction(float(info.max))
    value = steps * unit
    if abs(value) > limit:
        toward_zero = mode == "_rtz" or mode == ("_rtn" if x > 0 else "_rtp")
        return math.copysign(float(info.max) if toward_zero else math.inf, x)
    return math.copysign(float(value), -1.0 if negative else 1.0)


def _exponent(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def converted(program: Program, kernel: str, x: np.ndarray, t: str) -> np.ndarray:
    result = np.zeros(len(x), TYPES[t])
    program(kernel, np.ascontiguousarray(x), result, len(x))
    return result


@pytest.mark.parametrize("source", ["half", "float", "double"])
def test_to_integers(source: str) -> None:
    program = load("".join(
        Call(f"convert_{t}{sat}{mode}", t, (source,)).kernel(f"k_{t}{sat}{mode}")
        for t in TARGETS for sat in ("", "_sat") for mode in MODES
    ))  # fmt: skip
    x = values(source)
    if source == "half":
        # All halves through one type; the others take what is near their limits.
        thin = np.concatenate([x[::211], x[np.isnan(x) | np.isinf(x)][::99], x[np.abs(x) < 300][::41]])
    for t in TARGETS:
        chosen = x if source != "half" else thin if t != "short" else x if FUZZ else x[::97]
        for mode in MODES:
            wanted = [to_integer(float(v), t, mode) for v in chosen.tolist()]
            assert converted(program, f"k_{t}_sat{mode}", chosen, t).tolist() == wanted, (t, mode)
            info = np.iinfo(TYPES[t])
            with np.errstate(all="ignore"):
                inside = np.array(
                    [
                        math.isfinite(v) and info.min <= rounded_integer(Fraction(v), mode) <= info.max
                        for v in chosen.tolist()
                    ]
                )
            plain = converted(program, f"k_{t}{mode}", chosen[inside], t).tolist()
            assert plain == [w for w, i in zip(wanted, inside, strict=True) if i], (t, mode)


@pytest.mark.parametrize("source", INTEGERS if FUZZ else ["char", "ushort", "int", "ulong"])
def test_between_integers(source: str) -> None:
    program = load("".join(
        Call(f"convert_{t}{sat}", t, (source,)).kernel(f"k_{t}{sat}") for t in INTEGERS for sat in ("", "_sat_rtp")
    ))  # fmt: skip
    x = values(source)
    exact = x.astype(object)
    for t in INTEGERS:
        info = np.iinfo(TYPES[t])
        assert (converted(program, f"k_{t}", x, t) == x.astype(TYPES[t])).all(), t
        wanted = np.minimum(np.maximum(exact, int(info.min)), int(info.max)).astype(TYPES[t])
        assert (converted(program, f"k_{t}_sat_rtp", x, t) == wanted).all(), t


@pytest.mark.parametrize("source", (*INTEGERS, *FLOATS) if FUZZ else ["short", "int", "ulong", "double"])
def test_to_floats(source: str) -> None:
    program = load("".join(
        Call(f"convert_{t}{mode}", t, (source,)).kernel(f"k_{t}{mode}") for t in FLOATS for mode in MODES
    ))  # fmt: skip
    x = values(source)
    if source in ("short", "half"):
        x = x if FUZZ else np.concatenate([x[::97], x[-60:], x[:60]])
    for t in FLOATS:
        for mode in MODES:
            got = converted(program, f"k_{t}{mode}", x, t).astype(np.float64)
            for v, g in zip(x.tolist(), got.tolist(), strict=True):
                if isinstance(v, float) and not math.isfinite(v):
                    assert g == v or (math.isnan(g) and math.isnan(v))
                    continue
                wanted = to_float(Fraction(v), t, mode, math.copysign(1, v) < 0)
                assert (g, math.copysign(1, g)) == (wanted, math.copysign(1, wanted)), (v, t, mode)


def test_halves_exhaustively() -> None:
    """Every half to float and back, and every float between two halves next to each other, in each mode."""
    program = load(
        Call("convert_float", "float", ("half",)).kernel("up")
        + "".join(Call(f"convert_half{mode}", "half", ("float",)).kernel(f"down{mode}") for mode in MODES)
        + "".join(
            f"kernel void store{mode}(global const float *x, global half *r, long n) "
            f"{{ for (long i = 0; i < n; i++) vstore_half{mode}(x[i], i, r); }}"
            for mode in MODES
        )
        + "kernel void load(global const half *x, global float *r, long n) "
        "{ for (long i = 0; i < n; i++) r[i] = vload_half(i, x); }"
    )
    every = values("half")
    assert np.array_equal(converted(program, "up", every, "float"), every.astype(np.float32), equal_nan=True)
    assert np.array_equal(
        converted(program, "load", every, "float"), every.astype(np.float32), equal_nan=True
    )
    finite = np.sort(every[np.isfinite(every)].astype(np.float32))
    low, high = finite[:-1], finite[1:]
    middle = ((low.astype(np.float64) + high) / 2).astype(np.float32)
    for x in (low, middle, np.nextafter(middle, high), np.nextafter(low, high)):
        exact = x == low
        with np.errstate(all="ignore"):
            nearest = x.astype(np.float16)
        down, up = np.where(exact, low, np.where(x == high, high, low)), np.where(exact, low, high)
        wanted = {"": nearest, "_rte": nearest, "_rtn": down, "_rtp": up, "_rtz": np.where(x < 0, up, down)}
        for mode, right in wanted.items():
            for kernel in ("down", "store"):
                got = converted(program, f"{kernel}{mode}", x, "half")
                assert (got == right.astype(np.float16)).all(), (kernel, mode)


def test_vectors() -> None:
    """Elements of a vector are where they belong, and vectors of three halves stand at every fourth."""
    program = load(
        Call("convert_uchar3_sat_rte", "uchar3", ("float3",)).kernel("three")
        + Call("convert_double16", "double16", ("long16",)).kernel("sixteen")
        + """
        kernel void halves(global const float *x, global half *r, long n) {
          vstore_half3_rtz(vload3(0, x), 1, r); vstorea_half3(vload3(0, x), 1, r + 8);
          vstore_half16(vload16(0, x), 1, r);
        }
        kernel void back(global const half *x, global float *r, long n) {
          vstore3(vloada_half3(1, x), 0, r); vstore3(vload_half3(1, x), 1, r); vstore8(vload_half8(1, x), 1, r);
        }
        """
    )
    x = np.array([1.5, 2.5, 300, -4, 0.5, 255.5], np.float32)
    result = np.zeros(6, np.uint8)
    program("three", x, result, 2)
    assert result.tolist() == [2, 2, 255, 0, 0, 255]
    numbers, doubles = np.arange(-16, 16, dtype=np.int64), np.zeros(32)
    program("sixteen", numbers, doubles, 2)
    assert (doubles == numbers).all()
    floats, halves = np.arange(16, dtype=np.float32) + np.float32(0.1), np.zeros(32, np.float16)
    program("halves", floats, halves, 1)
    near = floats.astype(np.float16)
    toward_zero = np.where(near > floats, np.nextafter(near, np.float16(0)), near)
    assert (
        (halves[3:6] == toward_zero[:3]).all()
        and (halves[12:15] == near[:3]).all()
        and (halves[16:] == near).all()
    )
    back = np.zeros(16, np.float32)
    program("back", halves, back, 1)
    assert (
        (back[:3] == halves[4:7]).all()
        and (back[3:6] == halves[3:6]).all()
        and (back[8:] == halves[8:16]).all()
    )
