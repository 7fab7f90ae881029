"""Floats divided by what all lanes share are multiplied by its inverse, where that is allowed."""

import re

import numpy as np
import pytest

import weft
from weft import cuda


def scaled(x, w, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / w + (x[i] + w) / w


def scaled_in_a_loop(x, w, out):
    for i in weft.prange(out.size):
        out[i] = x[i] / w + (x[i] + w) / w


def each(x, w, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = w / x[i]


def divisions(compiled) -> int:
    text = "\n".join(compiled.inspect_llvm().values())
    return len(re.findall(r"fdiv [a-z ]*<\d+ x (?:float|double)>", text))


@pytest.mark.spread
@pytest.mark.optimized
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("fastmath", [True, False, {"arcp"}])
def test_there_is_one_inverse_for_all_lanes(kind: type, fastmath) -> None:
    x = np.random.default_rng(1).random(200).astype(kind)
    kernel, loop = cuda.jit(scaled, fastmath=fastmath), weft.jit(scaled_in_a_loop, fastmath=fastmath)
    for w in (kind(4), kind(-0.5), kind(3), kind(0), kind(np.inf)):
        one, other = np.zeros(200, kind), np.zeros(200, kind)
        kernel[2, 128](x, w, one)
        loop(x, w, other)
        if fastmath is not True or (np.isfinite(w) and w):
            with np.errstate(all="ignore"):
                wanted = x / w + (x + w) / w
            for result in (one, other):
                np.testing.assert_allclose(result, wanted, rtol=0 if fastmath is False else 1e-6)
    assert (divisions(kernel) == 0) == bool(fastmath)


@pytest.mark.optimized
def test_what_differs_from_lane_to_lane_is_divided_by() -> None:
    # Quotients of doubles are taken from estimates on some processors.
    x = np.random.default_rng(2).random(100, np.float32) + np.float32(0.5)
    out = np.zeros(100, np.float32)
    kernel = cuda.jit(each, fastmath=True)
    kernel[1, 128](x, np.float32(3), out)
    np.testing.assert_allclose(out, 3 / x, rtol=1e-6)
    assert divisions(kernel) > 0
