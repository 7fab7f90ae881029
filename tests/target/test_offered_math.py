"""Mathematics in plain loops, which LLVM's vectorizer takes as it is told of functions for a register."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import weft
from weft import cuda, opencl
from weft.codegen.widen.calls import VectorMathFunction
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2
from weft.target.machine import TargetSpec
from weft.target.offered_math import IN_USE, offer_vector_math, without_offers
from weft.target.passes import WHOLE, optimize
from weft.target.vector_math import math_finder

LOOP = """
declare double @llvm.exp.f64(double)
declare double @pow(double, double) memory(none) nounwind willreturn
define void @f(ptr noalias %o, ptr noalias %a, i64 %n) {{
entry:
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %j, %l ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %y = call {flags} double @llvm.exp.f64(double %x)
  %z = call {flags} double @pow(double %y, double %x)
  %q = getelementptr double, ptr %o, i64 %i
  store double %z, ptr %q
  %j = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %l, label %e
e:
  ret void
}}
"""


def some_library(callee: str, lanes: int) -> VectorMathFunction | None:
    return (
        VectorMathFunction(f"vector_{callee.replace('.', '_')}_{lanes}", lanes, 1.0) if lanes == 4 else None
    )


def offered(flags: str) -> tuple[str, str]:
    module = read_module(LOOP.format(flags=flags))
    kept = offer_vector_math(module, some_library, AVX2)
    return write_module(module, plain=True), kept


def test_approximate_calls_name_functions_for_a_register() -> None:
    text, kept = offered("fast")
    assert '"_ZGV_LLVM_N4v_llvm.exp.f64(vector_llvm_exp_f64_4)"' in text
    assert '"_ZGV_LLVM_N4vv_pow(vector_pow_4)"' in text
    assert "declare <4 x double> @vector_pow_4(<4 x double>, <4 x double>)" in text
    assert IN_USE in kept and without_offers(text + kept) == text
    assert offered("")[1] == ""


def test_what_the_vectorizer_has_not_taken_is_gone_behind_the_pipeline() -> None:
    spec = TargetSpec("x86_64-unknown-linux-gnu", cpu="haswell")
    text, kept = offered("fast")
    made = optimize(text + kept, WHOLE, spec.machine)
    assert "llvm.compiler.used" not in made
    assert made.count("call fast <4 x double> @vector_") + made.count("call <4 x double> @vector_") > 0
    once = without_offers(text + kept).replace("br i1 %c, label %l", "br i1 false, label %l")
    assert "declare <4 x double> @vector_" not in optimize(once + kept, WHOLE, spec.machine)


def many(o, a):
    for i in range(a.size):
        o[i] = (
            math.exp(-a[i])
            + math.sin(a[i]) * math.log1p(a[i])
            + math.atan2(a[i], 2.0)
            + math.hypot(a[i], 1.0)
        )


@pytest.mark.parametrize("type", [np.float32, np.float64])
def test_plain_loops_give_what_they_gave(type: type) -> None:
    a = np.linspace(0.01, 9, 77).astype(type)
    found = [np.zeros(77, type) for _ in range(2)]
    fast = weft.jit(many, fastmath=True)
    fast(found[0], a)
    weft.jit(many)(found[1], a)
    np.testing.assert_allclose(found[0], found[1], rtol=40 * np.finfo(type).eps)
    (text,) = fast.inspect_llvm().values()
    if math_finder({}, TargetSpec.chosen())("log1p", 4) is not None:
        assert re.search(r"call [^\n]*<\d+ x double> @(?!llvm)", text) or type is np.float32
        assert IN_USE not in text


def rows(o, a):
    row = cuda.grid(1)
    if row < a.shape[0]:
        for j in range(a.shape[1]):
            o[row, j] = math.exp(-a[row, j]) * math.pow(a[row, j], 1.7)


ROWS = """{head} {{
  for (int j = 0; j < n; j++) {{
    double x = a[{row} * n + j];
    o[{row} * n + j] = exp(-x) * pow(x, 1.7);
  }}
}}"""


def by_python(o: np.ndarray, a: np.ndarray) -> str:
    kernel = cuda.jit(fastmath=True, width=1)(rows)
    kernel[1, 3](o, a)
    (text,) = kernel.inspect_llvm().values()
    return text


def by_opencl(o: np.ndarray, a: np.ndarray) -> str:
    head = "kernel void rows(global double *restrict o, global const double *restrict a, int n)"
    source = ROWS.format(head=head, row="get_global_id(0)")
    kernel = opencl.Program(source, "-cl-fast-relaxed-math", width=1).rows
    kernel(3, None, o, a, a.shape[1])
    return kernel.inspect_llvm()


def by_cuda(o: np.ndarray, a: np.ndarray) -> str:
    head = 'extern "C" __global__ void rows(double *__restrict__ o, const double *__restrict__ a, int n)'
    kernel = cuda.Module(ROWS.format(head=head, row="threadIdx.x"), "-use_fast_math", width=1).rows
    kernel[1, 3](o, a, a.shape[1])
    return kernel.inspect_llvm()


@pytest.mark.parametrize("run", [by_python, by_opencl, by_cuda])
def test_loops_of_kernels_whose_threads_run_one_by_one_call_vector_mathematics(
    run: Callable[[np.ndarray, np.ndarray], str],
) -> None:
    if run is not by_python:
        pytest.importorskip("ziglang")
    a = np.linspace(0.1, 9, 3 * 23).reshape(3, 23)
    o = np.zeros_like(a)
    text = run(o, a)
    np.testing.assert_allclose(o, np.exp(-a) * a**1.7, rtol=1e-14)
    assert IN_USE not in text
    if math_finder({}, TargetSpec.chosen())("pow", 4) is not None:
        assert re.search(r"call [^\n]*<\d+ x double> @(?!llvm)\w*pow", text)
