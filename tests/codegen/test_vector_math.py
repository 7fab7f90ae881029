"""Math functions come from the vector library, split or padded to its widths, and passive lanes do no harm."""

import re

import numpy as np
import pytest

from codegen.kernels import guarded, kernel_text, vector_function, widened
from codegen.machine_code import WIDTHS, X86_64, compile_kernel, spec_of
from pairs import pairs
from weft.ir.reader import read_module
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, Isa
from weft.machine.vecmath_load import find_function
from weft.options import CompileOptions
from weft.passes.lower_kernel import lower_kernel

LANES = [n for n in (2, 4, 8, 16) if find_function("sin", 32, n, chosen().isa)]
needs_library = pytest.mark.skipif(not LANES, reason="no vector math library is installed")

BODY = """  %p = getelementptr {type}, ptr %in, i64 %tid
  %v = load {type}, ptr %p
  %r = call {type} @llvm.{name}({type} %v)
  %q = getelementptr {type}, ptr %out, i64 %tid
  store {type} %r, ptr %q"""


def math_kernel(name: str, type: str, masked: bool) -> str:
    suffix = "f32" if type == "float" else "f64"
    body = BODY.format(type=type, name=f"{name}.{suffix}")
    return kernel_text(guarded(body) if masked else body, f"declare {type} @llvm.{name}.{suffix}({type})\n")


@pytest.mark.spread
@needs_library
@pytest.mark.parametrize(
    ("width", "name", "type"), pairs(WIDTHS, ["sin", "exp", "log", "tan"], ["float", "double"])
)
def test_library_functions_compute_every_lane(name: str, type: str, width: int) -> None:
    dtype = np.dtype(np.float32 if type == "float" else np.float64)
    given = np.linspace(0.1 if name == "log" else -8, 8, 64).astype(dtype)
    wanted = getattr(np, name)(given.astype(np.longdouble)).astype(dtype)
    for n, threads in ((64, 64), (37, 45)):
        got = np.zeros(64, dtype)
        compile_kernel(math_kernel(name, type, n < 64), width)((given, got, n, 0), threads)
        np.testing.assert_array_max_ulp(got[:n], wanted[:n], 4)
        assert not got[n:].any()


@needs_library
def test_wide_vectors_are_split_and_narrow_ones_padded() -> None:
    widest, least = LANES[-1], LANES[0]
    call = "<{0} x float> @_"
    split = widened(math_kernel("tan", "float", False), 2 * widest, None)
    assert split.count(call.format(widest)) == 2
    if least > 2:
        padded = widened(math_kernel("tan", "float", False), least // 2, None)
        assert padded.count(call.format(least)) == 1


@needs_library
def test_passive_lanes_compute_the_function_of_one() -> None:
    text = widened(math_kernel("tan", "float", True), LANES[-1], None)
    assert f"<{LANES[-1]} x float> splat (float 1.000000e+00)" in text


def test_functions_without_a_vector_form_run_lane_by_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_VECTOR_MATH", "none")
    text = widened(math_kernel("sin", "float", True), 8, None)
    assert "call float @llvm.sin.f32(float" in text and "<8 x float> @_" not in text


@pytest.mark.parametrize("isa", X86_64, ids=lambda isa: isa.name)
@pytest.mark.parametrize("name", ["sin", "exp"])
def test_functions_of_wefts_own_are_in_code_for_any_machine(name: str, isa: Isa) -> None:
    text = lower_kernel(
        read_module(math_kernel(name, "float", True)), "kernel", CompileOptions(), spec_of(isa)
    ).text
    if chosen().arch == "x86_64":
        assert "@_ZGV" not in text
        assert re.search(rf"define internal <\d+ x float> @weft\.math\.{name}\.v\d+f32", text)


def test_what_runs_for_parts_of_a_lane_group_calls_functions_of_wefts_own() -> None:
    text = lower_kernel(
        read_module(math_kernel("exp", "float", False)), "kernel", CompileOptions(width=8), spec_of(AVX2)
    ).text
    calls = [line for line in text.splitlines() if "call <8 x float> @weft.math.exp.v8f32(" in line]
    # Those of whole lane groups alone are inlined.
    assert [line.endswith(")") for line in calls].count(True) == 1
    assert len(calls) > 1
    assert "noinline" in text


def test_passive_lanes_are_left_to_functions_for_which_all_arguments_are_alike() -> None:
    text = lower_kernel(
        read_module(math_kernel("log", "float", True)), "kernel", CompileOptions(width=16), spec_of(AVX512)
    ).text
    assert "splat (float 1.000000e+00)" not in text.partition("define internal <16 x float> @weft.math")[0]


def test_approximate_powers_that_are_subnormal_are_zero_where_that_is_faster() -> None:
    for flags, isa, symbol in (
        ("", AVX512, "exp"),
        ("fast ", AVX512, "flushed_exp"),
        ("afn ", AVX512, "flushed_exp"),
        ("fast ", AVX2, "exp"),
    ):
        kernel = math_kernel("exp", "float", True).replace("call float", f"call {flags}float")
        text = lower_kernel(read_module(kernel), "kernel", CompileOptions(width=16), spec_of(isa)).text
        defined = set(re.findall(r"define internal .*@weft\.math\.(\w+)\.v\d+f32\(", text))
        assert {name.removeprefix("masked_") for name in defined} == {symbol}


LEFT_ONE_BY_ONE = """  %p = getelementptr float, ptr %in, i64 %tid
  %start = load float, ptr %p
  br label %loop
loop:
  %v = phi float [ %start, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %added, %loop ]
  %r = call float @llvm.NAME.f32(float %v)
  %added = fadd float %sum, %r
  %next = fsub float %v, 1.5
  %more = fcmp ogt float %next, 0.0
  br i1 %more, label %loop, label %end
end:
  %q = getelementptr float, ptr %out, i64 %tid
  store float %added, ptr %q"""


def left_one_by_one(name: str) -> str:
    """A loop whose lanes have no logarithms any more, once they have left."""
    return kernel_text(LEFT_ONE_BY_ONE.replace("NAME", name), f"declare float @llvm.{name}.f32(float)\n")


@pytest.mark.skipif(chosen().arch != "x86_64", reason="libraries' functions come first there")
@pytest.mark.parametrize("isa", X86_64, ids=lambda isa: isa.name)
def test_arguments_do_not_wait_for_the_mask(isa: Isa, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the mask is what the iteration before computes last, nothing of two iterations could overlap."""
    monkeypatch.delenv("WEFT_VECTOR_MATH", raising=False)
    text = vector_function(
        lower_kernel(read_module(left_one_by_one("sin")), "kernel", CompileOptions(width=16), spec_of(isa))
    )
    assert "@weft.math.masked_sin" in text and "@weft.math.sin" not in text
    assert "splat (float 1.000000e+00)" not in text


@pytest.mark.parametrize("name", ["log", "sin", "exp"])
@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_lanes_that_have_left_change_nothing(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_VECTOR_MATH", raising=False)
    given, got = np.linspace(0.25, 20, 64).astype(np.float32), np.zeros(64, np.float32)
    # Whole lane groups, and one that is not.
    compile_kernel(left_one_by_one(name), width)((given, got, 64, 0), 61)
    for start, sum in zip(given[:61], got, strict=False):
        visited = np.arange(start, 0, -1.5)
        np.testing.assert_allclose(sum, getattr(np, name)(visited).sum(), rtol=1e-5, atol=1e-5)
