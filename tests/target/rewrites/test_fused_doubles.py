"""What is taken away twice is taken at once, by one operation, and what other code computes stays."""

import ctypes

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.fused_doubles import with_fused_doubles

TEXT = """
define void @f(ptr %a, ptr %b, ptr %result) {
  %x = load <8 x float>, ptr %a, align 4
  %y = load <8 x float>, ptr %b, align 4
  %d = fmul fast <8 x float> %x, splat (float 2.000000e+00)
  %s = fsub fast <8 x float> %y, %d
  store <8 x float> %s, ptr %result, align 4
  ret void
}
"""
AWAY = "fsub fast <8 x float> %y, %d"
X, Y = np.random.default_rng(3).standard_normal((2, 8)).astype(np.float32)


def ran(text: str, dtype: type = np.float32) -> np.ndarray:
    spec = TargetSpec.chosen()
    code = load_object(emit_object(optimized(text, spec, FINAL), spec), ["f"])
    x, y, result = X.astype(dtype), Y.astype(dtype), np.zeros(8, dtype)
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3)(code.address("f"))
    call(x.ctypes.data, y.ctypes.data, result.ctypes.data)
    return result


@pytest.mark.parametrize(
    ("old", "new", "fused", "wanted"),
    [
        (AWAY, AWAY, "%x, <8 x float> splat (float -2.000000e+00), <8 x float> %y", Y - 2 * X),
        (AWAY, "fsub fast <8 x float> %d, %y", "%x, <8 x float> splat (float 2.000000e+00)", 2 * X - Y),
        ("float 2.0", "float -2.0", "%x, <8 x float> splat (float 2.000000e+00)", None),
        (f"2.000000e+00)\n  %s = {AWAY}", "-2.000000e+00)\n  %s = fadd fast <8 x float> %d, %y",
         "%x, <8 x float> splat (float -2.000000e+00), <8 x float> %y", Y - 2 * X),
        (f"2.000000e+00)\n  %s = {AWAY}", "-2.000000e+00)\n  %s = fsub fast <8 x float> %d, %y",
         "%x, <8 x float> splat (float -2.000000e+00)", -2 * X - Y),
    ],
    ids=["less twice", "twice less", "less twice the negative", "and less twice", "less twice less"],
)  # fmt: skip
def test_one_operation_does_both(old: str, new: str, fused: str, wanted: np.ndarray | None) -> None:
    text = TEXT.replace(old, new)
    made = with_fused_doubles(text, AVX2)
    if wanted is None:
        # LLVM sees what is added.
        assert made is None
        return
    assert made is not None and f"call fast <8 x float> @llvm.fma.v8f32(<8 x float> {fused}" in made
    np.testing.assert_allclose(ran(made), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ran(text), wanted, rtol=1e-6, atol=1e-6)


def test_doubles_and_single_numbers_are_taken_so() -> None:
    text = TEXT.replace("splat (float 2.000000e+00)", "splat (double 2.000000e+00)")
    text = text.replace("8 x float", "8 x double")
    made = with_fused_doubles(text, AVX512)
    assert made is not None and "@llvm.fma.v8f64(<8 x double> %x, <8 x double> splat (double -2." in made
    np.testing.assert_allclose(ran(made, np.float64), Y.astype(float) - 2 * X.astype(float), rtol=1e-12)
    single = TEXT.replace("splat (float 2.000000e+00)", "2.000000e+00").replace("<8 x float>", "float")
    made = with_fused_doubles(single, AVX2)
    assert (
        made is not None and "call fast float @llvm.fma.f32(float %x, float -2.000000e+00, float %y)" in made
    )
    np.testing.assert_allclose(ran(made)[0], Y[0] - 2 * X[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "isa"),
    [
        ("fsub fast", "fsub nnan", AVX2),
        ("fmul fast", "fmul reassoc", AVX2),
        ("2.000000e+00", "3.000000e+00", AVX2),
        ("store <8 x float> %s", "store <8 x float> %d, ptr %a, align 4\n  store <8 x float> %s", AVX2),
        (AWAY, "fadd fast <8 x float> %y, %d", AVX2),
        ("  %x", "  %x", SSE2),
    ],
    ids=["not contracted", "double not contracted", "three times", "double used", "added", "SSE2"],
)
def test_others_stay(old: str, new: str, isa: Isa) -> None:
    assert old in TEXT
    assert with_fused_doubles(TEXT.replace(old, new), isa) is None


def bent(values, result):
    i = cuda.grid(1)
    if 0 < i < values.size - 1:
        result[i] = values[i - 1] - 2 * values[i] + values[i + 1]


def bent_loop(values, result):
    for i in prange(1, values.size - 1):
        result[i] = values[i - 1] - 2 * values[i] + values[i + 1]


@pytest.mark.optimized
@pytest.mark.parametrize("door", ["kernel", "loop"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_second_differences(door: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    values = np.random.default_rng(4).standard_normal(3001).astype(dtype)
    result = np.zeros_like(values)
    if door == "kernel":
        compiled = cuda.jit(bent, fastmath=True)
        compiled[12, 256](values, result)
    else:
        compiled = weft.jit(bent_loop, fastmath=True)
        compiled(values, result)
    exact = values.astype(float)
    np.testing.assert_allclose(result[1:-1], exact[:-2] - 2 * exact[1:-1] + exact[2:], rtol=0, atol=1e-5)
    if not TargetSpec.chosen().isa.features.isdisjoint(("fma", "neon")):
        assert "@llvm.fma.v" in "".join(map(str, compiled.inspect_llvm().values()))
