"""Masked accesses that no instruction makes ask about all lanes together, or loop; no lane has a branch of its own."""

import numpy as np
import pytest
from numpy.typing import NDArray

from weft import cuda
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.masked_loops import with_masked_loops


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


def first_of(text, letter, found):
    i = cuda.grid(1)
    if i < found.size:
        k = 0
        while i + k < text.size and text[i + k] != letter:
            k += 1
        found[i] = k


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
