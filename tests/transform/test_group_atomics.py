"""Atomic operations on shared memory become plain ones; those on global memory stay."""

import numpy as np
import pytest

from weft import cuda
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.groups.group_atomics import make_group_atomics_plain

SHARED = "ptr addrspace(3)"


def transformed(body: str, result: str = "i32") -> str:
    module = read_module(f"define {result} @f(ptr %g, {SHARED} %s, i32 %v, float %x) {{\nentry:\n{body}\n}}")
    make_group_atomics_plain(module.functions["f"])
    verify(module)
    return write_module(module)


@pytest.mark.parametrize(
    ("rmw", "wanted"),
    [
        ("add", "add i32 %0, %v"),
        ("xchg", "store i32 %v"),
        ("umin", "icmp ult i32 %0, %v"),
        ("max", "icmp sgt i32 %0, %v"),
    ],
)
def test_updates_load_and_store(rmw: str, wanted: str) -> None:
    text = transformed(f"  %old = atomicrmw {rmw} {SHARED} %s, i32 %v monotonic\n  ret i32 %old")
    assert wanted in text and "ret i32 %0" in text and "atomicrmw" not in text
    assert f"load i32, {SHARED} %s, align 4" in text


@pytest.mark.parametrize(
    ("rmw", "type", "wanted"),
    [
        ("fmax", "float", "llvm.maxnum.f32"),
        ("fmin", "double", "llvm.minnum.f64"),
        ("fmaximum", "half", "llvm.maximum.f16"),
        ("fminimum", "bfloat", "llvm.minimum.bf16"),
    ],
)
def test_extrema_of_floats_are_those_of_plain_code(rmw: str, type: str, wanted: str) -> None:
    text = transformed(
        f"  %new = load {type}, ptr %g\n  %old = atomicrmw {rmw} {SHARED} %s, {type} %new monotonic\n  ret {type} %old",
        type,
    )
    assert f"call {type} @{wanted}({type} %0, {type} %new)" in text and "atomicrmw" not in text


@pytest.mark.parametrize(
    "stays",
    [
        "atomicrmw add ptr %g, i32 %v monotonic",
        f"atomicrmw volatile add {SHARED} %s, i32 %v monotonic",
        f"atomicrmw add {SHARED} %s, i32 %v seq_cst",
        f"atomicrmw uinc_wrap {SHARED} %s, i32 %v monotonic",
    ],
)
def test_what_others_see_or_wait_for_stays_atomic(stays: str) -> None:
    assert "atomicrmw" in transformed(f"  %old = {stays}\n  ret i32 %old")


def test_an_exchange_stores_the_new_value_where_the_old_one_is_expected() -> None:
    text = transformed(
        f"  %pair = cmpxchg {SHARED} %s, i32 %v, i32 7 monotonic monotonic\n"
        "  %ok = extractvalue { i32, i1 } %pair, 1\n  ret i1 %ok",
        "i1",
    )
    assert "select i1 %1, i32 7, i32 %0" in text and "ret i1 %1" in text and "cmpxchg" not in text


@cuda.jit(width=4)
def updates(values, results):
    shared = cuda.shared.array(8, dtype=np.int32)
    t = cuda.threadIdx.x
    shared[t % 8] = 100
    cuda.syncthreads()
    place = values[t] % 8
    cuda.atomic.add(shared, place, values[t])
    cuda.syncthreads()
    cuda.atomic.max(shared, (place + 1) % 8, 3 * values[t])
    cuda.syncthreads()
    cuda.atomic.cas(shared, place, 130, -values[t])
    cuda.syncthreads()
    if t < 8:
        results[cuda.blockIdx.x, t] = shared[t]


def test_lanes_and_lane_groups_see_each_other() -> None:
    values = np.array([3, 11, 4, 5, 19, 3, 8, 0, 12, 2, 1, 30], np.int32)
    results = np.zeros((5, 8), np.int32)
    updates[5, values.size](values, results)
    shared = [100] * 8
    for v in values:
        shared[v % 8] += v
    for v in values:
        shared[(v % 8 + 1) % 8] = max(shared[(v % 8 + 1) % 8], 3 * v)
    for v in values:
        shared[v % 8] = -v if shared[v % 8] == 130 else shared[v % 8]
    assert -30 in shared
    assert (results == shared).all()


@cuda.jit
def extrema(values, results):
    shared = cuda.shared.array(4, dtype=values.dtype)
    t = cuda.threadIdx.x
    if t < 4:
        shared[t] = 1
    cuda.syncthreads()
    cuda.atomic.max(shared, 0, values[t])
    cuda.atomic.min(shared, 1, values[t])
    cuda.atomic.nanmax(shared, 2, values[t])
    cuda.atomic.nanmin(shared, 3, values[t])
    cuda.syncthreads()
    if t < 4:
        results[t] = shared[t]


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("with_nan", [False, True])
def test_extrema_of_floats(
    level: str, dtype: type[np.floating], with_nan: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    values = np.random.default_rng(2).normal(size=100).astype(dtype)
    if with_nan:
        values[37] = np.nan
    results = np.zeros(4, dtype)
    extrema[1, values.size](values, results)
    wanted = [max(1, np.nanmax(values)), min(1, np.nanmin(values))]
    np.testing.assert_array_equal(results, np.array(wanted * 2, dtype), "NaN changes nothing")
