"""Scalar replacement as an option of each door: results stay, loads go, remarks say which and why."""

import re
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import cuda
from weft.diag.remarks import RemarkKind
from weft.errors import SignatureError
from weft.loops.llvm_ir import vectorize_ir
from weft.switches import SCALAR_REPLACEMENT, Switches

BLUR = """
void blur(int t, const float *restrict a, float *restrict out, int n) {
    for (int i = 1; i < n; i++)
        out[64 * i + t] = a[64 * (i - 1) + t] + a[64 * i + t] + a[64 * (i + 1) + t];
}
"""


def filtered(a, out, n):
    t = cuda.grid(1)
    if t < out.size:
        s = np.float32(0)
        for i in range(n):
            s = s * np.float32(0.5) + a[t + i] * a[t + i + 1]
        out[t] = s


def rows(a, out):
    for t in weft.prange(out.size):
        s = np.float32(0)
        for i in range(12):
            s = s * np.float32(0.5) + a[t + i] * a[t + i + 1]
        out[t] = s


def expected(a: np.ndarray, size: int, n: int) -> np.ndarray:
    s = np.zeros(size, np.float32)
    for i in range(n):
        s = s * np.float32(0.5) + a[i : i + size] * a[i + 1 : i + 1 + size]
    return s


@pytest.mark.parametrize("policy", ["srqp", "ssrqp"])
def test_kernels_and_loops_compute_the_same(policy: str) -> None:
    a = np.random.default_rng(1).random(120, np.float32)
    out = np.zeros(100, np.float32)
    kernel = cuda.jit(scalar_replacement=policy)(filtered)
    kernel[4, 32](a, out, 12)
    np.testing.assert_allclose(out, expected(a, 100, 12), rtol=1e-6)
    out[:] = 0
    weft.jit(scalar_replacement=policy)(rows)(a, out)
    np.testing.assert_allclose(out, expected(a, 100, 12), rtol=1e-6)


def test_elementwise_functions_take_it() -> None:
    double = weft.vectorize(scalar_replacement="ssrqp")(lambda x: x + x)
    np.testing.assert_array_equal(double(np.arange(5.0)), 2 * np.arange(5.0))


@pytest.mark.parametrize("width", [4, 16])
def test_c_functions_lose_loads_with_remarks(tmp_path: Path, width: int) -> None:
    source = tmp_path / "blur.c"
    source.write_text(BLUR)

    def loads_in_the_loop(policy: str) -> tuple[int, list[str]]:
        made = vectorize_ir(
            source, "blur", width=width, args="C", clang_options=("-g",),
            switches=Switches(scalar_replacement=policy),
        )  # fmt: skip
        told = [str(r.message) for r in made.remarks if r.pass_name == "scalar replacement"]
        vectorized = made._text.partition("define void @_ZGV")[2]
        body = vectorized.partition("for.body:")[2].partition("for.end:")[0]
        return len(re.findall(r"= load <|@llvm\.masked\.(?:gather|load)", body)), told

    assert loads_in_the_loop("off") == (3, [])
    after, told = loads_in_the_loop("ssrqp")
    assert after == 1
    assert sum("1 iteration before, but for the first time, before the loop" in t for t in told) == 2
    assert all("the load in line 4" in t for t in told)


def test_what_stays_says_which_store_is_in_the_way(tmp_path: Path) -> None:
    source = tmp_path / "blur.c"
    source.write_text(BLUR.replace("restrict", ""))
    made = vectorize_ir(
        source, "blur", args="C", clang_options=("-g",), switches=Switches(scalar_replacement="ssrqp")
    )
    told = [r for r in made.remarks if r.pass_name == "scalar replacement"]
    assert told and all(r.kind is RemarkKind.MISSED for r in told)
    assert "may be changed by the store in line 4" in told[0].message


def test_unknown_policies_are_refused() -> None:
    with pytest.raises(SignatureError, match="scalar_replacement='on'"):
        cuda.jit(scalar_replacement="on")
    assert Switches().scalar_replacement in SCALAR_REPLACEMENT and "off" in SCALAR_REPLACEMENT


def masked(a, k, out, n):
    t = cuda.grid(1)
    if t < out.size:
        s = np.float32(0)
        for i in range(n):
            if k[t] > 3:
                s = s * np.float32(0.5) + a[t + i] * a[t + i + 1]
        out[t] = s


def test_a_window_that_only_some_lanes_read_rotates_for_them() -> None:
    a = np.random.default_rng(1).random(120, np.float32)
    k = np.arange(100, dtype=np.int32) % 8
    for policy in ("off", "ssrqp"):
        out = np.zeros(100, np.float32)
        kernel = cuda.jit(scalar_replacement=policy)(masked)
        kernel[4, 32](a, k, out, 12)
        np.testing.assert_allclose(out, np.where(k > 3, expected(a, 100, 12), 0), rtol=1e-6)


def test_remarks_say_for_which_threads_a_load_is_inserted(tmp_path: Path) -> None:
    source = tmp_path / "blur.c"
    source.write_text(BLUR.replace("out[64", "if (a[t] > 3)\n            out[64"))
    made = vectorize_ir(
        source, "blur", args="C", clang_options=("-g",), switches=Switches(scalar_replacement="ssrqp")
    )
    told = [str(r.message) for r in made.remarks if r.pass_name == "scalar replacement"]
    assert sum("before the loop, for the threads that will take its arm" in t for t in told) == 2, told
