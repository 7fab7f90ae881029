"""Masked accesses that no instruction makes ask about all lanes together, or loop; no lane has a branch of its own."""

import ctypes

import numpy as np
import pytest
from numpy.typing import NDArray

from codegen.machine_code import spec_of
from weft import cuda
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, NEON, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import emit_object
from weft.target.passes import FINAL, WHOLE, Pipeline
from weft.target.rewrites.masked_loops import with_masked_loops


def move(source, target, index, limit):
    i = cuda.grid(1)
    if index[i] < limit:
        target[index[i]] = source[index[i]] + 1


@pytest.mark.parametrize(("width", "element"), [(32, np.float16), (64, np.uint8)])
def test_bytes_at_any_place_are_read_and_written_by_active_lanes_only(
    width: int, element: type[np.generic]
) -> None:
    kernel = cuda.jit(move, width=width)
    index: NDArray[np.int64] = np.random.default_rng(1).permutation(256)
    source, target = np.arange(256).astype(element), np.zeros(256, element)
    kernel[2, 128](source[:200], target[:200], index, 200)
    assert (target[:200] == np.arange(1, 201).astype(element)).all() and not target[200:].any()


def test_constant_masks_and_what_the_processor_has_stay_as_they_are() -> None:
    call = (
        "call <32 x {t}> @llvm.masked.gather.v32{m}.v32p0(<32 x ptr> %p, <32 x i1> {mask}, <32 x {t}> poison)"
    )
    bytes_, floats = ({"t": t, "m": m} for t, m in (("i8", "i8"), ("float", "f32")))
    assert "@weft.gather.v32i8(<32 x ptr> %p" in with_masked_loops(call.format(mask="%m", **bytes_), AVX2)
    constant = call.format(mask="splat (i1 true)", **bytes_)
    assert with_masked_loops(constant, AVX2) == constant
    assert AVX2.gather and not SSE2.gather
    assert with_masked_loops(call.format(mask="%m", **floats), AVX2) == call.format(mask="%m", **floats)
    assert "define internal <32 x float>" in with_masked_loops(call.format(mask="%m", **floats), SSE2)


def test_what_a_text_has_already_is_not_defined_again() -> None:
    call = "  %x = call <32 x i8> @llvm.masked.{op}\n"
    gather = call.format(op="gather.v32i8.v32p0(<32 x ptr> %p, <32 x i1> %m, <32 x i8> poison)")
    load = call.format(op="load.v32i8.p0(ptr %p, <32 x i1> %m, <32 x i8> poison)")
    once = with_masked_loops(gather, SSE2)
    twice = with_masked_loops(once + gather + load, SSE2)
    assert twice.count("define internal") == 2 and twice.count("call <32 x i8> @weft.gather.") == 2


def first_of(text, letter, found):
    i = cuda.grid(1)
    if i < found.size:
        k = 0
        while i + k < text.size and text[i + k] != letter:
            k += 1
        found[i] = k


@pytest.mark.spread
@pytest.mark.parametrize("element", [np.uint8, np.int16, np.float64])
@pytest.mark.parametrize("size", [1, 40, 5000])
def test_neighbours_of_which_some_are_wanted_are_loaded_within_a_page_and_across(
    size: int, element: type[np.generic]
) -> None:
    text = np.random.default_rng(size).integers(0, 9, size).astype(element)
    found = np.zeros(size, np.int32)
    cuda.jit(first_of, width=32)[-(-size // 64), 64](text, element(3), found)
    wanted, last = np.zeros(size, np.int32), 0
    for i in reversed(range(size)):
        last = wanted[i] = 0 if text[i] == 3 else last + 1
    assert (found == wanted).all()


def test_loads_of_neighbours_stay_where_there_is_an_instruction_for_them() -> None:
    call = "call <32 x {t}> @llvm.masked.load.v32{m}.p0(ptr align 1 %p, <32 x i1> {mask}, <32 x {t}> poison)"
    bytes_, floats = call.format(t="i8", m="i8", mask="%m"), call.format(t="float", m="f32", mask="%m")
    assert "@weft.load.v32i8(ptr align 1 %p" in with_masked_loops(bytes_, AVX2)
    assert "icmp ule i64 %offset, 4064" in with_masked_loops(bytes_, AVX2)
    assert with_masked_loops(bytes_, AVX512) == bytes_
    assert with_masked_loops(floats, AVX2) == floats
    assert "icmp ule i64 %offset, 3968" in with_masked_loops(floats, SSE2)
    constant = call.format(t="i8", m="i8", mask="splat (i1 true)")
    assert with_masked_loops(constant, SSE2) == constant


TYPES = {"i8": "i8", "i16": "i16", "f16": "half", "i32": "i32", "f64": "double", "p0": "ptr"}
BYTES = {"i8": 1, "i16": 2, "f16": 2, "i32": 4, "f64": 8, "p0": 8}
LOAD = """
declare {v} @llvm.masked.load.{m}.p0(ptr, <{n} x i1>, {v})
define void @f(ptr %p, i{n} %bits, ptr %to) {{
  %mask = bitcast i{n} %bits to <{n} x i1>
  %x = call {v} @llvm.masked.load.{m}.p0(ptr %p, <{n} x i1> %mask, {v} zeroinitializer)
  store {v} %x, ptr %to, align 1
  ret void
}}
"""


@pytest.mark.spread
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("isa", [SSE2, AVX2, NEON], ids=lambda isa: isa.name)
def test_neighbours_of_all_types_and_numbers_are_loaded(isa: Isa, type: str) -> None:
    spec, each = spec_of(isa), BYTES[type]
    for n in () if isa.masks_memory(8 * each) else (2, 8, 32, 64):
        text = with_masked_loops(LOAD.format(v=f"<{n} x {TYPES[type]}>", m=f"v{n}{type}", n=n), isa)
        assert f"@weft.load.v{n}{type}" in text
        text = write_module(read_module(text), plain=True)
        if spec.isa is not isa:
            continue
        code = load_object(emit_object(text, spec, FINAL), ["f"])
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)(code.address("f"))
        pages = np.random.default_rng(n).integers(0, 255, 3 * 4096).astype(np.uint8)
        begin, size = -pages.ctypes.data % 4096, n * each
        for place in (0, 4096 - size, 4096 - size + 1, 4090):
            source = pages[begin + place :][:size]
            for bits in (0, 1, 0x5A5A5A5A5A5A5A5A & ((1 << n) - 1), (1 << n) - 1):
                found = np.full(size, 9, np.uint8)
                call(source.ctypes.data, bits, found.ctypes.data)
                active = np.repeat([bits >> lane & 1 for lane in range(n)], each).astype(bool)
                assert (found == np.where(active, source, 0)).all()


SMALL = """
@t = internal global [20 x i8] zeroinitializer, align 1
declare <32 x i8> @llvm.masked.load.v32i8.p0(ptr, <32 x i1>, <32 x i8>)
define void @f(ptr %from, i32 %bits, i64 %k, ptr %to) {
  %mask = bitcast i32 %bits to <32 x i1>
  %first = load [20 x i8], ptr %from
  store [20 x i8] %first, ptr @t
  %x = call <32 x i8> @llvm.masked.load.v32i8.p0(ptr @t, <32 x i1> %mask, <32 x i8> zeroinitializer)
  %at = getelementptr i8, ptr @t, i64 %k
  store i8 7, ptr %at
  %y = call <32 x i8> @llvm.masked.load.v32i8.p0(ptr @t, <32 x i1> %mask, <32 x i8> zeroinitializer)
  %changed = xor <32 x i8> %x, %y
  store <32 x i8> %changed, ptr %to, align 1
  ret void
}
"""


@pytest.mark.parametrize("pipeline", [FINAL, WHOLE], ids=lambda pipeline: pipeline.name)
@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=lambda isa: isa.name)
def test_what_is_stored_to_an_object_that_is_smaller_than_the_lanes_is_seen(
    isa: Isa, pipeline: Pipeline
) -> None:
    """LLVM takes it that no load is larger than its object: it had the second one give what the first had given."""
    spec = spec_of(isa)
    if spec.isa is not isa:
        pytest.skip("this machine has no such instructions")
    code = load_object(emit_object(with_masked_loops(SMALL, isa), spec, pipeline), ["f"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_long, ctypes.c_void_p)
    first, changed = np.arange(100, 120, dtype=np.uint8), np.zeros(32, np.uint8)
    call(code.address("f"))(first.ctypes.data, (1 << 20) - 1, 5, changed.ctypes.data)
    assert changed.nonzero()[0].tolist() == [5] and changed[5] == 105 ^ 7
