"""Relational, common and geometric functions, choices, shuffles, bits, atomics and functions of one-item groups."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from mpmath import mp, mpf

from frontend.opencl.library.running import FLOATS, TYPES, Call, Program, load

FUZZ = bool(os.environ.get("WEFT_FUZZ"))
LENGTHS = ("", 2, 3, 4) if FUZZ else ("", 3)
BITS = {"half": np.int16, "float": np.int32, "double": np.int64}
MASK = {"half": "short", "float": "int", "double": "long"}
COMPARISONS = {
    "isequal": lambda x, y: x == y, "isnotequal": lambda x, y: x != y, "isgreater": lambda x, y: x > y,
    "isgreaterequal": lambda x, y: x >= y, "isless": lambda x, y: x < y, "islessequal": lambda x, y: x <= y,
    "islessgreater": lambda x, y: x < y or x > y, "isordered": lambda x, y: x == x and y == y,
    "isunordered": lambda x, y: x != x or y != y,
}  # fmt: skip


def _kinds(t: str) -> np.ndarray:
    info = np.finfo(TYPES[t])
    named = [
        0,
        -0.0,
        1,
        -1,
        0.5,
        math.inf,
        -math.inf,
        math.nan,
        info.max,
        info.tiny,
        -info.smallest_subnormal,
        3,
    ]
    return np.array(named, TYPES[t])


def _text(t: str) -> str:
    s = MASK[t]
    text = ""
    for name in COMPARISONS:
        text += Call(name, "int", (t, t)).kernel(f"{name}_{t}")
        text += Call(name, f"{s}3", (f"{t}3",) * 2).kernel(f"{name}3_{t}")
    for name in ("isnan", "isinf", "isfinite", "isnormal", "signbit"):
        text += Call(name, "int", (t,)).kernel(f"{name}_{t}") + Call(name, f"{s}4", (f"{t}4",)).kernel(
            f"{name}4_{t}"
        )
    for name in ("max", "min", "step"):
        text += Call(name, f"{t}2", (f"{t}2",) * 2).kernel(f"{name}_{t}")
    text += Call("sign", f"{t}4", (f"{t}4",)).kernel(f"sign_{t}") + Call("clamp", t, (t, t, t)).kernel(
        f"clamp_{t}"
    )
    text += Call("mix", f"{t}2", (f"{t}2", f"{t}2", t)).kernel(f"mix_{t}")
    text += Call("smoothstep", t, (t, t, t)).kernel(f"smoothstep_{t}")
    text += Call("degrees", t, (t,)).kernel(f"degrees_{t}") + Call("radians", t, (t,)).kernel(f"radians_{t}")
    for width in LENGTHS:
        v = f"{t}{width}"
        for name, arity in (("length", 1), ("distance", 2), ("dot", 2)):
            text += Call(name, t, (v,) * arity).kernel(f"{name}{width}_{t}")
        text += Call("normalize", v, (v,)).kernel(f"normalize{width}_{t}")
        if t == "float":
            text += Call("fast_length", t, (v,)).kernel(f"fast_length{width}_{t}")
            text += Call("fast_normalize", v, (v,)).kernel(f"fast_normalize{width}_{t}")
    return text + "".join(Call("cross", f"{t}{n}", (f"{t}{n}",) * 2).kernel(f"cross{n}_{t}") for n in (3, 4))


@pytest.fixture(scope="module")
def program() -> Program:
    return load("".join(_text(t) for t in FLOATS))


def call(program: Program, kernel: str, result: np.ndarray, count: int, *arguments: np.ndarray) -> np.ndarray:
    program(kernel, *(np.ascontiguousarray(a) for a in arguments), result, count)
    return result


@pytest.mark.parametrize("t", FLOATS)
def test_relations(program: Program, t: str) -> None:
    kinds = _kinds(t)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(kinds, kinds))
    for name, holds in COMPARISONS.items():
        wanted = [int(holds(a, b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        assert call(program, f"{name}_{t}", np.zeros(len(x), np.int32), len(x), x, y).tolist() == wanted, name
        got = call(program, f"{name}3_{t}", np.zeros(len(x), BITS[t]), len(x) // 3, x, y)
        assert got.tolist() == [-w for w in wanted], name
    least = float(np.finfo(TYPES[t]).tiny)
    classes = {
        "isnan": np.isnan(kinds), "isinf": np.isinf(kinds), "isfinite": np.isfinite(kinds),
        "signbit": np.signbit(kinds),
        "isnormal": np.isfinite(kinds) & (np.abs(kinds) >= least),
    }  # fmt: skip
    for name, holds in classes.items():
        got = call(program, f"{name}_{t}", np.zeros(12, np.int32), 12, kinds)
        assert got.tolist() == holds.astype(int).tolist(), name
        assert (
            call(program, f"{name}4_{t}", np.zeros(12, BITS[t]), 3, kinds).tolist()
            == (-holds.astype(int)).tolist()
        )


@pytest.mark.parametrize("t", FLOATS)
def test_common(program: Program, t: str) -> None:
    draw = np.random.default_rng(1)
    x, y = draw.standard_normal(64).astype(TYPES[t]), draw.standard_normal(64).astype(TYPES[t])
    zeros = lambda: np.zeros(64, TYPES[t])  # noqa: E731
    assert (call(program, f"max_{t}", zeros(), 32, x, y) == np.maximum(x, y)).all()
    assert (call(program, f"min_{t}", zeros(), 32, x, y) == np.minimum(x, y)).all()
    assert (call(program, f"step_{t}", zeros(), 32, x, y) == np.where(y < x, 0, 1)).all()
    low, high = np.minimum(x, y), np.maximum(x, y)
    z = draw.standard_normal(64).astype(TYPES[t])
    assert (call(program, f"clamp_{t}", zeros(), 64, z, low, high) == np.clip(z, low, high)).all()
    kinds = _kinds(t)
    sign = call(program, f"sign_{t}", np.zeros(12, TYPES[t]), 3, kinds)
    assert sign.tolist() == [0, 0, 1, -1, 1, 1, -1, 0, 1, 1, -1, 1] and math.copysign(1, sign[1]) == -1
    wide = [a.astype(np.float64) for a in (x, y, z)]
    tolerance = {"rtol": 4 * float(np.finfo(TYPES[t]).eps), "atol": 4 * float(np.finfo(TYPES[t]).eps)}
    mixed = call(program, f"mix_{t}", zeros(), 32, x, y, z[:32])
    a = wide[2][:32].repeat(2)
    assert np.allclose(mixed.astype(float), wide[0] + (wide[1] - wide[0]) * a, **tolerance)
    with np.errstate(all="ignore"):
        s = np.clip((wide[2] - wide[0]) / (wide[1] - wide[0]), 0, 1)
    smooth = call(program, f"smoothstep_{t}", zeros(), 64, x, y, z)
    assert np.allclose(smooth.astype(float), s * s * (3 - 2 * s), rtol=0.01, atol=4 * tolerance["atol"])
    assert np.allclose(
        call(program, f"degrees_{t}", zeros(), 64, x).astype(float), np.degrees(wide[0]), rtol=2e-3
    )
    assert np.allclose(
        call(program, f"radians_{t}", zeros(), 64, x).astype(float), np.radians(wide[0]), rtol=2e-3
    )


@pytest.mark.parametrize("t", FLOATS)
@pytest.mark.parametrize("width", LENGTHS)
def test_lengths(program: Program, t: str, width: str | int) -> None:
    """Within 2.5 units and half a unit an element, and a sum of squares may exceed the type."""
    n, info = int(width or 1), np.finfo(TYPES[t])
    draw = np.random.default_rng(n)
    exponents = draw.integers(int(info.minexp) + 4, int(info.maxexp) - 2, (80, n))
    # Of most rows elements are of one size, of the others anything.
    exponents[:60] = exponents[:60, :1]
    vectors = (draw.uniform(-1, 1, (80, n)) * 2.0 ** exponents.astype(np.float64)).astype(TYPES[t])
    vectors[:40] = draw.standard_normal((40, n)).astype(TYPES[t])
    lengths = call(program, f"length{width}_{t}", np.zeros(80, TYPES[t]), 80, vectors)
    units = call(program, f"normalize{width}_{t}", np.zeros((80, n), TYPES[t]), 80, vectors)
    apart = call(program, f"distance{width}_{t}", np.zeros(80, TYPES[t]), 80, vectors, np.zeros_like(vectors))
    assert (apart == lengths).all()
    eps = float(info.eps)
    for row, length, unit in zip(vectors.tolist(), lengths.tolist(), units.tolist(), strict=True):
        exact = mp.sqrt(sum(mpf(x) ** 2 for x in row))
        assert abs(mpf(length) - exact) <= (2.5 + 0.5 * n) * eps * exact + float(info.smallest_subnormal)
        if exact:
            allowed = [(2 + n) * eps * abs(x / exact) + float(info.smallest_subnormal) for x in row]
            errors = [abs(mpf(u) - x / exact) for u, x in zip(unit, row, strict=True)]
            assert all(e <= a for e, a in zip(errors, allowed, strict=True))
    if t == "float":
        small = vectors[:40]
        fast = call(program, f"fast_length{width}_{t}", np.zeros(40, TYPES[t]), 40, small)
        assert np.allclose(fast, lengths[:40], rtol=1e-5)
        fast = call(program, f"fast_normalize{width}_{t}", np.zeros((40, n), TYPES[t]), 40, small)
        assert np.allclose(fast, units[:40], rtol=1e-5)
    dots = call(program, f"dot{width}_{t}", np.zeros(40, TYPES[t]), 40, vectors[:40], vectors[:40][::-1])
    right = (vectors[:40].astype(np.float64) * vectors[:40][::-1].astype(np.float64)).sum(axis=1)
    assert np.allclose(dots.astype(float), right, rtol=8 * eps, atol=16 * eps)


@pytest.mark.parametrize("t", FLOATS)
def test_lengths_of_special_vectors(program: Program, t: str) -> None:
    rows = np.array(
        [[0, -0.0, 0], [math.inf, 1, -math.inf], [math.nan, math.inf, 0], [1, math.nan, 2]], TYPES[t]
    )
    lengths = call(program, f"length3_{t}", np.zeros(4, TYPES[t]), 4, rows)
    assert lengths[0] == 0 and math.isinf(lengths[1]) and math.isnan(lengths[3])
    units = call(program, f"normalize3_{t}", np.zeros((4, 3), TYPES[t]), 4, rows)
    assert units[0].tolist() == [0, 0, 0] and math.copysign(1, units[0, 1]) == -1
    assert np.allclose(units[1], [math.sqrt(0.5), 0, -math.sqrt(0.5)], rtol=1e-3)
    assert np.isnan(units[2:]).any(axis=1).all()
    a, b = np.array([[1, 2, 3], [0, 1, 0]], TYPES[t]), np.array([[4, 5, 6], [0, 0, 1]], TYPES[t])
    assert (call(program, f"cross3_{t}", np.zeros((2, 3), TYPES[t]), 2, a, b) == np.cross(a, b)).all()
    padded = np.hstack([a, [[9], [9]]]).astype(TYPES[t])
    other = np.hstack([b, [[9], [9]]]).astype(TYPES[t])
    four = call(program, f"cross4_{t}", np.zeros((2, 4), TYPES[t]), 2, padded, other)
    assert (four[:, :3] == np.cross(a, b)).all() and (four[:, 3] == 0).all()


def test_choices_and_shuffles() -> None:
    program = load(
        Call("select", "float", ("float", "float", "int")).kernel("one")
        + Call("select", "float4", ("float4", "float4", "int4")).kernel("four")
        + Call("select", "uchar8", ("uchar8", "uchar8", "uchar8")).kernel("eight")
        + Call("bitselect", "double2", ("double2", "double2", "double2")).kernel("bits")
        + Call("any", "int", ("char3",)).kernel("any3")
        + Call("all", "int", ("long16",)).kernel("all16")
        + Call("shuffle", "ushort8", ("ushort4", "ushort8")).kernel("shuffle8")
        + Call("shuffle2", "float4", ("float8", "float8", "uint4")).kernel("shuffle4")
    )
    a, b = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
    choice = np.array([0, 1, -1, 1 << 30], np.int32)
    assert call(program, "one", np.zeros(4, np.float32), 4, a, b, choice).tolist() == [0, 5, 6, 7]
    assert call(program, "four", np.zeros(4, np.float32), 1, a, b, choice).tolist() == [0, 1, 6, 3]
    bytes_ = np.arange(8, dtype=np.uint8)
    mask = np.array([0, 0x80, 0x7F, 0xFF, 1, 0x80, 0, 0x81], np.uint8)
    got = call(program, "eight", np.zeros(8, np.uint8), 1, bytes_, bytes_ + 10, mask)
    assert got.tolist() == np.where(mask & 0x80, bytes_ + 10, bytes_).tolist()
    x, y, m = np.array([1.5, -2.0]), np.array([-7.25, 3.0]), np.array([-0.0, math.nan])
    got = call(program, "bits", np.zeros(2), 1, x, y, m).view(np.uint64)
    xi, yi, mi = (v.view(np.uint64) for v in (x, y, m))
    assert (got == (xi & ~mi) | (yi & mi)).all()
    rows = np.array([[0, 127, 1], [0, -1, 0]], np.int8)
    assert call(program, "any3", np.zeros(2, np.int32), 2, rows).tolist() == [0, 1]
    rows = np.full((2, 16), -1, np.int64)
    rows[1, 7] = 5
    assert call(program, "all16", np.zeros(2, np.int32), 2, rows).tolist() == [1, 0]
    source, index = np.arange(4, dtype=np.uint16) + 10, np.array([3, 2, 1, 0, 7, 65535, 4, 5], np.uint16)
    got = call(program, "shuffle8", np.zeros(8, np.uint16), 1, source, index)
    assert got.tolist() == source[index % 4].tolist()
    p, q, index = (
        np.arange(8, dtype=np.float32),
        np.arange(8, 16, dtype=np.float32),
        np.array([15, 0, 8, 23], np.uint32),
    )
    assert call(program, "shuffle4", np.zeros(4, np.float32), 1, p, q, index).tolist() == [15, 0, 8, 7]


def test_bits_and_dots() -> None:
    program = load(
        """
        kernel void k(global const int *a, global uint *r) {
          r[0] = bitfield_insert(0xffffffffu, 0u, 4, 8); r[1] = bitfield_extract_signed(0xf0, 4, 4);
          r[2] = bitfield_extract_unsigned(0xf0, 4, 4); r[3] = bitfield_insert(7u, 9u, 0, 0);
          r[4] = bitfield_extract_signed(-1, 0, 32);
          r[5] = dot((uchar4)(255), (uchar4)(255)); r[6] = dot((char4)(-128), (uchar4)(255));
          r[7] = dot_acc_sat((char4)(127), (char4)(127), INT_MAX - 5);
          r[8] = dot_4x8packed_ss_int(0xff01ff01u, 0x01010101u);
        }
        """
    )
    result = np.zeros(9, np.uint32)
    program("k", np.zeros(1, np.int32), result)
    assert result.view(np.int32).tolist() == [-0xFF1, -1, 15, 7, -1, 260100, -130560, 2**31 - 1, 0]


def test_atomics_and_groups_of_one() -> None:
    program = load(
        """
        kernel void k(global int *a, global uint *u, global float *f, global long *l) {
          a[1] = atomic_add(a, 5); a[2] = atomic_cmpxchg(a, 15, 7); a[3] = atomic_cmpxchg(a, 15, 9);
          a[4] = atomic_min(a, -3);
          a[5] = atomic_inc(a); a[6] = atomic_xchg(a, 100); a[7] = atomic_max(a, 3);
          u[1] = atomic_max(u, 0xfffffff0u); u[2] = atomic_min(u, 1u); u[3] = atomic_dec(u); u[4] = atomic_xor(u, 6u);
          f[1] = atomic_xchg(f, 2.5f); l[1] = atom_sub(l, 1L << 40);
          volatile global atomic_int *p = (global atomic_int *)(a + 8); int e = 1;
          atomic_store(p, 4); a[9] = atomic_compare_exchange_strong(p, &e, 6); a[10] = e;
          a[11] = atomic_compare_exchange_strong_explicit(p, &e, 6, memory_order_relaxed, memory_order_relaxed);
          a[12] = atomic_fetch_or_explicit(p, 8, memory_order_relaxed); a[13] = atomic_load(p);
          volatile global atomic_float *g = (global atomic_float *)(f + 2);
          f[3] = atomic_exchange(g, 9.0f); f[4] = atomic_load_explicit(g, memory_order_acquire, memory_scope_device);
          a[14] = atomic_flag_test_and_set((global atomic_flag *)(a + 15));
          a[14] += 2 * atomic_flag_test_and_set((global atomic_flag *)(a + 15));
        }
        kernel void groups(global int *r, global float *f) {
          r[0] = work_group_reduce_add(7); r[1] = work_group_scan_exclusive_max(7);
          r[2] = work_group_scan_inclusive_min(7);
          r[3] = work_group_broadcast(7, 0); r[4] = sub_group_reduce_add(7); r[5] = sub_group_scan_exclusive_add(7);
          r[6] = work_group_any(0) + 2 * sub_group_all(3); r[7] = get_num_sub_groups() + get_sub_group_size();
          f[0] = work_group_scan_exclusive_min(1.5f); f[1] = sub_group_broadcast(2.5f, 0);
        }
        """
    )
    a, u, f, l_ = (
        np.zeros(16, np.int32),
        np.zeros(5, np.uint32),
        np.zeros(5, np.float32),
        np.zeros(2, np.int64),
    )
    a[0], u[0], f[0], f[2] = 10, 3, 1.0, 5.0
    program("k", a, u, f, l_)
    assert a[:8].tolist() == [100, 10, 15, 7, 7, -3, -2, 100]
    assert a[9:].tolist() == [0, 4, 1, 6, 14, 2, 1] and a[8] == 14
    assert u.tolist() == [6, 3, 0xFFFFFFF0, 1, 0] and l_.tolist() == [-(1 << 40), 0]
    assert f.tolist() == [2.5, 1.0, 9.0, 5.0, 9.0]
    r, f = np.zeros(8, np.int32), np.zeros(2, np.float32)
    program("groups", r, f)
    assert r.tolist() == [7, -(2**31), 7, 7, 7, 0, 2, 2] and f.tolist() == [math.inf, 2.5]
