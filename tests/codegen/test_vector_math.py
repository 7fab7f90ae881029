"""Math functions come from the vector library, split or padded to its widths, and passive lanes do no harm."""

import numpy as np
import pytest

from codegen.kernels import guarded, kernel_text, widened
from codegen.machine_code import WIDTHS, compile_kernel
from weft.machine.host import chosen
from weft.machine.vecmath_load import find_function

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


@needs_library
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["sin", "exp"])
@pytest.mark.parametrize("type", ["float", "double"])
def test_library_functions_compute_every_lane(name: str, type: str, width: int) -> None:
    dtype = np.dtype(np.float32 if type == "float" else np.float64)
    given = np.linspace(-8, 8, 64).astype(dtype)
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
    split = widened(math_kernel("sin", "float", False), 2 * widest, None)
    assert split.count(call.format(widest)) == 2
    if least > 2:
        padded = widened(math_kernel("sin", "float", False), least // 2, None)
        assert padded.count(call.format(least)) == 1


@needs_library
def test_passive_lanes_compute_the_function_of_one() -> None:
    text = widened(math_kernel("exp", "float", True), LANES[-1], None)
    assert f"<{LANES[-1]} x float> splat (float 1.000000e+00)" in text


def test_functions_without_a_vector_form_run_lane_by_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_VECTOR_MATH", "none")
    text = widened(math_kernel("sin", "float", True), 8, None)
    assert "call float @llvm.sin.f32(float" in text and "<8 x float> @_" not in text
