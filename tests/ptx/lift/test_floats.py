"""Floating-point instructions against exact arithmetic, rounded in each direction, and conversions."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ptx.lift.machine import Case, run

_FORMATS = {
    "f32": (24, -149, np.float32),
    "f64": (53, -1074, np.float64),
    "f16": (11, -24, np.float16),
    "bf16": (8, -133, np.uint16),
}


def rounded(value: Fraction, type: str, mode: str, negative_zero: bool = False) -> float:
    """The number of a type that `value` is rounded to."""
    precision, least, _ = _FORMATS[type]
    if value == 0:
        return -0.0 if negative_zero else 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    whole, rest = divmod(magnitude / unit, 1)
    up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1), "rz": False,
          "rm": rest > 0 and value < 0, "rp": rest > 0 and value > 0}[mode]  # fmt: skip
    result = (whole + up) * unit
    most = {"f32": Fraction(float(np.finfo(np.float32).max)), "f64": Fraction(float(np.finfo(np.float64).max)),
            "f16": Fraction(65504), "bf16": Fraction(255 * 2**120)}[type]  # fmt: skip
    sign = -1 if value < 0 else 1
    if result > most:
        away = {"rn": True, "rz": False, "rm": value < 0, "rp": value > 0}[mode]
        return sign * (math.inf if away else float(most))
    return sign * float(result)


def _root(value: Fraction, type: str, mode: str) -> float:
    """The square root: a number that is rounded as the root is, with one bit more than can be told apart."""
    scale = 2 ** (2 * (1200 if type == "f64" else 300))
    whole = math.isqrt(value.numerator * scale * value.denominator)
    exact = whole * whole == value.numerator * scale * value.denominator
    root = Fraction(2 * whole + (not exact), 2 * value.denominator) / Fraction(math.isqrt(scale))
    return rounded(root, type, mode)


def _is_negative_zero(a: float, b: float, mode: str) -> bool:
    """The sign of a sum of two numbers that is 0."""
    if a == 0 and b == 0 and math.copysign(1, a) == math.copysign(1, b):
        return math.copysign(1, a) < 0
    return mode == "rm"


def rounding(type: str) -> list[Case]:
    """Sums, products, quotients and roots in each direction."""
    cases = []
    for mode in ("rn", "rz", "rm", "rp"):
        cases += [
            Case(f"add.{mode}.{type} $d, $a, $b;", type, lambda a, b, c, m=mode: rounded(
                Fraction(a) + Fraction(b), type, m, _is_negative_zero(a, b, m))),
            Case(f"sub.{mode}.{type} $d, $a, $b;", type, lambda a, b, c, m=mode: rounded(
                Fraction(a) - Fraction(b), type, m, _is_negative_zero(a, -b, m))),
            Case(f"mul.{mode}.{type} $d, $a, $b;", type, lambda a, b, c, m=mode: rounded(
                Fraction(a) * Fraction(b), type, m, math.copysign(1, a) * math.copysign(1, b) < 0)),
            Case(f"fma.{mode}.{type} $d, $a, $b, $c;", type, lambda a, b, c, m=mode: rounded(
                Fraction(a) * Fraction(b) + Fraction(c), type, m,
                _is_negative_zero(math.copysign(0.0 if not a * b else 1.0, a) * math.copysign(1, b), c, m)
                if a == 0 or b == 0 else m == "rm")),
            Case(f"div.{mode}.{type} $d, $a, $b;", type, lambda a, b, c, m=mode: rounded(
                Fraction(a) / Fraction(b), type, m, math.copysign(1, a) * math.copysign(1, b) < 0) if b else None),
            Case(f"rcp.{mode}.{type} $d, $a;", type, lambda a, b, c, m=mode: rounded(
                1 / Fraction(a), type, m) if a else None),
            Case(f"abs.{type} $d, $a; sqrt.{mode}.{type} $d, $d;", type, lambda a, b, c, m=mode: _root(
                abs(Fraction(a)), type, m)),
        ]  # fmt: skip
        integer = {"f32": "s64", "f64": "u64"}[type]
        cases.append(Case(
            f"cvt.rzi.s64.{type} %u0, $a; cvt.{mode}.{type}.{integer} $d, %u0;", type,
            lambda a, b, c, m=mode: rounded(
                Fraction(_to_integer(a, 64) & (2**64 - 1 if type == "f64" else -1)), type, m)))  # fmt: skip
    return cases


def _to_integer(value: float, bits: int) -> int:
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, int(value)))


def _numbers(type: str, seed: int, exponent: int) -> np.ndarray[Any, Any]:
    draw = random.Random(seed)
    values = [draw.uniform(-2, 2) * 2.0 ** draw.randint(-exponent, exponent) for _ in range(110)]
    values += [1.0, -1.0, 0.5, 3.0, 0.0, -0.0, 2.0**40 + 1, -(2.0**53), 1e15, 4.0]
    draw.shuffle(values)
    return np.array(values, _FORMATS[type][2])


def _as_float(bits: int, type: str) -> float:
    letter, size = {"f64": ("<d", 8), "f32": ("<f", 4), "f16": ("<e", 2)}[type]
    return struct.unpack(letter, bits.to_bytes(8, "little")[:size])[0]


def _same(a: float, b: float) -> bool:
    return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)


def _check(cases: list[Case], type: str, inputs: list[np.ndarray[Any, Any]], **options: Any) -> None:
    results = run(cases, type, inputs, **options)
    for case, got in zip(cases, results, strict=True):
        for row, found in zip(zip(*(v.tolist() for v in inputs), strict=True), got.tolist(), strict=True):
            wanted = case.means(*row)
            if wanted is None:
                continue
            if case.result in _FORMATS:
                number = _as_float(found, case.result)
                assert _same(number, wanted), f"{case.text} of {row} is {number!r}, not {wanted!r}"
            else:
                width = 1 if case.result == "pred" else int(case.result.lstrip("busf"))
                mask = (1 << width) - 1
                assert found & mask == int(wanted) & mask, f"{case.text} of {row} is {found & mask:#x}"


@pytest.mark.parametrize(("type", "exponent"), [("f32", 60), ("f64", 200)])
def test_every_direction_of_rounding(type: str, exponent: int) -> None:
    _check(rounding(type), type, [_numbers(type, seed, exponent) for seed in (1, 2, 3)])


def test_results_beyond_the_range_are_rounded_too() -> None:
    """Subnormal results and overflow in single precision."""
    cases = [c for c in rounding("f32") if c.text.startswith(("mul", "fma", "div"))]
    _check(cases, "f32", [_numbers("f32", seed, 125) for seed in (4, 5, 6)])


_SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.5, 0.5, 2.5, -0.5, 1e-40, -1e-40, 3e9, -3e9, 1e20, 0.25,
            255.7, 1e10, -7.5, 2147483648.0]  # fmt: skip


def _least(a: float, b: float, sign: int) -> float:
    if a != a or b != b:
        return b if a != a else a
    if a == b == 0:
        pick = math.copysign(1, a) < 0 if sign < 0 else math.copysign(1, a) > 0
        return a if pick else b
    return min(a, b) if sign < 0 else max(a, b)


def _flush(a: float) -> float:
    return math.copysign(0.0, a) if abs(a) < 2.0**-126 else a


def _clamped(a: float, low: int, high: int) -> int:
    if a != a:
        return 0
    return low if a <= low else high if a >= high else int(a)


def _special() -> list[Case]:
    nan, f = math.isnan, "f32"
    single = np.float32
    return [
        Case("min.f32 $d, $a, $b;", f, lambda a, b, c: _least(a, b, -1)),
        Case("max.f32 $d, $a, $b;", f, lambda a, b, c: _least(a, b, 1)),
        Case("max.NaN.f32 $d, $a, $b;", f, lambda a, b, c: math.nan if nan(a) or nan(b) else _least(a, b, 1)),
        Case("min.xorsign.abs.f32 $d, $a, $b;", f, lambda a, b, c: None if nan(a) or nan(b) else math.copysign(
            min(abs(a), abs(b)), math.copysign(1, a) * math.copysign(1, b))),
        Case("add.sat.f32 $d, $a, $b;", f, lambda a, b, c: _saturated(a, b)),
        Case("add.ftz.f32 $d, $a, 0f00000000;", f, lambda a, b, c: _flush(a) + 0.0),
        Case("mul.ftz.f32 $d, $a, 0f3F800000;", f, lambda a, b, c: _flush(a)),
        Case("neg.f32 $d, $a;", f, lambda a, b, c: -a),
        Case("copysign.f32 $d, $a, $b;", f, lambda a, b, c: math.copysign(b, a) if not nan(a) else None),
        Case("setp.ne.f32 $d, $a, $b;", "pred", lambda a, b, c: not nan(a) and not nan(b) and a != b),
        Case("setp.neu.f32 $d, $a, $b;", "pred", lambda a, b, c: nan(a) or nan(b) or a != b),
        Case("setp.ltu.f32 $d, $a, $b;", "pred", lambda a, b, c: nan(a) or nan(b) or a < b),
        Case("setp.num.f32 $d, $a, $b;", "pred", lambda a, b, c: not nan(a) and not nan(b)),
        Case("set.gt.f32.f32 $d, $a, $b;", f, lambda a, b, c: float(a > b)),
        Case("slct.f32.f32 $d, $a, $b, $a;", f, lambda a, b, c: a if a >= 0 else b),
        Case("testp.finite.f32 $d, $a;", "pred", lambda a, b, c: math.isfinite(a)),
        Case("testp.subnormal.f32 $d, $a;", "pred", lambda a, b, c: 0 < abs(a) < 2.0**-126),
        Case("cvt.rni.s32.f32 $d, $a;", "s32", lambda a, b, c: _clamped(_even(a), -(2**31), 2**31 - 1)),
        Case("cvt.rmi.s64.f32 $d, $a;", "s64", lambda a, b, c: _clamped(_apply(math.floor, a), -(2**63), 2**63 - 1)),
        Case("cvt.rpi.u32.f32 $d, $a;", "u32", lambda a, b, c: _clamped(_apply(math.ceil, a), 0, 2**32 - 1)),
        Case("cvt.rzi.u16.f32 $d, $a;", "u16", lambda a, b, c: _clamped(a, 0, 65535)),
        Case("cvt.rpi.f32.f32 $d, $a;", f, lambda a, b, c: math.copysign(_apply(math.ceil, a), a)),
        Case("cvt.sat.f32.f32 $d, $a;", f, lambda a, b, c: 0.0 if nan(a) else min(max(a, 0.0), 1.0) + 0.0),
        Case("cvt.f64.f32 %u0, $a; cvt.rm.f32.f64 $d, %u0;", f, lambda a, b, c: a),
        Case("cvt.rn.f16.f32 %h0, $a; cvt.f32.f16 $d, %h0;", f, lambda a, b, c: float(np.float16(single(a)))),
        Case("cvt.rz.f16.f32 %h0, $a; cvt.f32.f16 $d, %h0;", f, lambda a, b, c: rounded(
            Fraction(a), "f16", "rz", math.copysign(1, a) < 0) if math.isfinite(a) else a),
        Case("rcp.approx.ftz.f32 $d, $b;", f, lambda a, b, c: float(
            single(1) / single(b)) if 1e-30 < abs(b) < 1e30 else None),
        Case("mov.b32 $d, $a; abs.f32 $d, $d;", f,
             lambda a, b, c: abs(a)),
    ]  # fmt: skip


def _saturated(a: float, b: float) -> float:
    total = float(np.float32(a) + np.float32(b))
    return 0.0 if total != total else min(max(total, 0.0), 1.0) + 0.0


def _apply(f: Callable[[float], int], a: float) -> float:
    return float(f(a)) if math.isfinite(a) else a


def _even(a: float) -> float:
    return float(round(a)) if math.isfinite(a) else a


def test_nan_signed_zeros_flushing_and_conversions() -> None:
    values = np.array(_SPECIAL, np.float32)
    count = len(values)
    rows = [(i, j) for i in range(count) for j in range(count)]
    inputs = [np.array([values[r[k]] for r in rows]) for k in (0, 1, 0)]
    with np.errstate(all="ignore"):
        _check(_special(), "f32", inputs)


def test_pairs_of_halves() -> None:
    """Both halves of a word are computed."""

    def both(f: Callable[[np.float16, np.float16], Any]) -> Callable[..., int]:
        def of(a: int, b: int, c: int) -> int:
            parts = []
            for k in range(2):
                x, y = (np.uint16(v >> 16 * k & 0xFFFF).view(np.float16) for v in (a, b))
                parts.append(int(np.float16(f(x, y)).view(np.uint16)))
            return parts[0] | parts[1] << 16

        return of

    cases = [
        Case("add.f16x2 $d, $a, $b;", "b32", both(lambda x, y: x + y)),
        Case("mul.f16x2 $d, $a, $b;", "b32", both(lambda x, y: x * y)),
        Case("max.f16x2 $d, $a, $b;", "b32", both(max)),
        Case("neg.f16x2 $d, $a;", "b32", both(lambda x, y: -x)),
        Case("mov.b32 {%h0, %h1}, $a; cvt.f32.f16 %f0, %h0; cvt.f32.f16 %f1, %h1;"
             " cvt.rn.f16x2.f32 $d, %f0, %f1;", "b32", lambda a, b, c: a >> 16 | (a & 0xFFFF) << 16),
    ]  # fmt: skip
    draw = random.Random(7)

    def word() -> int:
        return sum(int(np.float16(draw.uniform(-9, 9)).view(np.uint16)) << 16 * k for k in range(2))

    _check(cases, "b32", [np.array([word() for _ in range(64)], np.uint32) for _ in range(3)])


def test_fma_of_bfloat16_is_rounded_once() -> None:
    draw = np.random.default_rng(4)
    # Products close to halfway between two numbers, and what is far below them.
    a = 0x3F80 + draw.integers(0, 128, 512)
    b = 0x3F80 + (draw.integers(0, 8, 512) << 4)
    a[:256] = 0x3F88
    c = draw.integers(0, 0x3800, 512) | draw.integers(0, 2, 512) << 15
    inputs = [v.astype(np.uint16) for v in (a, b, c)]
    numbers = [(v.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for v in inputs]
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(*numbers, strict=True)]
    cases = [
        Case("fma.rn.bf16 $d, $a, $b, $c;", "bf16", lambda *_: None),
        Case(
            "mov.b32 %t0, {$a, $c}; mov.b32 %t1, {$b, $b}; mov.b32 %t2, {$c, $a};"
            "fma.rn.bf16x2 %t3, %t0, %t1, %t2; mov.b32 {$d, %h0}, %t3;",
            "bf16",
            lambda *_: None,
        ),
    ]
    for options in ({}, {"width": 1}, {"debug": True}):
        for got in run(cases, "b16", inputs, **options):
            bits = (got & 0xFFFF).astype(np.uint32) << 16
            found = bits.view(np.float32)
            assert [rounded(e, "bf16", "rn") for e in exact] == found.tolist()
