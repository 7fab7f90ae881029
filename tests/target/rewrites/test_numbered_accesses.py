"""Gathers at numbers behind one address, as loads at numbers."""

import re

import numpy as np
import pytest

import weft
from codegen.kernels import kernel_text, stored, widened
from codegen.machine_code import ISAS, compile_kernel
from pairs import pairs
from weft import cuda, interp, prange
from weft.interp import Program
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.rewrites.numbered_accesses import number_accesses, with_numbered_accesses

ALL = "<8 x i1> splat (i1 true)"
GATHER = "@llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %at, {mask}, <8 x float> poison)"
TEXT = """
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
define <8 x float> @f(ptr %base, <8 x i32> %n, <8 x i1> %m) {{
  %wide = zext <8 x i32> %n to <8 x i64>
  %at = getelementptr {unit}, ptr %base, <8 x {index}
  %v = call <8 x float> {call}
  ret <8 x float> %v
}}
"""


def made(unit: str, index: str, mask: str, isa=AVX2) -> str:
    module = read_module(TEXT.format(unit=unit, index=index, call=GATHER.format(mask=mask)))
    number_accesses(module.functions["f"], isa)
    return with_numbered_accesses(write_module(module, plain=True))


@pytest.mark.parametrize(("index", "extension"), [("i64> %wide", "zext"), ("i32> %n", "sext")])
@pytest.mark.parametrize("unit", ["i8", "i32", "i64"])
@pytest.mark.parametrize("isa", [SSE2, AVX2])
def test_numbers_stay_numbers(unit: str, index: str, extension: str, isa) -> None:
    text = made(unit, index, ALL, isa)
    assert "call <8 x float> @llvm.masked.gather" not in text
    assert text.count(f"{extension} i32 %number.") == text.count("load float, ptr %at.") == 8
    assert len(re.findall(rf"getelementptr {unit}, ptr %base, i64", text)) == 8


def test_gathers_under_masks_and_with_registers_for_masks_stay() -> None:
    for text in (made("i32", "i64> %wide", "<8 x i1> %m"), made("i32", "i64> %wide", ALL, AVX512)):
        assert "call <8 x float> @llvm.masked.gather" in text and "weft.gather." not in text


BODY = """
  %odd = trunc i64 %tid to i1
  %few = icmp slt i64 %tid, %n
  br i1 {guard}, label %then, label %exit
then:
  %k = getelementptr i8, ptr %in, i64 %tid
  %b = load i8, ptr %k
  %i = zext i8 %b to i64
  %at = getelementptr {type}, ptr %in, i64 %i
  %v = load {type}, ptr %at
  %to = getelementptr {type}, ptr %out, i64 %tid
  store {type} %v, ptr %to
  br label %exit
exit:"""


def of_arrays(text: str) -> str:
    """The kernel, for arrays that begin where its pointers lead."""
    return re.sub(r"(define .*?ptr )([^,]*%in\b)", r'\1"weft.array.bytes"="4096" \2', text, count=1)


@pytest.mark.parametrize(
    ("isa", "width", "type", "guard"),
    pairs(ISAS, [4, 16, 64], ["i8", "i16", "i32"], ["true", "%odd", "%few"]),
)
def test_lanes_get_what_is_at_their_places(isa, width: int, type: str, guard: str) -> None:
    text = of_arrays(kernel_text(BODY.format(type=type, guard=guard)))
    given = np.random.default_rng(3).integers(0, 256, 1024, np.uint8)
    program, compiled = Program(read_module(text)), compile_kernel(text, width, isa)
    for n in (0, 1, 37):
        wanted, got = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
        interp.launch(program, "kernel", (given, wanted, n, 0), 1, 64, width=width)
        compiled((given, got, n, 0), 64)
        np.testing.assert_array_equal(got, wanted)


def test_where_an_array_begins_says_what_passive_lanes_read() -> None:
    index = (
        "  %p = getelementptr i32, ptr %in, i64 %tid\n  %k = load i32, ptr %p\n  %c = icmp slt i32 %k, 9\n"
    )
    body = (
        index + "  br i1 %c, label %then, label %exit\nthen:\n  %g = getelementptr i32, ptr %in, i32 %k\n"
        "  %w = load i32, ptr %g\n" + stored("%w") + "  br label %exit\nexit:"
    )
    numbered = r"zext nneg <8 x i32> %\S+ to <8 x i64>"
    assert re.search(numbered, widened(of_arrays(kernel_text(body)), isa=AVX2))
    # A pointer may lead into the midst of an array, where there may be nothing, and numbers may be below 0.
    assert not re.search(numbered, widened(kernel_text(body), isa=AVX2))


def places(index, values, out):
    for i in prange(out.size):
        k = index[i]
        if k != 0:
            out[i] = values[k]


@cuda.jit
def places_kernel(index, values, out):
    i = cuda.grid(1)
    if i < out.size:
        k = index[i]
        if k != 0:
            out[i] = values[k]


def places_in_rows(index, values, out):
    for i in prange(out.size):
        k = index[i]
        if k != 0:
            out[i] = values[k, -1]


@pytest.mark.parametrize("empty", [False, True])
def test_empty_arrays_may_be_anywhere(empty: bool) -> None:
    """No lane reads one that is empty: whatever its pointer is, nothing is read there."""
    rng = np.random.default_rng(7)
    values = rng.random(50).astype(np.float32)
    index = np.zeros(100, np.int32) if empty else rng.integers(-50, 50, 100).astype(np.int32)
    nothing = np.frombuffer(b"", np.float32)
    wanted = np.where(index != 0, values[index], np.float32(0))
    for width in (None, 8, 16):
        out = np.zeros(100, np.float32)
        weft.jit(places, width=width)(index, nothing if empty else values, out)
        np.testing.assert_array_equal(out, wanted)
        out = np.zeros(100, np.float32)
        cuda.jit(places_kernel.py_func, width=width)[2, 64](index, nothing if empty else values, out)
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("step", [1, -1, 2])
def test_views_that_go_backwards_are_read_where_they_are(step: int) -> None:
    rng = np.random.default_rng(8)
    values = rng.random((120, 3)).astype(np.float32)[::step]
    n = values.shape[0]
    index = rng.integers(-n, n, 100).astype(np.int32)
    wanted = np.where(index != 0, values[index, -1], np.float32(0))
    for width in (None, 8, 16):
        out = np.zeros(100, np.float32)
        weft.jit(places_in_rows, width=width)(index, values, out)
        np.testing.assert_array_equal(out, wanted)


def between(table, places, out):
    for i in prange(out.size):
        k = places[i]
        out[i] = table[k] + 2 * table[k + 1] + 4 * table[k + 2]


@cuda.jit
def between_kernel(table, places, out):
    i = cuda.grid(1)
    if i < out.size:
        k = places[i]
        out[i] = table[k] + 2 * table[k + 1] + 4 * table[k + 2]


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("least", [-40, -3, -1, 0])
def test_neighbours_have_numbers_in_common(level: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``table[k]``, ``table[k + 1]``: each number is taken out of its register once. -1 is the last element."""
    monkeypatch.setenv("WEFT_CPU", level)
    rng = np.random.default_rng(9)
    table, places = rng.random(40).astype(np.float32), rng.integers(least, 37, 200).astype(np.int32)
    wanted = table[places] + 2 * table[places + 1] + 4 * table[places + 2]
    for width in (None, 8, 16):
        out = np.zeros(200, np.float32)
        compiled = weft.jit(between, width=width)
        compiled(table, places, out)
        np.testing.assert_allclose(out, wanted, rtol=1e-6)
        out = np.zeros(200, np.float32)
        cuda.jit(between_kernel.py_func, width=width)[2, 128](table, places, out)
        np.testing.assert_allclose(out, wanted, rtol=1e-6)


def test_what_is_added_to_a_number_goes_to_the_base() -> None:
    body = (
        "  %p = getelementptr i32, ptr %in, i64 %tid\n  %k = load i32, ptr %p\n  %more = add i32 %k, 1\n"
        "  %a = getelementptr i32, ptr %in, i32 %k\n  %v = load i32, ptr %a\n"
        "  %b = getelementptr i32, ptr %in, i32 %more\n  %w = load i32, ptr %b\n"
        "  %sum = add i32 %v, %w\n" + stored("%sum")
    )
    shared = r"getelementptr i32, ptr %in, i64 1\b"
    assert re.search(shared, widened(of_arrays(kernel_text(body)), isa=AVX2))
    assert not re.search(shared, widened(of_arrays(kernel_text(body)), isa=AVX512))
    # The sum of a number below 0 may be anywhere where an array need not begin at its base.
    assert not re.search(shared, widened(kernel_text(body), isa=AVX2))
