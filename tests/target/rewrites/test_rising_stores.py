"""Vectors of several registers are stored from the lowest register up, and memory gets what it got."""

import ctypes
import re

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.rising_stores import with_rising_stores

STORES = """
define void @f(ptr %from, ptr %to) {
entry:
  %v = load <32 x float>, ptr %from, align 4
  %w = fadd <32 x float> %v, splat (float 1.0)
  store <32 x float> %w, ptr %to, align 64, !alias.scope !0
  %more = getelementptr i8, ptr %to, i64 132
  store <32 x float> zeroinitializer, ptr %more, align 4
  %few = shufflevector <32 x float> %w, <32 x float> poison, <4 x i32> <i32 3, i32 1, i32 2, i32 0>
  %last = getelementptr i8, ptr %to, i64 260
  store <4 x float> %few, ptr %last, align 4
  ret void
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
"""


@pytest.mark.parametrize(("isa", "stores"), [(SSE2, 17), (AVX2, 9), (AVX512, 5)])
def test_each_register_is_stored_for_itself(isa: Isa, stores: int) -> None:
    text = with_rising_stores(STORES, isa)
    assert text is not None
    made = re.findall(r"store <(\d+) x float> .*", text)
    assert len(made) == stores
    assert all(int(lanes) * 32 <= isa.vector_bits for lanes in made)
    assert text.count("!alias.scope !0") == 1024 // isa.vector_bits
    # No address of a part is taken to be at a multiple of more than a register.
    assert all(int(align) <= isa.vector_bits // 8 for align in re.findall(r"  store .*align (\d+)", text))


def test_memory_gets_what_it_got() -> None:
    spec = TargetSpec.chosen()
    code = load_object(emit_object(optimized(STORES, spec, FINAL), spec), ["f"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("f"))
    memory = np.full(4096, 7, np.float32)
    first = (-memory.ctypes.data % 64) // 4
    values, result = np.arange(32, dtype=np.float32), memory[first : first + 80]
    call(values.ctypes.data, result.ctypes.data)
    wanted = np.full(80, 7, np.float32)
    wanted[:32] = values + 1
    wanted[33:65] = 0
    wanted[65:69] = [4, 2, 3, 1]
    np.testing.assert_array_equal(result, wanted)


def test_what_takes_turns_is_left_to_llvm() -> None:
    text = """
define void @f(<16 x double> %a, <16 x double> %b, ptr %to) {
entry:
  %t = shufflevector <16 x double> %a, <16 x double> %b, <4 x i32> <i32 0, i32 16, i32 1, i32 17>
  %u = shufflevector <4 x double> %t, <4 x double> %t, <8 x i32> <i32 0, i32 4, {rest}>
  store <8 x double> %u, ptr %to, align 8
  store volatile <16 x double> %a, ptr %to, align 8
  ret void
}
""".replace("{rest}", ", ".join(f"i32 {k}" for k in (1, 5, 2, 6, 3, 7)))
    assert with_rising_stores(text, AVX2) is None


@weft.jit(fastmath=True, width=64)
def smoothed(a, b):
    for y in prange(1, a.shape[0] - 1):
        for x in prange(1, a.shape[1] - 1):
            b[y, x] = a[y, x] + a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x]


@cuda.jit(width=64)
def shifted(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i + 1] = 3 * a[i]


def places_of_stores(assembly: str) -> list[list[int]]:
    """The offsets of runs of whole vectors that are stored one behind the other."""
    runs: list[list[int]] = [[]]
    for line in assembly.splitlines():
        found = re.match(r"\s+v?mov[ua]p[sd]\s+%[xyz]mm\d+, (-?\d*)\((%r[^s]\w*)[,)]", line)
        if found:
            runs[-1].append(int(found[1] or 0))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if len(run) > 1]


def test_loops_store_upwards() -> None:
    a = np.random.default_rng(3).random((70, 200), dtype=np.float32)
    b = np.zeros_like(a)
    smoothed(a, b)
    wanted = a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]
    np.testing.assert_allclose(b[1:-1, 1:-1], wanted, rtol=1e-5)
    runs = places_of_stores(next(iter(smoothed.inspect_asm().values())))
    assert runs
    assert all(run == sorted(run) for run in runs), runs


@pytest.mark.parametrize("type", [np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_kernels_store_what_they_stored(type: type) -> None:
    a = np.arange(1003).astype(type)
    b = np.zeros(1005, type)
    shifted[4, 256](a, b)
    np.testing.assert_array_equal(b[1:-1], (3 * a).astype(type))
    assert b[0] == b[-1] == 0
