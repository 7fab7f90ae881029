"""Remainders of floats, and integers of 64 bits from floats, for all lanes at once where all are ordinary."""

import itertools
import re

import numpy as np
import pytest

from codegen.kernels import kernel_text
from codegen.machine_code import ISAS, compile_kernel
from pairs import pairs
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.rewrites.ordinary_lanes import mark_ordinary, with_ordinary_lanes

TYPES = {"float": np.float32, "double": np.float64}


def made(instruction: str, parameters: str, result: str, isa: Isa, declared: str = "") -> str:
    module = read_module(
        f"{declared}\ndefine {result} @f({parameters}) {{\n  %r = {instruction}\n  ret {result} %r\n}}"
    )
    mark_ordinary(module.functions["f"], isa)
    return with_ordinary_lanes(write_module(module, plain=True), isa)


def remainder(type: str, isa: Isa) -> str:
    return made(f"frem {type} %x, %y", f"{type} %x, {type} %y", type, isa)


def test_remainders_are_sums_where_these_are_exact() -> None:
    for type in ("float", "<8 x float>"):
        assert "llvm.fma" in remainder(type, AVX2) and "fpext" in remainder(type, SSE2)
    assert "llvm.fma.v4f64" in remainder("<4 x double>", AVX512)
    # Without fused sums the product of two doubles is rounded.
    assert "weft.ordinary" not in remainder("<2 x double>", SSE2)


def test_the_library_is_asked_in_a_function_of_its_own() -> None:
    text = remainder("<8 x float>", AVX2)
    assert len(re.findall(r"= frem", text)) == 1 and "noinline cold" in text
    # A text that has been made before has all it needs.
    assert with_ordinary_lanes(text, AVX2) == text


@pytest.mark.parametrize("isa", [SSE2, AVX2])
def test_vectors_of_long_integers_are_converted_short(isa: Isa) -> None:
    wide = "declare <4 x i64> @llvm.fptosi.sat.v4i64.v4f64(<4 x double>)"
    call = "call <4 x i64> @llvm.fptosi.sat.v4i64.v4f64(<4 x double> %x)"
    assert "fptosi <4 x double> %x to <4 x i32>" in made(call, "<4 x double> %x", "<4 x i64>", isa, wide)
    plain = made("fptoui <4 x float> %x to <4 x i64>", "<4 x float> %x", "<4 x i64>", isa)
    assert "fptosi <4 x float> %x to <4 x i32>" in plain
    for instruction, parameter, result in (
        ("fptosi <4 x float> %x to <4 x i32>", "<4 x float> %x", "<4 x i32>"),
        ("fptosi float %x to i64", "float %x", "i64"),
    ):
        assert "weft.ordinary" not in made(instruction, parameter, result, isa)


def test_there_are_instructions_with_registers_for_masks() -> None:
    text = made("fptosi <4 x float> %x to <4 x i64>", "<4 x float> %x", "<4 x i64>", AVX512)
    assert "weft.ordinary" not in text


def odd_numbers(type: type) -> np.ndarray:
    few = [0.0, 1.0, 1 / 3, 3.0, 2.0**23, 2.0**24 - 1, 2.0**52 + 1, 1e30, np.inf, np.nan]
    tiny = np.finfo(type).smallest_subnormal
    own = np.array([*few, tiny, 3 * tiny, np.finfo(type).tiny], type)
    near = np.nextafter(own[:9], type(0))
    both = np.concatenate([own, near])
    return np.concatenate([both, -both])


def dividends_and_divisors(type: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    odd = np.array(list(itertools.product(odd_numbers(type), repeat=2)), type).T
    ordinary = (rng.normal(0, 9, (2, 512)) ** 3).astype(type)
    quotients, divisors = rng.integers(1, 1 << 22, 512).astype(type), rng.normal(0, 9, 512).astype(type)
    with np.errstate(all="ignore"):
        multiples = quotients * divisors
        below = np.nextafter(multiples, type(0))
    parts = (odd, ordinary, (multiples, divisors), (below, divisors))
    x, y = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return x, y


REMAINDERS = """
  %p = getelementptr {type}, ptr %in, i64 %tid
  %x = load {type}, ptr %p
  %k = add i64 %tid, %n
  %q = getelementptr {type}, ptr %in, i64 %k
  %y = load {type}, ptr %q
  %r = frem {type} %x, %y
  %at = getelementptr {type}, ptr %out, i64 %tid
  store {type} %r, ptr %at
"""


@pytest.mark.parametrize(("isa", "width", "type"), pairs(ISAS, [1, 4, 16, 64], list(TYPES)))
def test_remainders_are_exact(isa: Isa, width: int, type: str) -> None:
    number = TYPES[type]
    x, y = dividends_and_divisors(number)
    threads = 64
    code = compile_kernel(kernel_text(REMAINDERS.format(type=type)), width, isa)
    with np.errstate(all="ignore"):
        wanted = np.fmod(x, y)
    got = np.zeros_like(wanted)
    for first in range(0, x.size - threads + 1, threads):
        part = slice(first, first + threads)
        code((np.concatenate([x[part], y[part]]), got[part], threads, 0), threads)
    known = slice(0, x.size - x.size % threads)
    np.testing.assert_array_equal(got[known], wanted[known])
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(wanted[known]))


CONVERSIONS = """
  %p = getelementptr {type}, ptr %in, i64 %tid
  %x = load {type}, ptr %p
  %r = call i64 @llvm.fptosi.sat.i64.f{bits}({type} %x)
  %at = getelementptr i64, ptr %out, i64 %tid
  store i64 %r, ptr %at
"""
DECLARED = "declare i64 @llvm.fptosi.sat.i64.f{bits}({type})"


@pytest.mark.parametrize(("isa", "width", "type"), pairs(ISAS, [4, 32], list(TYPES)))
def test_integers_of_64_bits_are_what_they_were(isa: Isa, width: int, type: str) -> None:
    number, bits = TYPES[type], 8 * np.dtype(TYPES[type]).itemsize
    text = kernel_text(CONVERSIONS.format(type=type, bits=bits), DECLARED.format(type=type, bits=bits))
    code = compile_kernel(text, width, isa)
    ends = [
        s * e for s in (1, -1) for e in (2.0**31, 2.0**31 - 1, 2.0**31 + 300, 2.0**62, 2.0**63, 1e30, np.inf)
    ]
    few = np.array([0.0, -0.0, 0.7, -0.7, 1e9, np.nan, *ends], number)
    ordinary = np.random.default_rng(2).normal(0, 1e6, 64).astype(number)
    for x in (np.resize(few, 64), ordinary, np.where(np.arange(64) == 17, few[5], ordinary)):
        got = np.zeros(64, np.int64)
        code((x, got, 64, 0), 64)
        wanted = [0 if np.isnan(v) else int(np.clip(np.trunc(v), -(2.0**63), 2.0**63)) if abs(v) < 2.0**63 else
                  (2**63 - 1 if v > 0 else -(2**63)) for v in x.tolist()]  # fmt: skip
        np.testing.assert_array_equal(got, np.array(wanted, np.int64))


def divided(body: str, isa: Isa = AVX2) -> str:
    module = read_module(f"define <4 x i64> @f(<4 x i64> %x, <4 x i64> %y) {{\n{body}\n}}")
    mark_ordinary(module.functions["f"], isa)
    return with_ordinary_lanes(write_module(module, plain=True), isa)


def test_remainders_are_made_of_quotients_that_are_there() -> None:
    both = "  %r = srem <4 x i64> %x, %y\n  %q = sdiv <4 x i64> %x, %y\n  %s = add <4 x i64> %r, %q\n  ret <4 x i64> %s"
    main = divided(both).partition("define <4 x i64> @f")[2].partition("\n}")[0]
    assert main.count("call <4 x i64> @weft.ordinary.sdiv.v4i64(") == 1 and "srem" not in main
    # One of another kind is no help.
    other = divided(both.replace("sdiv", "udiv"))
    assert "@weft.ordinary.srem.v4i64(" in other and "@weft.ordinary.udiv.v4i64(" in other


def test_numbers_of_many_bits_are_divided_as_doubles() -> None:
    body = "  %q = sdiv <4 x i64> %x, %y\n  ret <4 x i64> %q"
    assert "llvm.trunc.v4f64" in divided(body) and "sitofp <4 x i64>" in divided(body, AVX512)
    assert "llvm.trunc.v4f64" not in divided(body, SSE2)


def test_divisions_by_constants_are_products_to_llvm() -> None:
    assert "weft.ordinary" not in divided("  %q = sdiv <4 x i64> %x, splat (i64 7)\n  ret <4 x i64> %q")


DIVISIONS = """
  %p = getelementptr i64, ptr %in, i64 %tid
  %x = load i64, ptr %p
  %k = add i64 %tid, %n
  %q = getelementptr i64, ptr %in, i64 %k
  %y = load i64, ptr %q
  %d = {sign}div i64 %x, %y
  %m = {sign}rem i64 %y, %x
  %s = shl i64 %m, 7
  %r = xor i64 %d, %s
  %at = getelementptr i64, ptr %out, i64 %tid
  store i64 %r, ptr %at
"""


@pytest.mark.parametrize(("isa", "width", "sign"), pairs(ISAS, [4, 16, 64], ["s", "u"]))
def test_integers_are_divided_as_they_were(isa: Isa, width: int, sign: str) -> None:
    number = np.int64 if sign == "s" else np.uint64
    code = compile_kernel(kernel_text(DIVISIONS.format(sign=sign)), width, isa)
    rng = np.random.default_rng(4)
    ends = np.array(
        [1, 2, 3, 7, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 62) + 1], np.int64
    )
    if sign == "s":
        ends = np.concatenate([ends, -ends])
    small = rng.integers(1, 1 << 30, (2, 64)) * (rng.choice([-1, 1], (2, 64)) if sign == "s" else 1)
    mixed = rng.choice(ends, (2, 64))
    few = small.copy()
    few[0, 5] = ends[-1]
    # Quotients at integers and just below, of as many bits as doubles, or as are converted, and one more.
    long = np.stack([small[0] * (1 << 18) // small[1] * small[1] - rng.integers(0, 2, 64), small[1]])
    edges = np.where(long[0] < 0, -1, 1) * (
        (1 << np.resize([50, 50, 51, 52, 53], 64)) - rng.integers(0, 2, 64)
    )
    edge = np.stack([np.where(rng.integers(0, 2, 64) == 0, edges, long[0] | 1), small[1]])
    near = np.stack([edges.clip(-(1 << 50), (1 << 50) - 1), np.where(small[1] % 2 == 0, 1, 3)])
    for x, y in (small, mixed, few, long, edge, near):
        got = np.zeros(64, number)
        code((np.concatenate([x, y]).astype(number), got, 64, 0), 64)
        pairs_of = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
        wanted = [_towards_zero(a, b)[0] ^ (_towards_zero(b, a)[1] << 7) for a, b in pairs_of]
        np.testing.assert_array_equal(
            got, np.array([w & (1 << 64) - 1 for w in wanted], np.uint64).astype(number)
        )


def _towards_zero(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


SHARED = """
  %s = insertelement <4 x i64> poison, i64 %n, i64 0
  %y = shufflevector <4 x i64> %s, <4 x i64> poison, <4 x i32> {lanes}
  %q = {op} <4 x i64> %x, %y
  ret <4 x i64> %q
"""


@pytest.mark.parametrize("op", ["sdiv", "udiv", "srem", "urem"])
def test_lanes_are_multiplied_by_the_inverse_of_what_they_share(op: str) -> None:
    def text(lanes: str) -> str:
        body = SHARED.format(op=op, lanes=lanes)
        module = read_module(f"define <4 x i64> @f(<4 x i64> %x, i64 %n) {{\n{body}}}")
        mark_ordinary(module.functions["f"], AVX2)
        return with_ordinary_lanes(write_module(module, plain=True), AVX2)

    shared = text("zeroinitializer")
    assert f"@weft.ordinary.{op}.shared.v4i64(<4 x i64> %x, i64 %n)" in shared
    assert "fdiv double" in shared and "fmul <4 x double>" in shared
    assert ".shared" not in text("<i32 0, i32 0, i32 1, i32 0>")
