"""Bits of a comparison of two registers are taken of each, and are what they were."""

import ctypes

import numpy as np
import pytest

from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.halved_masks import with_halved_masks

BITS = """
define void @f(ptr %values, ptr %limits, ptr %result) {{
entry:
  %x = load <{n} x {t}>, ptr %values, align 8
  %y = load <{n} x {t}>, ptr %limits, align 8
  %m = {cmp}
  %bits = bitcast <{n} x i1> %m to i{n}
  %more = add i{n} %bits, 5
  store i{n} %more, ptr %result, align 2
  ret void
}}
"""
COMPARED = {
    "float": "fcmp fast olt <16 x float> %x, %y",
    "float, of one number": "fcmp ult <16 x float> %x, splat (float 5.000000e+01)",
    "i32": "icmp ugt <16 x i32> %x, %y",
    "i32, of zero": "icmp eq <16 x i32> %x, zeroinitializer",
    "double": "fcmp oge <8 x double> %x, %y",
    "i64": "icmp slt <8 x i64> %x, %y",
}
WANTED = {
    "float": lambda x, y: x < y,
    "float, of one number": lambda x, y: x < 50,
    "i32": lambda x, y: x > y,
    "i32, of zero": lambda x, y: x == 0,
    "double": lambda x, y: x >= y,
    "i64": lambda x, y: x < y,
}
TYPES = {"float": np.float32, "double": np.float64, "i32": np.int32, "i64": np.int64}


def program(comparison: str) -> tuple[str, str, int]:
    compared = COMPARED[comparison]
    lanes, type = int(compared.split("<")[1].split()[0]), comparison.split(",")[0]
    return BITS.format(n=lanes, t=type, cmp=compared), type, lanes


@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=["sse2", "avx2"])
@pytest.mark.parametrize("comparison", COMPARED)
def test_bits_are_what_they_were(isa: Isa, comparison: str) -> None:
    text, type, lanes = program(comparison)
    code = load_object(emit_object(text, TargetSpec.of_isa(isa), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("f"))
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = (rng.integers(0, rng.integers(2, 100), lanes).astype(TYPES[type]) for _ in range(2))
        result = np.zeros(1, np.uint16 if lanes == 16 else np.uint8)
        function(*(a.ctypes.data for a in (x, y, result)))
        bits = sum(1 << k for k, on in enumerate(WANTED[comparison](x, y)) if on)
        assert result[0] == (bits + 5) % (1 << lanes)


@pytest.mark.parametrize("comparison", COMPARED)
def test_each_register_is_asked(comparison: str) -> None:
    text, _, lanes = program(comparison)
    halved = with_halved_masks(optimized(text, TargetSpec.of_isa(SSE2), FINAL), AVX2)
    assert halved is not None
    assert halved.count(f"bitcast <{lanes // 2} x i1>") == 2
    assert f"bitcast <{lanes} x i1>" not in halved


@pytest.mark.parametrize("isa", [SSE2, AVX512], ids=["sse2", "avx512"])
def test_other_processors_are_asked_as_before(isa: Isa) -> None:
    assert with_halved_masks(program("float")[0], isa) is None


@pytest.mark.parametrize(
    "compared", ["fcmp olt <8 x float> %x, %y", "icmp slt <16 x i16> %x, %y", "icmp slt <16 x i64> %x, %y"]
)
def test_one_register_and_four_stay(compared: str) -> None:
    lanes, type = compared.split("<")[1].split(">")[0].split(" x ")
    assert with_halved_masks(BITS.format(n=lanes, t=type, cmp=compared), AVX2) is None


def test_a_mask_of_another_function_is_another_one() -> None:
    text = program("float")[0]
    other = text.replace("@f", "@g").replace(
        "fcmp fast olt <16 x float> %x, %y", "load <16 x i1>, ptr %values"
    )
    halved = with_halved_masks(text + other, AVX2)
    assert halved is not None
    assert halved.count("bitcast <16 x i1>") == 1
