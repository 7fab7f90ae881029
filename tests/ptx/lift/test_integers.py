"""Integer instructions against their definitions on Python's integers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ptx.lift.machine import Case, run

_EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _division(a: int, b: int, bits: int, is_signed: bool, remainder: bool) -> int:
    if b == 0:
        return a if remainder else -1
    q = abs(a) // abs(b)
    q = -q if (a < 0) != (b < 0) else q
    return a - q * b if remainder else q


def _clamp(value: int, bits: int) -> int:
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))


def arithmetic(bits: int, kind: str) -> list[Case]:
    """Cases of one type: operands come as Python integers with the type's sign."""
    t, s = f"{kind}{bits}", kind == "s"
    cases = [
        Case(f"add.{t} $d, $a, $b;", t, lambda a, b, c: a + b),
        Case(f"sub.{t} $d, $a, $b;", t, lambda a, b, c: a - b),
        Case(f"mul.lo.{t} $d, $a, $b;", t, lambda a, b, c: a * b),
        Case(f"mul.hi.{t} $d, $a, $b;", t, lambda a, b, c: a * b >> bits),
        Case(f"mad.lo.{t} $d, $a, $b, $c;", t, lambda a, b, c: a * b + c),
        Case(f"mad.hi.{t} $d, $a, $b, $c;", t, lambda a, b, c: (a * b >> bits) + c),
        Case(f"div.{t} $d, $a, $b;", t, lambda a, b, c: _division(a, b, bits, s, False)),
        Case(f"rem.{t} $d, $a, $b;", t, lambda a, b, c: _division(a, b, bits, s, True)),
        Case(f"min.{t} $d, $a, $b;", t, lambda a, b, c: min(a, b)),
        Case(f"max.{t} $d, $a, $b;", t, lambda a, b, c: max(a, b)),
        Case(f"sad.{t} $d, $a, $b, $c;", t, lambda a, b, c: c + abs(a - b)),
        Case(f"setp.lt.{t} $d, $a, $b;", "pred", lambda a, b, c: a < b),
        Case(f"setp.ne.{t} $d, $a, $c;", "pred", lambda a, b, c: a != c),
        Case(f"set.le.u32.{t} $d, $a, $b;", "u32", lambda a, b, c: -(a <= b)),
        Case(f"slct.{t}.s32 $d, $a, $b, -1;", t, lambda a, b, c: b),
        Case(f"shr.{t} $d, $a, 3;", t, lambda a, b, c: a >> 3),
    ]
    if bits < 64:
        wide = f"{kind}{2 * bits}"
        cases.append(Case(f"mul.wide.{t} $d, $a, $b;", wide, lambda a, b, c: a * b))
        moved = f"cvt.{wide}.{t} %u0, $c; mad.wide.{t} $d, $a, $b, %u0;" if bits == 32 else ""
        if moved:
            cases.append(Case(moved, wide, lambda a, b, c: a * b + c))
    if s:
        cases += [
            Case(f"abs.{t} $d, $a;", t, lambda a, b, c: abs(a)),
            Case(f"neg.{t} $d, $a;", t, lambda a, b, c: -a),
        ]
    if t == "s32":
        cases += [
            Case("add.sat.s32 $d, $a, $b;", t, lambda a, b, c: _clamp(a + b, 32)),
            Case("sub.sat.s32 $d, $a, $b;", t, lambda a, b, c: _clamp(a - b, 32)),
            Case("mad.hi.sat.s32 $d, $a, $b, $c;", t, lambda a, b, c: _clamp((a * b >> 32) + c, 32)),
            Case("mul24.lo.s32 $d, $a, $b;", t, lambda a, b, c: signed(a, 24) * signed(b, 24)),
            Case("mul24.hi.s32 $d, $a, $b;", t, lambda a, b, c: signed(a, 24) * signed(b, 24) >> 16),
            Case("max.relu.s32 $d, $a, $b;", t, lambda a, b, c: max(a, b, 0)),
        ]
    if t == "u32":
        cases += [
            Case("mad24.lo.u32 $d, $a, $b, $c;", t, lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c)
        ]
    return cases


def _bfind(a: int, bits: int, is_signed: bool) -> int:
    value = ~a if is_signed and a < 0 else a
    return value.bit_length() - 1 if value else -1


def _bfe(a: int, at: int, size: int, bits: int, is_signed: bool) -> int:
    at, size = at & 255, size & 255
    whole = a & ((1 << bits) - 1)
    sign = whole >> min(at + size - 1, bits - 1) & 1 if is_signed and size else 0
    result = 0
    for k in range(bits):
        bit = whole >> (at + k) & 1 if k < size and at + k < bits else sign
        result |= bit << k
    return result


def _bfi(field: int, whole: int, at: int, size: int, bits: int) -> int:
    at, size = at & 255, size & 255
    for k in range(size):
        if at + k < bits:
            whole = whole & ~(1 << at + k) | (field >> k & 1) << (at + k)
    return whole


def _prmt(a: int, b: int, c: int) -> int:
    both = (a | b << 32).to_bytes(8, "little")
    out = []
    for k in range(4):
        selector = c >> 4 * k & 15
        byte = both[selector & 7]
        out.append((0xFF if byte & 0x80 else 0) if selector & 8 else byte)
    return int.from_bytes(bytes(out), "little")


def _dp(a: int, b: int, c: int, a_signed: bool, b_signed: bool) -> int:
    def pick(word: int, k: int, is_signed: bool) -> int:
        byte = word >> 8 * k & 255
        return signed(byte, 8) if is_signed else byte

    return c + sum(pick(a, k, a_signed) * pick(b, k, b_signed) for k in range(4))


def _dp2a(a: int, b: int, c: int, high: bool) -> int:
    return c + sum(signed(a >> 16 * k, 16) * (b >> 8 * (k + 2 * high) & 255) for k in range(2))


def _fns(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else -1
    at, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= at < 32:
        if mask >> at & 1:
            if count == 0:
                return at
            count -= 1
        at += step
    return -1


def _shift(a: int, by: int, bits: int, left: bool, is_signed: bool) -> int:
    by = min(by & 0xFFFFFFFF, bits)
    if left:
        return a << by
    return (signed(a, bits) if is_signed else a) >> by


def _lop3(table: int, a: int, b: int, c: int) -> int:
    return sum((table >> (4 * (a >> k & 1) + 2 * (b >> k & 1) + (c >> k & 1)) & 1) << k for k in range(32))


def _funnel(low: int, high: int, by: int, left: bool, clamp: bool) -> int:
    by = min(by, 32) if clamp else by & 31
    both = high << 32 | low
    return (both << by >> 32) if left else both >> by


_F4E = ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3))


def logic() -> list[Case]:
    """Cases on words of 32 bits; operands come unsigned."""
    t = "b32"
    cases = [
        Case(f"{op}.b32 $d, $a, $b;", t, f)
        for op, f in (
            ("and", lambda a, b, c: a & b),
            ("or", lambda a, b, c: a | b),
            ("xor", lambda a, b, c: a ^ b),
        )
    ]
    cases += [
        Case(f"lop3.b32 $d, $a, $b, $c, {k};", t, lambda a, b, c, k=k: _lop3(k, a, b, c))
        for k in (0, 255, 0xE8, 0x96, 0x1B, 0x40, 0xCA, 0x7F, 0x2D)
    ]
    cases += [
        Case(
            f"shf.{side}.{mode}.b32 $d, $a, $b, $c;",
            t,
            lambda a, b, c, side=side, mode=mode: _funnel(a, b, c, side == "l", mode == "clamp"),
        )
        for side in "lr"
        for mode in ("clamp", "wrap")
    ]
    cases += [
        Case("shl.b32 $d, $a, $c;", t, lambda a, b, c: _shift(a, c, 32, True, False)),
        Case("shr.u32 $d, $a, $c;", t, lambda a, b, c: _shift(a, c, 32, False, False)),
        Case("shr.s32 $d, $a, $c;", t, lambda a, b, c: _shift(a, c, 32, False, True)),
        Case("shl.b32 $d, $a, 40;", t, lambda a, b, c: 0),
        Case("shr.s32 $d, $a, 40;", t, lambda a, b, c: signed(a, 32) >> 31),
    ]
    cases += [
        Case("not.b32 $d, $a;", t, lambda a, b, c: ~a),
        Case("cnot.b32 $d, $a;", t, lambda a, b, c: a == 0),
        Case("popc.b32 $d, $a;", "u32", lambda a, b, c: a.bit_count()),
        Case("clz.b32 $d, $a;", "u32", lambda a, b, c: 32 - a.bit_length()),
        Case("brev.b32 $d, $a;", t, lambda a, b, c: int(f"{a:032b}"[::-1], 2)),
        Case("bfind.u32 $d, $a;", "u32", lambda a, b, c: _bfind(a, 32, False)),
        Case("bfind.s32 $d, $a;", "u32", lambda a, b, c: _bfind(signed(a, 32), 32, True)),
        Case("bfind.shiftamt.u32 $d, $a;", "u32", lambda a, b, c: 31 - _bfind(a, 32, False) if a else -1),
        Case("bfe.u32 $d, $a, $b, $c;", t, lambda a, b, c: _bfe(a, b, c, 32, False)),
        Case("bfe.s32 $d, $a, $b, $c;", t, lambda a, b, c: _bfe(a, b, c, 32, True)),
        Case("bfi.b32 $d, $a, $b, $c, 9;", t, lambda a, b, c: _bfi(a, b, c, 9, 32)),
        Case("prmt.b32 $d, $a, $b, $c;", t, _prmt),
        Case("prmt.b32 $d, $a, $b, 0x5410;", t, lambda a, b, c: _prmt(a, b, 0x5410)),
        Case(
            "prmt.b32.f4e $d, $a, $b, $c;",
            t,
            lambda a, b, c: int.from_bytes(
                bytes((a | b << 32).to_bytes(8, "little")[k] for k in reversed(_F4E[c & 3])), "little"
            ),
        ),
        Case("dp4a.s32.u32 $d, $a, $b, $c;", "s32", lambda a, b, c: _dp(a, b, c, True, False)),
        Case("dp4a.u32.u32 $d, $a, $b, $c;", "u32", lambda a, b, c: _dp(a, b, c, False, False)),
        Case("dp2a.hi.s32.u32 $d, $a, $b, $c;", "s32", lambda a, b, c: _dp2a(a, b, c, True)),
        Case("and.b32 %t0, $b, 31; fns.b32 $d, $a, %t0, 3;", "b32", lambda a, b, c: _fns(a, b & 31, 3)),
        Case("and.b32 %t0, $b, 31; fns.b32 $d, $a, %t0, -2;", "b32", lambda a, b, c: _fns(a, b & 31, -2)),
        Case(
            "bmsk.clamp.b32 $d, $b, $c;",
            t,
            lambda a, b, c: _bfi(0xFFFFFFFF, 0, min(b, 255), min(c, 255), 32) if b < 32 else 0,
        ),
        Case("szext.wrap.s32 $d, $a, $b;", t, lambda a, b, c: signed(a, b & 31) if b & 31 else 0),
        Case("szext.clamp.u32 $d, $a, $b;", t, lambda a, b, c: a & ((1 << min(b, 32)) - 1)),
        Case("add.cc.u32 $d, $a, $b; addc.u32 $d, $c, 5;", "u32", lambda a, b, c: c + 5 + (a + b >> 32)),
        Case(
            "sub.cc.u32 $d, $a, $b; subc.cc.u32 %t0, $c, 0; subc.u32 $d, 0, 0;",
            "u32",
            lambda a, b, c: -(c - (a < b) < 0),
        ),
        Case(
            "mad.lo.cc.u32 %t0, $a, $b, $c; madc.hi.u32 $d, $a, $b, 0;",
            "u32",
            lambda a, b, c: a * b + c >> 32,
        ),
        Case(
            "setp.lt.u32 %q0, $a, $b; @!%q0 mov.b32 $d, 7; @%q0 add.u32 $d, $a, 1;",
            "u32",
            lambda a, b, c: a + 1 if a < b else 7,
        ),
        Case(
            "setp.lt.u32 %q0|%q1, $a, $b; setp.hi.and.u32 $d, $c, 9, %q1;",
            "pred",
            lambda a, b, c: c > 9 and not a < b,
        ),
        Case(
            "mov.b64 %u0, {$a, $b}; shr.u64 %u0, %u0, 16; cvt.u32.u64 $d, %u0;",
            "u32",
            lambda a, b, c: (a | b << 32) >> 16,
        ),
        Case(
            "mov.b32 {%h0, %h1}, $a; mov.b32 $d, {%h1, %h0};", t, lambda a, b, c: a >> 16 | (a & 0xFFFF) << 16
        ),
        Case("setp.eq.u32 %q2, $a, $a; selp.b32 $d, $a, $b, %q2;", t, lambda a, b, c: a),
    ]
    return cases


def _numbers(bits: int, seed: int) -> np.ndarray[Any, Any]:
    draw = random.Random(seed)
    values = [*_EDGES, (1 << bits) - 1, (1 << bits) - 2, 1 << bits - 1, (1 << bits - 1) - 1]
    values += [draw.getrandbits(draw.randint(1, bits)) for _ in range(96 - len(values))]
    draw.shuffle(values)
    return np.array([v & ((1 << bits) - 1) for v in values], f"u{bits // 8}")


def _check(cases: list[Case], source: str, bits: int, is_signed: bool, **options: Any) -> None:
    inputs = [_numbers(bits, seed) for seed in (1, 2, 3)]
    results = run(cases, source, inputs, **options)
    for case, got in zip(cases, results, strict=True):
        width = 1 if case.result == "pred" else int(case.result.lstrip("busf"))
        for row, found in zip(zip(*(v.tolist() for v in inputs), strict=True), got.tolist(), strict=True):
            operands = [signed(v, bits) for v in row] if is_signed else row
            wanted = int(case.means(*operands)) & ((1 << width) - 1)
            assert found & ((1 << width) - 1) == wanted, f"{case.text} of {[hex(v) for v in row]}"


@pytest.mark.parametrize("type", ["s32", "u64", "s64", "u16"])
def test_arithmetic_is_that_of_integers(type: str) -> None:
    bits = int(type[1:])
    _check(arithmetic(bits, type[0]), type, bits, type[0] == "s")


def test_logic_and_bits() -> None:
    _check(logic(), "b32", 32, False)


def test_unsigned_words_one_after_the_other() -> None:
    _check(arithmetic(32, "u"), "u32", 32, False, width=1)
