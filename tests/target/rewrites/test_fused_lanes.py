"""Products that are added with one rounding, for all lanes at once where processors have no instruction for that."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from codegen.kernels import kernel_text
from codegen.machine_code import ISAS, compile_kernel
from pairs import pairs
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.rewrites.ordinary_lanes import mark_ordinary, with_ordinary_lanes


def made(type: str, suffix: str, isa: Isa) -> str:
    name = f"@llvm.fma.{suffix}"
    module = read_module(
        f"declare {type} {name}({type}, {type}, {type})\n"
        f"define {type} @f({type} %a, {type} %b, {type} %c) {{\n"
        f"  %r = call {type} {name}({type} %a, {type} %b, {type} %c)\n  ret {type} %r\n}}"
    )
    mark_ordinary(module.functions["f"], isa)
    return with_ordinary_lanes(write_module(module, plain=True), isa)


def test_only_vectors_of_floats_without_the_instruction_are_computed_in_double() -> None:
    text = made("<8 x float>", "v8f32", SSE2)
    assert "fmul <8 x double>" in text
    assert text.count("call <8 x float> @llvm.fma.v8f32") == 1
    assert with_ordinary_lanes(text, SSE2) == text
    others = [("<8 x float>", "v8f32", isa) for isa in (AVX2, AVX512)]
    for type, suffix, isa in [*others, ("<2 x double>", "v2f64", SSE2), ("float", "f32", SSE2)]:
        assert "weft.ordinary" not in made(type, suffix, isa)


def rounded(exact: Fraction) -> float:
    """The float of 32 bits that is nearest to a number."""
    if exact == 0:
        return 0.0
    exponent = 0
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - 23, -149)
    nearest = round(exact / unit) * unit
    return float(nearest) if abs(nearest) < Fraction(2) ** 128 else np.copysign(np.inf, float(nearest))


def factors_and_terms() -> np.ndarray:
    """Sums that are half-way between floats, or beside that; subnormal ones; what overflows; any."""
    tie = [1 + 2.0**-12, 1 - 2.0**-12, 3 * 2.0**-80, 2.0**-70 * (1 + 2.0**-23), 2.0**127, 1.5]
    terms = [0.0, 2.0**-60, -(2.0**-60), 2.0**-149, -(2.0**-126), 1.0, 2.0**-24, 3 * 2.0**-148, -(2.0**127)]
    odd = list(itertools.product(tie, [*tie, *(-t for t in tie)], terms))
    any_bits = np.random.default_rng(5).integers(0, 1 << 32, (3, 400), np.uint32).view(np.float32)
    near = np.random.default_rng(6).normal(size=(3, 400)).astype(np.float32)
    near[2] = -near[0] * near[1]
    found = np.concatenate([np.array(odd, np.float32).T, any_bits, near], axis=1)
    return found[:, np.isfinite(found).all(0)]


KERNEL = """
  %p = getelementptr float, ptr %in, i64 %tid
  %a = load float, ptr %p
  %q = getelementptr float, ptr %p, i64 64
  %b = load float, ptr %q
  %t = getelementptr float, ptr %p, i64 128
  %c = load float, ptr %t
  %r = call float @llvm.fma.f32(float %a, float %b, float %c)
  %at = getelementptr float, ptr %out, i64 %tid
  store float %r, ptr %at
"""
DECLARED = "declare float @llvm.fma.f32(float, float, float)"


def fused(code, numbers: np.ndarray) -> np.ndarray:
    got = np.zeros(64, np.float32)
    code((np.ascontiguousarray(numbers, np.float32).reshape(-1), got, 0, 0), 64)
    return got


@pytest.mark.parametrize(("isa", "width"), pairs(ISAS, [1, 4, 16]))
def test_sums_are_rounded_once(isa: Isa, width: int) -> None:
    code = compile_kernel(kernel_text(KERNEL, DECLARED), width, isa)
    numbers = factors_and_terms()
    for first in range(0, numbers.shape[1] - 63, 64):
        part = numbers[:, first : first + 64]
        wanted = [rounded(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))) for a, b, c in part.T]
        np.testing.assert_array_equal(fused(code, part), np.array(wanted, np.float32))


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_signs_of_zeros_and_what_is_no_number(isa: Isa) -> None:
    few = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0**-140]
    numbers = np.array(list(itertools.product(few, repeat=3)), np.float32).T
    code = compile_kernel(kernel_text(KERNEL, DECLARED), 4, isa)
    for first in range(0, numbers.shape[1], 64):
        a, b, c = part = numbers[:, first : first + 64]
        with np.errstate(all="ignore"):
            wanted = (a.astype(np.float64) * b + c).astype(np.float32)
        got = fused(code, part)
        np.testing.assert_array_equal(got, wanted)
        told = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(got[told]), np.signbit(wanted[told]))
