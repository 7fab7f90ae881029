"""What OpenCL C means: a small kernel for each part of the language, compared with NumPy on each instruction set.

`WEFT_CHECK` lets the interpreter judge each pass on the way.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from weft import opencl
from weft.machine.host import is_runnable

pytest.importorskip("ziglang")

N = 48
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")


class Case(NamedTuple):
    """A kernel ``k``, its arguments behind the array that it writes, and what it is to write there."""

    source: str
    wanted: Callable[[np.ndarray], np.ndarray]
    args: tuple = ()
    dtype: type = np.float32
    options: str = ""


IDS = np.arange(N)
X = (IDS * 7 % 23).astype(np.float32)
RECORD = np.dtype(
    {"names": ["a", "b", "c"], "formats": ["f4", "i4", ("f4", 4)], "offsets": [0, 4, 16], "itemsize": 32}
)

CASES = {
    "values": Case(
        "kernel void k(global float *o, float a, int b, uchar c, double d, long e)"
        "{ o[get_global_id(0)] = a * b + c - (float)d + e; }",
        lambda i: np.float32(1.5 * -3 + 200 - 0.25 + 7) + 0 * i,
        (1.5, -3, 200, 0.25, 7),
    ),
    "vectors": Case(
        "kernel void k(global float *o, float4 a, int3 b, global const float4 *x)"
        "{ int i = get_global_id(0); float4 v = x[i % 12] + a.wzyx; v.even *= 2.0f; v.s3 -= b.z;"
        "  o[i] = v.x + v.y * 10 + v.z * 100 + v.w * 1000 + (float)b.y; }",
        lambda i: (
            (X[i % 12 * 4] + 4) * 2
            + (X[i % 12 * 4 + 1] + 3) * 10
            + (X[i % 12 * 4 + 2] + 2) * 200
            + (X[i % 12 * 4 + 3] + 1 - 6) * 1000
            + 5
        ),
        ([1, 2, 3, 4], np.array([4, 5, 6], np.int32), X),
    ),
    # Divisions by zero and beyond the type's range have any result, and end nothing.
    "divisions": Case(
        "__kernel_exec(16, float) void k(global float *o, global const long *x, long2 z, int n)"
        "{ int i = get_global_id(0); long d = x[i]; long2 q = z / (long2)(d, -1);"
        "  long r = d / z.y + z.x % d + z.x / -z.y + q.x + q.y + n % (int)z.y;"
        "  o[i] = d == 1 ? z.x / d : 0 * fmin(fabs((float)r), 1.0f); }",
        lambda i: np.where(i % 3 == 1, -(2.0**63), 0),
        (np.where(IDS % 3 == 2, -1, IDS % 3), [-(2**63), 0], -(2**31)),
    ),
    "records": Case(
        "typedef struct { float a; int b; float4 c; } R;"
        "kernel void k(global float *o, R r, global const R *s)"
        "{ int i = get_global_id(0); r.a += i; r.c[i & 3] = 0; o[i] = r.a + r.b + dot(r.c, s[i & 1].c); }",
        lambda i: i + 2.5 + _dotted(i),
        (
            np.array((1.5, 1, (1, 2, 3, 5)), RECORD)[()],
            np.array([(0, 0, (1, 5, 5, 3)), (0, 0, (100, 0, 50, 30))], RECORD),
        ),
    ),
    "private arrays": Case(
        "kernel void k(global float *o) { int i = get_global_id(0); float t[5];"
        "  for (int j = 0; j < 5; j++) t[j] = i + j; float s = 0;"
        "  for (int j = 0; j <= i % 5; j++) s += t[j]; o[i] = s; }",
        lambda i: np.array([sum(n + j for j in range(n % 5 + 1)) for n in i]),
    ),
    "constant memory": Case(
        "constant float table[4] = {1, 10, 100, 1000}; struct P { int a; char b[3]; };"
        'constant struct P ps[2] = {{5, "ab"}, {6, "cd"}};'
        "kernel void k(global float *o, constant float *c)"
        "{ int i = get_global_id(0); o[i] = table[i & 3] + c[i & 7] + ps[i & 1].a + ps[i & 1].b[1]; }",
        lambda i: 10.0 ** (i & 3) + X[i & 7] + 5 + (i & 1) + 98 + 2 * (i & 1),
        (X[:8],),
    ),
    "divergent control": Case(
        "float step_of(float x, int n) { while (n-- > 0) { if (x > 10) { x -= 7; continue; } x = x * 2 + 1;"
        "  if (x == 15) break; } return x; }"
        "kernel void k(global float *o, global const float *x) { int i = get_global_id(0);"
        "  switch (i % 4) { case 0: o[i] = step_of(x[i], i); break; case 1: o[i] = -1; break;"
        "  case 2: o[i] = x[i]; default: o[i] += 3; } }",
        lambda i: np.array([_stepped(n) for n in i]),
        (X,),
    ),
    "integers": Case(
        "kernel void k(global uint *o, uint a) { uint i = get_global_id(0); char c = (char)(i * 37);"
        "  short s = c << 3; long l = (long)s * 1000003; o[i] = (uint)(l >> 7) ^ rotate(a + i, 5u) ^ mul_hi(i, a); }",
        lambda i: _integers(i.astype(np.int64), 0x9E3779B9),
        (0x9E3779B9,),
        np.uint32,
    ),
    "generic pointers": Case(
        "float get(float *p, int k) { return p[k]; }"
        "kernel void k(global float *o, global float *x, local float *l) { float t[2] = {1, 2};"
        "  int i = get_global_id(0); l[get_local_id(0)] = i; barrier(CLK_LOCAL_MEM_FENCE);"
        "  float *p = i & 1 ? (float *)t : (float *)x; o[i] = get(p, 1) + get(l, 0); }",
        lambda i: np.where(i & 1, 2, X[1]) + i // 16 * 16,
        (X, opencl.LocalMemory(64)),
        options="-cl-std=CL3.0",
    ),
    "program scope": Case(
        "global int counts[3] = {5, 6, 7}; global int *second = &counts[1]; global float scale = 0.5f;"
        "kernel void k(global float *o) { int i = get_global_id(0); o[i] = (counts[i % 3] + *second) * scale; }",
        lambda i: (5 + i % 3 + 6) * 0.5,
        options="-cl-std=CL3.0",
    ),
    "kernels call kernels": Case(
        "kernel void add(global float *o, float a) { o[get_global_id(0)] += a; }"
        "kernel void k(global float *o) { o[get_global_id(0)] = get_global_id(0); add(o, 2); add(o, 0.5f); }",
        lambda i: i + 2.5,
    ),
    "sizes": Case(
        "kernel void k(global float *o) { size_t i = get_global_id(0); uint d = i % 5;"
        "  o[i] = get_work_dim() + 10 * get_global_size(d) + 1000 * get_local_size(d) + 100000 * get_num_groups(d)"
        "       + get_global_id(d + 1) + get_global_linear_id() - get_local_linear_id(); }",
        lambda i: (
            1 + np.choose(np.minimum(i % 5, 1), [480 + 16000 + 300000, 10 + 1000 + 100000]) + i // 16 * 16
        ),
        options="-cl-std=CL3.0",
    ),
}


def _stepped(i: int) -> float:
    if i % 4:
        return {1: -1, 2: X[i] + 3, 3: 3}[i % 4]
    x, n = X[i], i
    while n > 0:
        n -= 1
        if x > 10:
            x -= 7
            continue
        x = x * 2 + 1
        if x == 15:
            break
    return x


def _dotted(i: np.ndarray) -> np.ndarray:
    vectors = np.tile(np.array([1, 2, 3, 5]), (N, 1))
    vectors[i, i & 3] = 0
    return (vectors * np.array([[1, 5, 5, 3], [100, 0, 50, 30]])[i & 1]).sum(axis=1)


def _integers(i: np.ndarray, a: int) -> np.ndarray:
    c = (i * 37).astype(np.int8).astype(np.int64)
    s = (c << 3).astype(np.int16).astype(np.int64)
    turned = (a + i) & 0xFFFFFFFF
    turned = (turned << 5 | turned >> 27) & 0xFFFFFFFF
    return ((s * 1000003 >> 7) ^ turned ^ (i * a >> 32)) & 0xFFFFFFFF


@pytest.mark.parametrize("level", [0, 1, 2])
def test_does_what_numpy_does(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level takes a third of the cases, or all where time does not matter; a machine without it takes its own."""
    monkeypatch.setenv("WEFT_CPU", LEVELS[level])
    if not is_runnable():
        monkeypatch.delenv("WEFT_CPU")
    names = list(CASES) if os.environ.get("WEFT_FUZZ") else list(CASES)[level::3]
    for name in names:
        case = CASES[name]
        got = np.zeros(N, case.dtype)
        opencl.Program(case.source, case.options).k(N, 16, got, *case.args)
        np.testing.assert_array_equal(got, case.wanted(IDS).astype(case.dtype), err_msg=name)
