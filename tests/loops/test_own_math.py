"""Functions of weft's own are part of the code by every door, and compute what the C library does."""

import math
import re

import numpy as np
import pytest

import weft
from weft import cuda
from weft.machine.host import chosen

measured = pytest.mark.skipif(chosen().arch != "x86_64", reason="libraries' functions come first there")
COUNT = 100
FUNCTION = """
declare float @llvm.exp.f32(float)
declare float @llvm.log.f32(float)
define float @soft(float %x) {
  %e = call float @llvm.exp.f32(float %x)
  %s = fadd float %e, 1.0
  %r = call float @llvm.log.f32(float %s)
  ret float %r
}
"""


def numbers() -> np.ndarray:
    return np.linspace(-20, 20, COUNT).astype(np.float32)


def expected() -> np.ndarray:
    return np.log1p(np.exp(numbers().astype(np.float64)))


def soft(x):
    """Return the logarithm of 1 + e ** x."""
    return math.log(math.exp(x) + np.float32(1))


def soft_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.log(math.exp(x[i]) + np.float32(1))


def soft_loop(x, y):
    for i in weft.prange(x.size):
        y[i] = math.log(math.exp(x[i]) + np.float32(1))


@pytest.fixture(autouse=True)
def all_math(monkeypatch) -> None:
    monkeypatch.delenv("WEFT_VECTOR_MATH", raising=False)


@measured
def test_kernels() -> None:
    kernel, y = cuda.jit(soft_kernel), np.zeros(COUNT, np.float32)
    kernel[1, 128](numbers(), y)
    np.testing.assert_allclose(y, expected(), rtol=1e-6, atol=1e-7)
    assert "_ZGV" not in "".join(kernel.inspect_asm().values())
    assert "expf" not in "".join(kernel.inspect_asm().values())


@measured
def test_loops() -> None:
    function, y = weft.jit(soft_loop), np.zeros(COUNT, np.float32)
    function(numbers(), y)
    np.testing.assert_allclose(y, expected(), rtol=1e-6, atol=1e-7)
    assert "_ZGV" not in "".join(function.inspect_asm().values())


@measured
def test_elementwise_functions() -> None:
    function = weft.vectorize(["float32(float32)"])(soft)
    np.testing.assert_allclose(function(numbers()), expected(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("target", ["sse2", "avx2", "avx512", "neon"])
def test_llvm_ir_for_any_machine(target: str) -> None:
    if target == chosen().isa.name and chosen().arch != "x86_64":
        pytest.skip("libraries' functions come first")
    made = weft.vectorize_ir(FUNCTION, function="soft", width=16, args="T", target=target)
    assert made.libraries == ()
    text = made.text
    assert "define internal <" in text
    assert "@_ZGV" not in text.replace(made.name, "")
    assert not re.search(r"call <[^>]*> @llvm[.](exp|log)", text)
    assert made.object_code


def worn_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        left = x[i]
        while left > np.float32(0.5):
            left -= np.float32(0.25) + math.log(left) * math.sin(left) * math.sin(left)
        y[i] = left


def test_lanes_that_have_left_pass_through_all_passes(monkeypatch) -> None:
    """On the interpreter, too, for which what they hold is poison."""
    monkeypatch.setenv("WEFT_CHECK", "1")
    x = np.linspace(0.25, 4, COUNT).astype(np.float32)
    y, wanted = np.zeros_like(x), x.copy()
    cuda.jit(worn_kernel)[1, 128](x, y)
    while (wanted > 0.5).any():
        on = wanted > 0.5
        a = wanted[on]
        wanted[on] = a - (np.float32(0.25) + np.log(a) * np.sin(a) * np.sin(a))
    np.testing.assert_allclose(y, wanted, rtol=1e-3, atol=1e-3)
