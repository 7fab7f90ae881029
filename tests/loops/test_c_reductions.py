"""Reductions as C compilers write them: sums of products, conditional sums, minima, flags, in SIMD code."""

from __future__ import annotations

import ctypes
import os
import re

import numpy as np
import pytest

from conformance.runner import passes_checked
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#define LOOP(name, declaration, ...) \
  double name(int n, float *restrict a, float *restrict b, int *restrict c) { \
    declaration; for (int i = 0; i < n; i++) { __VA_ARGS__ } return s; }
LOOP(product_sum, float s = 0, s += a[i] * b[i];)
LOOP(starts_elsewhere, float s = -3, s = b[i] * a[i] + s;)
LOOP(difference, float s = 1, s -= a[i] * b[i];)
LOOP(negated, float s = 1, s = -a[i] * b[i] + s;)
LOOP(fused, float s = 0, s = fmaf(a[i], b[i], s);)
LOOP(conditional, float s = 0, if (a[i] > 0) s += a[i] * b[i];)
LOOP(chosen, float s = 0, s = a[i] > 0 ? s + a[i] * b[i] : s;)
LOOP(wider, double s = 0, s += (double)a[i] * b[i];)
LOOP(three_a_turn, float s = 0, s += a[i] * b[i]; s += a[i]; s -= b[i] * 2;)
LOOP(nested, float s = 0, for (int j = 0; j < 4; j++) s += a[i] * b[j];)
LOOP(product, float s = 1, s *= 1 + a[i] * 0.01f;)
LOOP(greatest, float s = a[0], if (a[i] > s) s = a[i];)
LOOP(library_greatest, float s = a[0], s = fmaxf(s, a[i]);)
LOOP(least_magnitude, float s = 9, s = fminf(s, fabsf(a[i]));)
LOOP(unsigned_least, unsigned s = c[0], s = (unsigned)c[i] < s ? (unsigned)c[i] : s;)
LOOP(extended, long s = 0, s += (long)c[i] * c[i];)
LOOP(magnitudes, long s = 0, s += c[i] < 0 ? -c[i] : c[i];)
LOOP(narrow, int16_t s = 0, s += c[i] * 999;)
LOOP(bits, int s = 0, s |= c[i];)
LOOP(flag, int s = 0, if (c[i] > 45) s = 1;)
LOOP(other_flag, int s = 7, if (c[i] > 45) s = -3;)
LOOP(counted, int s = 0, if (a[i] > 0) s++;)
LOOP(differences, int s = 1, s -= c[i];)
double several(int n, float *restrict a, float *restrict b, int *restrict c) {
  double s = 0; float m = a[0]; int k = 0;
  for (int i = 0; i < n; i++) { s += a[i] * b[i]; if (a[i] > m) m = a[i]; k += c[i]; }
  return s + m + k;
}
double declared(int n, float *restrict a, float *restrict b, int *restrict c) {
  float s = 0;
#pragma omp simd reduction(+ : s)
  for (int i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}
"""
EVERY = bool(os.environ.get("WEFT_FUZZ"))
NAMES = [*re.findall(r"(?m)^LOOP\((\w+)", SOURCE), "several"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("c") / "reductions.c"
    file.write_text(SOURCE)
    return compile_c(file, TargetSpec.chosen().triple)


@pytest.fixture(scope="module")
def originals(text: str) -> LoadedCode:
    """All functions as LLVM compiles them."""
    return load_object(emit_object(text, TargetSpec.chosen()), [*NAMES, "declared"])


def only(text: str, name: str) -> str:
    """The module without the definitions of the other functions."""
    return re.sub(rf"(?m)^define (?!.* @{name}\()(?s:.*?)^}}\n", "", text)


def result(code: LoadedCode, name: str, n: int) -> float:
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal(n + 4).astype(np.float32) for _ in range(2))
    c = rng.integers(-50, 50, n + 2).astype(np.int32)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, *[ctypes.c_void_p] * 3)(code.address(name))
    return function(n, a.ctypes.data, b.ctypes.data, c.ctypes.data) + float(c[n]) + float(c[n + 1])


@pytest.mark.parametrize("name", NAMES)
def test_reductions_in_lanes_give_what_the_loop_gives(name: str, text: str, originals: LoadedCode) -> None:
    number = NAMES.index(name)
    with passes_checked(EVERY or number // 3 % 3 == 0):
        width = (4, 8, 16)[number % 3]
        found = vectorize_ir(only(text, name), name, loop="outermost", width=width, fastmath=True)
    assert found.loops, str(found.remarks)
    code = load_object(found.object_code, [name])
    for n in (1, 15, 64, 203):
        assert np.isclose(result(code, name, n), result(originals, name, n), rtol=2e-4, atol=1e-5)


def test_float_sums_of_products_are_left_without_permission(text: str) -> None:
    found = vectorize_ir(only(text, "product_sum"), "product_sum", loop="outermost")
    assert not found.loops and "would be formed in another order" in str(found.remarks)


def test_a_declared_reduction_is_permission(text: str, originals: LoadedCode) -> None:
    made = vectorize_ir(only(text, "declared"), "declared", loop="annotated", width=8)
    assert made.loops == 1, str(made.remarks)
    assert re.search(r"@llvm.fmuladd.v8f32|fmul <8 x float>", made.llvm)
    code = load_object(made.object_code, ["declared"])
    assert np.isclose(result(code, "declared", 99), result(originals, "declared", 99), rtol=1e-4)


def test_parts_of_a_sum_may_wrap_around(text: str) -> None:
    found = vectorize_ir(only(text, "differences"), "differences", loop="outermost", width=8)
    assert re.search(r"sub <8 x i32>", found.llvm) and not re.search(r"(sub|add) nsw <8 x i32>", found.llvm)
