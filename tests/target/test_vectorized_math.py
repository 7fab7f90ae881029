"""Mathematics that LLVM's vectorizer has made vectors of."""

import math
import re

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.machine import TargetSpec
from weft.target.passes import WHOLE, optimize
from weft.target.vectorized_math import with_own_math

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")


def module(flags: str, name: str = "exp", arguments: int = 1) -> str:
    vector = "<8 x float>"
    given = ", ".join([f"{vector} %x"] * arguments)
    return (
        f"define {vector} @f({vector} %x) {{\n  %r = tail call {flags}{vector} @llvm.{name}.v8f32({given})\n"
        f"  ret {vector} %r\n}}\ndeclare {vector} @llvm.{name}.v8f32({', '.join([vector] * arguments)})\n"
    )


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
@pytest.mark.parametrize(("name", "arguments"), [("exp", 1), ("log2", 1), ("sin", 1), ("pow", 2)])
def test_approximate_calls_are_those_of_weft(name: str, arguments: int, isa: Isa) -> None:
    for flags in ("fast ", "nnan afn "):
        text = optimize(module(flags, name, arguments), WHOLE, TargetSpec.of_isa(isa).machine)
        called = re.findall(r"call .*@(weft\.math[\w.]+)", text)
        assert f"@llvm.{name}.v8f32" not in text and all(c.endswith(".slow") for c in called)
        assert "fmul" in text or "fma" in text


@pytest.mark.parametrize("flags", ["", "nnan ninf ", "contract "])
def test_others_stay(flags: str) -> None:
    assert with_own_math(module(flags), AVX2) is None


def test_libraries_that_the_user_wants_stay(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_VECTOR_MATH", "none")
    assert with_own_math(module("fast "), AVX2) is None


def test_functions_that_are_defined_already_are_taken() -> None:
    text = with_own_math(module("fast "), AVX2)
    assert text is not None
    both = with_own_math(
        text.replace("ret <8", "%s = call fast <8 x float> @llvm.exp.v8f32(<8 x float> %r)\n  ret <8"), AVX2
    )
    assert both is not None and both.count("define internal <8 x float> @weft.math.exp.v8f32(") == 1


def normalized(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        total = np.float32(0)
        for j in range(a.shape[1]):
            out[i, j] = math.exp(a[i, j])
            total += out[i, j]
        for j in range(a.shape[1]):
            out[i, j] /= total


@pytest.mark.parametrize("level", LEVELS)
def test_rows_of_threads_by_themselves(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(1).normal(size=(5, 77)).astype(np.float32)
    out = np.zeros_like(a)
    kernel = cuda.jit(fastmath=True)(normalized)
    kernel[1, 32](a, out)
    assert any("vectorized instead" in r.message for r in kernel.remarks)
    assert np.allclose(out, np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), rtol=1e-5)


@weft.jit(fastmath=True)
def powers(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = math.exp(a[i, j]) + out[i, j - 1]


def test_a_loop_in_order_computes_the_same() -> None:
    a = np.linspace(-3, 3, 120, dtype=np.float32).reshape(2, 60)
    out = np.zeros((2, 60), np.float32)
    powers(a, out)
    assert np.allclose(out, np.cumsum(np.exp(a), axis=1), rtol=1e-5)
