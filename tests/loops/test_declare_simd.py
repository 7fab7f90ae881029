"""``#pragma omp declare simd``: the versions that it names are made, and called where they are made elsewhere."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from weft.diag.errors import ArgumentError
from weft.ir.reader import read_module
from weft.loops.llvm_ir import vectorize_ir
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, SSE2, SSE4, Isa
from weft.machine.vector_abi import variants_for
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = """
#pragma omp declare simd notinbranch
float elsewhere(float x);
#pragma omp declare simd uniform(p) linear(i) simdlen(8)
float at(const float *p, int i, float x) { return p[i] * x; }
#pragma omp declare simd inbranch
double chosen(double x, int k) { return k > 0 ? x * k : -x; }
#pragma omp declare simd linear(p:1) notinbranch
void put(double *p, double x) { *p = x + 1; }
#pragma omp declare simd
char flipped(char x) { return ~x; }
float plain(float x) { return x + 1; }
void loop(int n, float *restrict a, float *restrict b) {
#pragma omp simd simdlen(16)
  for (int i = 0; i < n; i++) a[i] = elsewhere(b[i]);
}
"""

NAMES = {
    "avx512": {
        "_ZGVeM8ulv_at": "<8 x float> (ptr, i32, <8 x float>, i32)",
        "_ZGVeN8ulv_at": "<8 x float> (ptr, i32, <8 x float>)",
        "_ZGVeM8vv_chosen": "<8 x double> (<8 x double>, <8 x i32>, i32)",
        "_ZGVeN8l8v_put": "void (ptr, <8 x double>)",
        "_ZGVeM64v_flipped": "<64 x i8> (<64 x i8>, i64)",
        "_ZGVeN64v_flipped": "<64 x i8> (<64 x i8>)",
    },
    "avx2": {
        "_ZGVdM8ulv_at": "<8 x float> (ptr, i32, <8 x float>, <8 x i32>)",
        "_ZGVdN8ulv_at": "<8 x float> (ptr, i32, <8 x float>)",
        "_ZGVdM4vv_chosen": "<4 x double> (<4 x double>, <4 x i32>, <4 x i64>)",
        "_ZGVdN4l8v_put": "void (ptr, <4 x double>)",
        "_ZGVdM32v_flipped": "<32 x i8> (<32 x i8>, <32 x i8>)",
        "_ZGVdN32v_flipped": "<32 x i8> (<32 x i8>)",
    },
    "sse2": {
        "_ZGVbM8ulv_at": "<8 x float> (ptr, i32, <8 x float>, <8 x i32>)",
        "_ZGVbN8ulv_at": "<8 x float> (ptr, i32, <8 x float>)",
        "_ZGVbM2vv_chosen": "<2 x double> (<2 x double>, <2 x i32>, <2 x i64>)",
        "_ZGVbN2l8v_put": "void (ptr, <2 x double>)",
        "_ZGVbM16v_flipped": "<16 x i8> (<16 x i8>, <16 x i8>)",
        "_ZGVbN16v_flipped": "<16 x i8> (<16 x i8>)",
    },
}

RUNNABLE = [isa for isa in (AVX512, AVX2, SSE2) if isa.features <= chosen().features]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "declared.c"
    file.write_text(SOURCE)
    return file


def linked(text: str, other: str) -> str:
    """A module with the functions that it lacks."""
    scalar = "define float @elsewhere(float %x) {\n  %r = fmul float %x, 2.0\n  ret float %r\n}\n"
    return re.sub(r"(?m)^declare .*@\w*elsewhere\(.*\n", "", text) + scalar + other


@pytest.mark.parametrize("target", NAMES)
def test_all_versions_that_are_named_are_made(target: str, source: Path) -> None:
    made = vectorize_ir(source, target=target)
    functions = read_module(made.llvm).functions
    assert made.name.split(", ") == list(NAMES[target])
    assert {name: str(functions[name].fn_type) for name in NAMES[target]} == NAMES[target]
    assert all(name in made.header for name in NAMES[target] if "M" not in name)


@pytest.mark.parametrize("isa", RUNNABLE, ids=lambda isa: isa.name)
def test_lanes_do_what_the_function_does(isa: Isa, source: Path) -> None:
    names = {re.sub(r".*_", "", n): n for n in NAMES[isa.name] if "M" in n or "put" in n}
    lanes = variants_for([names["chosen"]], isa)[0].lanes
    bits = "i32 %bits" if isa is AVX512 else f"<{lanes} x i64> %wide"
    caller = f"""
define void @call_chosen(ptr %x, ptr %k, i32 %bits, ptr %out) {{
  %vx = load <{lanes} x double>, ptr %x, align 8
  %vk = load <{lanes} x i32>, ptr %k, align 4
  %narrow = trunc i32 %bits to i{lanes}
  %truth = bitcast i{lanes} %narrow to <{lanes} x i1>
  %wide = sext <{lanes} x i1> %truth to <{lanes} x i64>
  %r = call <{lanes} x double> @{names["chosen"]}(<{lanes} x double> %vx, <{lanes} x i32> %vk, {bits})
  store <{lanes} x double> %r, ptr %out, align 8
  call void @{names["put"]}(ptr %out, <{lanes} x double> %r)
  ret void
}}
"""
    text = linked(vectorize_ir(source, target=isa.name).llvm, caller)
    code = load_object(emit_object(text, TargetSpec.of_isa(isa)), ["call_chosen"])
    x, k = np.arange(lanes) + 0.5, np.arange(lanes, dtype=np.int32) % 3 - 1
    out = np.zeros(lanes)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_void_p)
    function(code.address("call_chosen"))(x.ctypes.data, k.ctypes.data, 0b10, out.ctypes.data)
    wanted = np.where(k > 0, x * k, -x) + 1
    assert out[1] == wanted[1]
    function(code.address("call_chosen"))(x.ctypes.data, k.ctypes.data, -1, out.ctypes.data)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("isa", RUNNABLE, ids=lambda isa: isa.name)
def test_loops_call_the_versions_that_are_made_elsewhere(isa: Isa, source: Path) -> None:
    made = vectorize_ir(source, "loop", loop="annotated", width=16, target=isa.name)
    lanes = {"avx512": 16, "avx2": 8, "sse2": 4}[isa.name]
    name = f"_ZGV{ {'avx512': 'e', 'avx2': 'd', 'sse2': 'b'}[isa.name] }N{lanes}v_elsewhere"
    assert re.search(rf"call <{lanes} x float> @{name}", made.llvm), made.llvm
    version = f"""
define <{lanes} x float> @{name}(<{lanes} x float> %x) {{
  %r = fmul <{lanes} x float> %x, splat (float 2.0)
  ret <{lanes} x float> %r
}}
"""
    text = linked(made.llvm, version)
    code = load_object(emit_object(text, TargetSpec.of_isa(isa)), ["loop"])
    a, b = np.zeros(77, np.float32), np.arange(77, dtype=np.float32)
    ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(code.address("loop"))(
        77, a.ctypes.data, b.ctypes.data
    )
    np.testing.assert_array_equal(a, 2 * b)


def test_names_that_are_none_are_left_out() -> None:
    names = [
        "_ZGVbN4v_f",
        "_ZGVbN4R8_f",
        "_ZGVbM2ln2va16u_f",
        "_ZGVbN4ls1v_f",
        "_ZGVdN4v_f",
        "f",
        "_ZGVbNxv_f",
    ]
    found = variants_for(names, SSE4)
    assert [(v.symbol, v.masked, v.lanes) for v in found] == [
        ("_ZGVbN4v_f", False, 4),
        ("_ZGVbM2ln2va16u_f", True, 2),
    ]
    assert [(p.stride, p.alignment) for p in found[1].parameters] == [(-2, 1), (None, 16), (0, 1)]


def test_without_a_name_or_a_mark_there_is_nothing_to_do(tmp_path: Path) -> None:
    file = tmp_path / "plain.c"
    file.write_text("float plain(float x) { return x + 1; }\n")
    with pytest.raises(ArgumentError, match=r"no function of .*plain\.c is marked to be vectorized"):
        vectorize_ir(file)
    with pytest.raises(ArgumentError, match="are those of one function"):
        vectorize_ir(file, args="T")
