"""Casts give what LLVM's own code gives; out of range they are poison where LLVM says so."""

import numpy as np
import pytest

from interp.oracle import FLOATS, Case, Oracle, bits_of, container, samples
from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module

WIDTHS = ("i1", "i5", "i8", "i16", "i24", "i32", "i48", "i64")
FLOAT_SIZES = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
WIDER = [
    ("half", "float"),
    ("half", "double"),
    ("bfloat", "float"),
    ("bfloat", "double"),
    ("float", "double"),
]
# Machine code for double to bfloat needs a runtime function that few systems have.
NARROWER = [(b, a) for a, b in WIDER if (a, b) != ("bfloat", "double")]


def _case(op: str, source: str, target: str) -> Case:
    return Case(f"{op}.{source}.{target}", target, (source,), f"  %r = {op} {source} %a to {target}")


INT_CASTS = [
    (op, a, b)
    for a in WIDTHS
    for b in WIDTHS
    for op in (("trunc",) if bits_of(a) > bits_of(b) else ("zext", "sext") if bits_of(a) < bits_of(b) else ())
]
FLOAT_CASTS = [("fpext", a, b) for a, b in WIDER] + [("fptrunc", a, b) for a, b in NARROWER]
FROM_INT = [(op, a, b) for op in ("sitofp", "uitofp") for a in WIDTHS for b in ("float", "double", "half")]
TO_INT = [(op, a, b) for op in ("fptosi", "fptoui") for a in ("float", "double") for b in WIDTHS]
SATURATING = [
    (op, a, b)
    for op in ("fptosi.sat", "fptoui.sat")
    for a in ("float", "double")
    for b in WIDTHS
    if b != "i1"
]
BITCASTS = [("bitcast", t, f"i{n}") for t, n in FLOATS.items()] + [
    ("bitcast", f"i{n}", t) for t, n in FLOATS.items()
]


def _saturating(op: str, source: str, target: str) -> Case:
    suffix = {"float": "f32", "double": "f64"}[source]
    name = f"@llvm.{op}.{target}.{suffix}"
    return Case(
        f"{op}.{source}.{target}", target, (source,), f"  %r = call {target} {name}({source} %a)",
        f"declare {target} {name}({source})",
    )  # fmt: skip


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    plain = [_case(*c) for c in INT_CASTS + FLOAT_CASTS + FROM_INT + TO_INT + BITCASTS]
    return Oracle(plain + [_saturating(*c) for c in SATURATING])


def _input(type: str, seed: int, lanes: int = 600) -> np.ndarray:
    return samples(type, lanes, np.random.default_rng(seed))


@pytest.mark.parametrize("cast", INT_CASTS + FLOAT_CASTS + BITCASTS, ids=".".join)
def test_cast_matches_llvm(oracle: Oracle, cast: tuple[str, str, str]) -> None:
    oracle.check(".".join(cast), [_input(cast[1], 1)])


@pytest.mark.parametrize("cast", FROM_INT, ids=".".join)
def test_integer_to_float_matches_llvm(oracle: Oracle, cast: tuple[str, str, str]) -> None:
    oracle.check(".".join(cast), [_input(cast[1], 2)])


@pytest.mark.parametrize("cast", TO_INT, ids=".".join)
def test_float_to_integer_matches_llvm_and_is_poison_out_of_range(
    oracle: Oracle, cast: tuple[str, str, str]
) -> None:
    op, source, target = cast
    a = _input(source, 3, 2000)
    oracle.check(".".join(cast), [a], defined=False)
    raw = a.astype(f"u{container(source) // 8}").view(f"f{bits_of(source) // 8}")
    with np.errstate(invalid="ignore"):
        value = np.trunc(raw.astype(np.longdouble))
    bits = bits_of(target)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if op == "fptosi" else (0, 1 << bits)
    _, flags = oracle.interpreted(".".join(cast), [a])
    assert np.array_equal(flags == 0, (value >= low) & (value < high))


@pytest.mark.parametrize("cast", SATURATING, ids=".".join)
def test_saturating_conversion_matches_llvm(oracle: Oracle, cast: tuple[str, str, str]) -> None:
    oracle.check(".".join(cast), [_input(cast[1], 4, 2000)])


def test_a_64_bit_integer_is_rounded_once_to_a_short_float() -> None:
    from weft.interp.numbers import casts, floats
    from weft.interp.numbers.integers import width
    from weft.ir.types import BF16, F16

    # 2**61 + 2**53 is half way between two bfloats; the one beside it must round up.
    halfway = np.array([(1 << 61) + (1 << 53), (1 << 61) + (1 << 53) + 1], np.uint64)
    rounded = casts._int_to_float(width(64), BF16, True, halfway)
    assert floats.bfloat_to_float(rounded).tolist() == [2.0**61, 2.0**61 + 2.0**54]
    assert casts._int_to_float(width(64), F16, True, np.array([2049, 2051], np.uint64)).tolist() == [
        2048,
        2052,
    ]


def test_a_double_is_rounded_once_to_bfloat() -> None:
    from weft.interp.numbers import floats

    # A double just above the middle of two bfloats, by less than a float can tell.
    value = np.array([1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40])
    rounded = floats.bfloat_to_float(floats.double_to_bfloat(value))
    assert rounded.tolist() == [1.0, 1 + 2.0**-7, 1 + 2.0**-6, 1 + 2.0**-7]


def test_subnormal_bfloats_are_numbers_not_zeros() -> None:
    from weft.interp.numbers import floats
    from weft.ir.types import BF16

    smallest = np.array([1], np.uint16)
    assert floats.binary("fadd", BF16)(smallest, smallest).tolist() == [2]
    assert floats.bfloat_to_float(smallest).tolist() == [2.0**-133]


@pytest.mark.parametrize(
    ("name", "type", "lanes"),
    [("sse2.cvttps2dq", "float", 4), ("avx.cvtt.ps2dq.256", "float", 8)],
)
def test_processors_make_the_least_integer_of_what_does_not_fit(name: str, type: str, lanes: int) -> None:
    text = f"""
        declare <{lanes} x i32> @llvm.x86.{name}(<{lanes} x {type}>) memory(none)
        define void @f(ptr %in, ptr %out) {{
          %x = load <{lanes} x {type}>, ptr %in, align 4
          %n = call <{lanes} x i32> @llvm.x86.{name}(<{lanes} x {type}> %x)
          store <{lanes} x i32> %n, ptr %out, align 4
          ret void
        }}"""
    least = -(1 << 31)
    numbers = [1.9, -1.9, 3e9, np.nan, -(2.0**31), -3e9, np.inf, -0.5][:lanes]
    wanted = [1, -1, least, least, least, least, least, 0][:lanes]
    given, got, memory = np.array(numbers, "f4" if type == "float" else "f8"), np.zeros(8, np.int32), Memory()
    arguments = [memory.map_array(given), memory.map_array(got)]
    run_function(Program(read_module(text)), "f", arguments, 1, memory=memory)
    assert got[:lanes].tolist() == wanted
