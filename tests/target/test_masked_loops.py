"""Masked gathers and scatters that no instruction makes are loops over active lanes, not a branch for each lane."""

import numpy as np
import pytest
from numpy.typing import NDArray

from weft import cuda
from weft.machine.targets import AVX2, SSE2
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
