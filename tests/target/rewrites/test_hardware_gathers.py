"""Gathers as the processor's instructions: where, which forms, and that they load what loads one by one do."""

import ctypes
import mmap
import re

import numpy as np
import pytest
from msgspec.structs import replace

import weft
from weft import cuda, prange
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.loops.llvm_ir import vectorize_ir
from weft.machine import host as host_module
from weft.machine.cores import Core
from weft.machine.host import host
from weft.machine.targets import AVX2, Machine
from weft.target.machine import TargetSpec, emit_assembly
from weft.target.rewrites.hardware_gathers import with_hardware_gathers
from weft.target.rewrites.numbered_accesses import number_accesses, with_numbered_accesses

pytestmark = pytest.mark.skipif(host().arch != "x86_64", reason="the instructions are of x86-64")
HAS_AVX2 = AVX2.features <= host().features
ALDER_LAKE = "alderlake,-avxvnni"

TEXT = """
declare <{n} x {t}> @llvm.masked.gather.v{n}{m}.v{n}p0(<{n} x ptr>, <{n} x i1>, <{n} x {t}>)
define <{n} x {t}> @f(ptr %base, <{n} x i32> %k) {{
  %wide = {extension} <{n} x i32> %k to <{n} x i64>
  %at = getelementptr {unit}, ptr %base, <{n} x i64> %wide
  %v = call <{n} x {t}> @llvm.masked.gather.v{n}{m}.v{n}p0(
    <{n} x ptr> align {align} %at, <{n} x i1> splat (i1 true), <{n} x {t}> poison)
  ret <{n} x {t}> %v
}}
"""
FORMS = {
    "float": ("f32", "i32", "vgatherdps", 8),
    "i32": ("i32", "i32", "vpgatherdd", 8),
    "double": ("f64", "i64", "vgatherdpd", 4),
    "i64": ("i64", "i64", "vpgatherdq", 4),
}


def numbered(n: int, type: str, mangled: str, unit: str, extension: str = "zext nneg", align: int = 4) -> str:
    text = TEXT.format(n=n, t=type, m=mangled, unit=unit, extension=extension, align=align)
    module = read_module(text)
    number_accesses(module.functions["f"], AVX2)
    return with_numbered_accesses(write_module(module, plain=True))


@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
@pytest.mark.parametrize("type", FORMS)
def test_registers_of_elements_are_gathered_at_numbers_of_32_bits(type: str, lanes: int) -> None:
    mangled, unit, name, each = FORMS[type]
    text = with_hardware_gathers(numbered(lanes, type, mangled, unit))
    code = emit_assembly(text, TargetSpec.of_isa(AVX2))
    assert len(re.findall(rf"\t{name}\t", code)) == max(1, lanes // each)
    assert with_hardware_gathers(text) == text


@pytest.mark.parametrize(("type", "mangled"), [("i8", "i8"), ("i16", "i16")])
def test_bytes_and_halves_are_gathered_in_words(type: str, mangled: str) -> None:
    text = with_hardware_gathers(numbered(16, type, mangled, type, align=2))
    assert emit_assembly(text, TargetSpec.of_isa(AVX2)).count("vpgatherdd") == 2


def test_what_may_be_beyond_31_bits_and_two_lanes_are_loaded_one_by_one() -> None:
    for text in (
        numbered(8, "float", "f32", "i32", extension="zext"),
        numbered(2, "double", "f64", "i64"),
        numbered(8, "i8", "i8", "i32"),
    ):
        assert "weft.gather." in text and with_hardware_gathers(text) == text
    assert with_hardware_gathers("; nothing") == "; nothing"


def test_levels_load_one_by_one_wherever_code_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """On machines that share a level all code is the same."""
    here = Machine("x86_64", "some", host().features, replace(AVX2, core=Core(fast_gathers=True)))
    monkeypatch.setattr(host_module, "host", lambda: here)
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    assert TargetSpec.chosen() == TargetSpec.of_isa(AVX2)
    assert not TargetSpec.chosen().isa.core.fast_gathers


def test_cores_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def spec(name: str) -> TargetSpec:
        monkeypatch.setenv("WEFT_CPU", name)
        return TargetSpec.chosen()

    for name in ("alderlake", "raptorlake", "meteorlake", "arrowlake-s", "lunarlake", "emeraldrapids"):
        assert spec(name).isa.core.fast_gathers
    for name in (
        "x86-64-v3",
        "haswell",
        "broadwell",
        "skylake",
        "znver3",
        "znver4",
        "gracemont",
        "sierraforest",
    ):
        assert not spec(name).isa.core.fast_gathers
    # LLVM takes gathers for fast on its own account there.
    assert spec("alderlake").features.endswith(",-fast-gather")
    assert spec("skylake").features.endswith(",-fast-gather")
    for name in ("x86-64-v3", "znver3", "haswell", "emeraldrapids"):
        assert "-fast-gather" not in spec(name).features


IR = """
define float @f(ptr %t, i32 %k) {
  %at = getelementptr float, ptr %t, i32 %k
  %v = load float, ptr %at
  ret float %v
}
"""


def take(table, index, out):
    for i in prange(out.size):
        out[i] = table[index[i]]


def take_some(table, index, out):
    for i in prange(out.size):
        if index[i] % 3 != 0:
            out[i] = table[index[i]]


@cuda.jit
def take_some_kernel(table, index, out):
    i = cuda.grid(1)
    if i < out.size and index[i] % 3 != 0:
        out[i] = table[index[i]]


@pytest.mark.parametrize(("cpu", "gathers"), [("alderlake", True), ("haswell", False), ("skylake", False)])
def test_text_and_assembly_of_named_processors(
    cpu: str, gathers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    for function in (cuda.jit(take_some_kernel.py_func), weft.jit(take)):
        code = function.compile("void(float32[::1], int32[::1], float32[::1])").assembly()
        assert ("vgatherdps" in code) == gathers
    assert "vgather" not in vectorize_ir(IR, "f", target="avx2").assembly


def at_the_end_of_memory(values: np.ndarray) -> np.ndarray:
    """A copy behind which, and before whose page, there is none."""
    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (0, 2):
        place = ctypes.c_void_p(start + page * mmap.PAGESIZE)
        assert not libc.mprotect(place, ctypes.c_size_t(mmap.PAGESIZE), 0)
    copy = np.frombuffer(pages, values.dtype, values.size, 2 * mmap.PAGESIZE - values.nbytes)
    copy[:] = values
    return copy


@pytest.mark.spread
@pytest.mark.skipif(not HAS_AVX2, reason="the host has no AVX2")
@pytest.mark.parametrize("cpu", [ALDER_LAKE, "x86-64-v3"])
@pytest.mark.parametrize("type", [np.float32, np.float64, np.int64, np.uint8, np.int16])
def test_elements_are_those_at_their_numbers(cpu: str, type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    all_of, some_of, some_of_kernel = (
        weft.jit(take),
        weft.jit(take_some),
        cuda.jit(take_some_kernel.py_func),
    )
    rng = np.random.default_rng(3)
    for size in (1, 3, 509):
        table = at_the_end_of_memory(rng.integers(0, 100, size).astype(type))
        index = rng.integers(-size, size, 1003).astype(np.int32)
        out = np.zeros(1003, type)
        all_of(table, index, out)
        np.testing.assert_array_equal(out, table[index])
        index = index.astype(np.int64 if type == np.float32 else np.int32)
        wanted = np.where(index % 3 != 0, table[index], 0)
        for run in (some_of, some_of_kernel[8, 128]):
            out = np.zeros(1003, type)
            run(table, index, out)
            np.testing.assert_array_equal(out, wanted)


def add_rows(begins, columns, values, x, y):
    for row in prange(y.size):
        total = x[0] * 0
        for k in range(begins[row], begins[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@pytest.mark.skipif(not HAS_AVX2, reason="the host has no AVX2")
@pytest.mark.parametrize("type", [np.float32, np.float64])
def test_sums_are_those_of_the_level(type, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    begins = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 300))]).astype(np.int32)
    columns = rng.integers(-200, 200, begins[-1]).astype(np.int32)
    columns[: begins[200]] %= 200
    values, x = rng.random(begins[-1]).astype(type), rng.random(200).astype(type)
    made = {}
    for cpu in ("x86-64-v3", ALDER_LAKE):
        monkeypatch.setenv("WEFT_CPU", cpu)
        compiled = weft.jit(add_rows, fastmath=True)
        y = made[cpu] = np.zeros(300, type)
        compiled(begins, columns, values, x, y)
        gathers = "vgatherdp" in "".join(compiled.inspect_asm().values())
        assert gathers or cpu != ALDER_LAKE
    wanted = np.add.reduceat(np.append(values * x[columns], 0), np.minimum(begins[:-1], begins[-1]))
    wanted[begins[1:] == begins[:-1]] = 0
    np.testing.assert_allclose(made[ALDER_LAKE], wanted, rtol=1e-4)
    np.testing.assert_allclose(made["x86-64-v3"], wanted, rtol=1e-4)
