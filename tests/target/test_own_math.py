"""Functions of weft's own: their error over all numbers, what odd ones become, where their coefficients are from."""

import ctypes
import math
import os
import re
from collections.abc import Callable

import numpy as np
import pytest

from bench.fits.polynomials import FITS, fitted, largest_error
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.own_math import (
    FUNCTIONS,
    coefficients,
    flushed_symbol,
    has_odd_arguments,
    masked_symbol,
    own_symbol,
    with_definitions,
)
from weft.target.passes import FINAL
from weft.target.vector_math import math_finder

ISAS = [
    isa for isa in (SSE2, AVX2, AVX512) if isa.arch == chosen().arch and isa.features <= chosen().features
]
STEP = 101 if os.environ.get("WEFT_FUZZ") else 20_011
"""Every so many of all 2**32 floats."""

CHUNK = 1 << 20
REFERENCE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}
SPECIAL = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 3.4028235e38),
        *(88.72, 88.73, 89.0, 104.0, -87.3, -87.4, -103.9, -104.1, 127.5, 128.0, -126.5, -149.5, -150.5, 1e4, 38.53),
        *(10001.0, -10001.0, 1e30, -1e30, 38.54, -45.2),
    ],
    np.float32,
)  # fmt: skip


def compiled(name: str, isa: Isa, lanes: int, *, flushed: bool = False) -> Callable[..., np.ndarray]:
    """The function, on arrays; what takes one argument has another that it leaves alone."""
    vector, count = f"<{lanes} x float>", FUNCTIONS[name].arguments
    symbol = flushed_symbol(name, lanes, isa) if flushed else own_symbol(name, 32, lanes)
    given = ", ".join(f"{vector} %{x}" for x in "xy"[:count])
    text = f"""
declare {vector} @{symbol}({", ".join([vector] * count)})
define void @run(ptr %a, ptr %b, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr {vector}, ptr %a, i64 %i
  %x = load {vector}, ptr %p, align 4
  %p2 = getelementptr {vector}, ptr %b, i64 %i
  %y = load {vector}, ptr %p2, align 4
  %r = call {vector} @{symbol}({given})
  %q = getelementptr {vector}, ptr %out, i64 %i
  store {vector} %r, ptr %q, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
    library = ctypes.CDLL("libm.so.6")
    address = ctypes.cast(getattr(library, f"{name}f"), ctypes.c_void_p).value
    assert address is not None
    code = load_object(
        emit_object(with_definitions(text, isa), TargetSpec.of_isa(isa), FINAL),
        ["run"],
        {f"{name}f": address},
    )
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code.address("run"))

    def run(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        padded, other = (
            np.concatenate([a, np.ones(-len(x) % lanes, np.float32)]) for a in (x, x if y is None else y)
        )
        out = np.empty_like(padded)
        function(padded.ctypes.data, other.ctypes.data, out.ctypes.data, len(padded) // lanes)
        assert code is not None
        return out[: len(x)]

    return run


def error(name: str, x: np.ndarray, got: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return error_of(REFERENCE[name](x.astype(np.float64)), got)


def error_of(wanted: np.ndarray, got: np.ndarray) -> np.ndarray:
    """In units in the last place of the result; infinite where a zero's sign, an infinity or a NaN is not right."""
    with np.errstate(all="ignore"):
        nearest = wanted.astype(np.float32)
        unit = np.spacing(np.maximum(np.abs(nearest), np.float32(2.0**-126))).astype(np.float64)
        found = np.abs(got - wanted) / unit
    exact = ~np.isfinite(nearest) | (nearest == 0)
    same = (got == nearest) & (np.signbit(got) == np.signbit(nearest)) | (np.isnan(got) & np.isnan(nearest))
    # What is rounded to zero or infinity may be the number beside it.
    close = (got == nearest) | (np.isfinite(wanted) & (found <= 1))
    rounded = np.isfinite(wanted) & (wanted != 0)
    return np.where(
        exact & ~rounded, np.where(same, 0, np.inf), np.where(exact, np.where(close, 0, np.inf), found)
    )


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("name", REFERENCE)
def test_the_error_is_the_stated_one_over_all_numbers(name: str, isa: Isa) -> None:
    run = compiled(name, isa, isa.lanes(32))
    for start in range(0, 1 << 32, STEP * CHUNK):
        bits = np.arange(start, min(1 << 32, start + STEP * CHUNK), STEP, dtype=np.uint64)
        x = bits.astype(np.uint32).view(np.float32)
        found = error(name, x, run(x))
        assert not found.max() > FUNCTIONS[name].ulp, (
            f"{name}({x[found.argmax()]!r}) errs by {found.max()} ulp"
        )


@pytest.mark.spread
@pytest.mark.parametrize("lanes", [4, 8, 16, 32, 64] if os.environ.get("WEFT_FUZZ") else [4, 32])
@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("name", REFERENCE)
def test_odd_numbers_have_the_results_of_the_c_library_in_any_lane(name: str, isa: Isa, lanes: int) -> None:
    run = compiled(name, isa, lanes)
    for at in (0, lanes // 2, lanes - 1):
        x = np.full(len(SPECIAL) * lanes, 0.75, np.float32)
        x[at::lanes] = SPECIAL
        found = error(name, x, run(x))
        assert not found.max() > FUNCTIONS[name].ulp, (
            f"{name}({x[found.argmax()]!r}) errs by {found.max()} ulp"
        )


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_powers_have_the_stated_error_and_odd_ones_the_results_of_the_c_library(isa: Isa) -> None:
    run, random, count = compiled("pow", isa, isa.lanes(32)), np.random.default_rng(3), 1 << 16
    any_bits = [random.integers(0, 1 << 32, count, np.uint32).view(np.float32) for _ in range(2)]
    wide = np.exp(random.uniform(-80, 80, count)).astype(np.float32)
    near_one = random.uniform(0.5, 2, count).astype(np.float32)
    small = random.integers(-9, 10, count).astype(np.float32)
    odd = [np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))]
    for x, y in (
        any_bits,
        odd,
        (wide, (random.uniform(-150, 150, count) / np.log2(wide)).astype(np.float32)),
        (near_one, random.uniform(-200, 200, count).astype(np.float32)),
        (-near_one, small),
        (wide, small),
    ):
        with np.errstate(all="ignore"):
            found = error_of(np.power(x.astype(np.float64), y.astype(np.float64)), run(x, y))
        at = found.argmax()
        assert not found[at] > FUNCTIONS["pow"].ulp, f"pow({x[at]!r}, {y[at]!r}) errs by {found[at]} ulp"


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.name)
def test_coefficients_are_those_of_the_fit(fit) -> None:
    assert largest_error(fit, getattr(coefficients, fit.name)) <= 1.1 * largest_error(fit, fitted(fit))


def test_own_functions_are_taken_where_they_are_faster_and_for_other_machines(monkeypatch) -> None:
    monkeypatch.delenv("WEFT_VECTOR_MATH", raising=False)
    used = {}
    for isa in (AVX2, AVX512):
        find = math_finder(used, TargetSpec.of_isa(isa))
        for callee in ("expf", "llvm.exp.f32"):
            found = find(callee, 16)
            assert found is not None
            assert found.symbol == "weft.math.exp.v16f32"
            assert found.lanes == 16
    for callee, symbol in (("llvm.log.f32", "weft.math.log.v16f32"), ("tanhf", "weft.math.tanh.v16f32")):
        found = math_finder(used, TargetSpec.of_isa(SSE2))(callee, 64)
        assert found is not None
        if callee != "tanhf" or TargetSpec.of_isa(SSE2) != TargetSpec.chosen():
            assert found.symbol == symbol
    assert math_finder(used, TargetSpec.of_isa(AVX2))("expf", 2).lanes == 4  # pyright: ignore[reportOptionalMemberAccess]
    assert math_finder(used, TargetSpec("nvptx64-nvidia-cuda", "sm_75"))("expf", 16) is None


def test_none_means_the_c_library(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_VECTOR_MATH", "none")
    assert math_finder({}, TargetSpec.of_isa(AVX2))("expf", 8) is None
    monkeypatch.setenv("WEFT_VECTOR_MATH", "own")
    assert math_finder({}, TargetSpec.of_isa(AVX2))("expf", 8) is not None
    assert math_finder({}, TargetSpec.of_isa(AVX2))("atanf", 8) is None


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize(("name", "base"), [("exp", math.e), ("exp2", 2.0), ("exp10", 10.0)])
def test_no_operation_of_small_powers_has_a_subnormal_result(name: str, base: float, isa: Isa) -> None:
    """Each would take a hundred cycles. Where such results are zero, what is subnormal is there all the same."""
    text = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @set(ptr %a) {
  call void @llvm.x86.sse.ldmxcsr(ptr %a)
  ret void
}
"""
    code = load_object(emit_object(text, TargetSpec.of_isa(isa)), ["set"], {})
    set_control = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("set"))
    usual, flushing = (np.array([word], np.uint32) for word in (0x1F80, 0x9F80))
    x = np.linspace(-160, -120, 4096, dtype=np.float64) * math.log(2) / math.log(base)
    # Rounding decides what is next to the least normal number.
    x = x[np.abs(np.log2(base) * x + 126) > 1e-3].astype(np.float32)
    run = compiled(name, isa, isa.lanes(32))
    set_control(flushing.ctypes.data)
    got = run(x)
    set_control(usual.ctypes.data)
    assert error(name, x, got).max() <= FUNCTIONS[name].ulp
    assert ((got > 0) & (got < 2.0**-126)).any()


@pytest.mark.parametrize("name", ["exp", "exp2", "exp10"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_approximate_powers_have_zero_for_subnormal_numbers(name: str, lanes: int) -> None:
    assert flushed_symbol(name, lanes, AVX2) is None and flushed_symbol("log", lanes, AVX512) is None
    if AVX512 not in ISAS:
        pytest.skip("this machine has no AVX-512")
    run = compiled(name, AVX512, lanes, flushed=True)
    bits = np.arange(0, 1 << 32, STEP, dtype=np.uint64)
    x = np.concatenate([bits.astype(np.uint32).view(np.float32), SPECIAL])
    with np.errstate(all="ignore"):
        got, wanted = run(x), REFERENCE[name](x.astype(np.float64))
    least = np.float32(2.0**-126)
    is_normal = ~(wanted < 1.0001 * least)
    assert error(name, x[is_normal], got[is_normal]).max() <= FUNCTIONS[name].ulp
    assert not got[wanted < 0.999 * least].any()


def test_what_has_no_slow_path_says_so() -> None:
    assert not has_odd_arguments("log", 16, AVX512)
    assert has_odd_arguments("exp", 16, AVX512)
    assert has_odd_arguments("log", 8, AVX2)
    assert has_odd_arguments("sin", 16, AVX512)


def test_definitions_are_added_once_for_what_is_declared() -> None:
    text = "declare <8 x float> @weft.math.sin.v8f32(<8 x float>)\ndeclare float @sinf(float)\n"
    made = with_definitions(text, AVX2)
    assert made.count("define internal <8 x float> @weft.math.sin.v8f32(") == 1
    assert made.count("declare float @sinf(") == 1
    assert with_definitions("define void @f() { ret void }", AVX2) == "define void @f() { ret void }"


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("name", ["sin", "log"])
def test_the_c_library_is_asked_for_lanes_that_are_on(name: str, isa: Isa) -> None:
    lanes = isa.lanes(32)
    symbol = masked_symbol(name, lanes, isa)
    if symbol is None:
        assert not has_odd_arguments(name, lanes, isa)
        return
    floats, integers = f"<{lanes} x float>", f"<{lanes} x i32>"
    text = f"""
declare {floats} @{symbol}({floats}, {integers})
define void @run(ptr %in, ptr %on, ptr %out) {{
  %x = load {floats}, ptr %in, align 4
  %m = load {integers}, ptr %on, align 4
  %r = call {floats} @{symbol}({floats} %x, {integers} %m)
  store {floats} %r, ptr %out, align 4
  ret void
}}
"""
    asked: list[float] = []

    def answer(x: float) -> float:
        asked.append(x)
        return 7.0

    library = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(answer)
    address = ctypes.cast(library, ctypes.c_void_p).value
    assert address is not None
    code = load_object(
        emit_object(with_definitions(text, isa), TargetSpec.of_isa(isa), FINAL),
        ["run"],
        {f"{name}f": address},
    )
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("run"))
    x, out = np.full(lanes, 2.0, np.float32), np.zeros(lanes, np.float32)
    on = np.full(lanes, -1, np.int32)
    x[:3], on[:2] = np.inf, 0
    run(x.ctypes.data, on.ctypes.data, out.ctypes.data)
    assert asked == [np.inf] and out[2] == 7.0
    np.testing.assert_allclose(out[3:], getattr(np, name)(x[3:]), rtol=1e-6)
    on[2] = 0
    run(x.ctypes.data, on.ctypes.data, out.ctypes.data)
    assert len(asked) == 1


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "pow"])
def test_lanes_that_are_off_cost_nothing_but_a_branch(name: str, isa: Isa) -> None:
    """Operations with a subnormal number take long, and what is odd raises flags: an ordinary one is in its place."""
    lanes = isa.lanes(32)
    symbol = masked_symbol(name, lanes, isa)
    if symbol is None:
        return
    floats, integers = f"<{lanes} x float>", f"<{lanes} x i32>"
    count = FUNCTIONS[name].arguments
    text = f"""
declare {floats} @{symbol}({f"{floats}, " * count}{integers})
define void @run(ptr %in, ptr %on, ptr %out) {{
  %x = load {floats}, ptr %in, align 4
  %m = load {integers}, ptr %on, align 4
  %r = call {floats} @{symbol}({f"{floats} %x, " * count}{integers} %m)
  store {floats} %r, ptr %out, align 4
  ret void
}}
"""
    spec = TargetSpec.of_isa(isa)
    made = optimized(with_definitions(text, isa), spec, FINAL)
    # As a choice it would wait for the mask.
    assert re.search(r"br i1 [^\n]*label %tame", str(made))
    library = ctypes.CFUNCTYPE(ctypes.c_float, *[ctypes.c_float] * count)(lambda *_: 7.0)
    address = ctypes.cast(library, ctypes.c_void_p).value
    assert address is not None
    code = load_object(emit_object(made, spec), ["run"], {f"{name}f": address})
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("run"))
    function = {"pow": lambda x: x**x}.get(name) or getattr(np, name)
    on = np.array([0, 0, *[-1] * (lanes - 2)], np.int32)
    for strange in (1e-40, np.float32(3e38), np.nan):
        x, out = np.full(lanes, 2.0, np.float32), np.zeros(lanes, np.float32)
        x[:2] = strange
        run(x.ctypes.data, on.ctypes.data, out.ctypes.data)
        np.testing.assert_allclose(out[2:], function(x[2:]), rtol=1e-6)
        if strange < 1:
            np.testing.assert_allclose(out[:2], function(np.ones(2, np.float32)), rtol=1e-6)
