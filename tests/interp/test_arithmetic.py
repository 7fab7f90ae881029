"""Arithmetic opcodes give what LLVM's own code gives, bit for bit, at many widths."""

import numpy as np
import pytest

from interp.oracle import FLOATS, Case, Oracle, bits_of, samples

INTEGERS = ("i1", "i3", "i8", "i13", "i16", "i27", "i32", "i48", "i64")
SIMPLE = ("add", "sub", "mul", "and", "or", "xor")
SHIFTS = ("shl", "lshr", "ashr")
DIVISIONS = ("udiv", "sdiv", "urem", "srem")
FLOAT_OPS = ("fadd", "fsub", "fmul", "fdiv", "frem")
INT_PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
LANES = 512


def _integer_cases() -> list[Case]:
    cases = [
        Case(f"{op}.{t}", t, (t, t), f"  %r = {op} {t} %a, %b")
        for t in INTEGERS
        for op in (*SIMPLE, *SHIFTS, *DIVISIONS)
    ]
    return cases + [
        Case(f"icmp.{p}.{t}", "i1", (t, t), f"  %r = icmp {p} {t} %a, %b")
        for t in INTEGERS
        for p in INT_PREDICATES
    ]


def _float_cases() -> list[Case]:
    cases = [
        Case(f"{op}.{t}", t, (t, t), f"  %r = {op} {t} %a, %b")
        for t in FLOATS
        for op in FLOAT_OPS
        # LLVM has no remainder of the 16-bit formats in machine code.
        if op != "frem" or t in ("float", "double")
    ]
    cases += [Case(f"fneg.{t}", t, (t,), f"  %r = fneg {t} %a") for t in FLOATS]
    return cases + [
        Case(f"fcmp.{p}.{t}", "i1", (t, t), f"  %r = fcmp {p} {t} %a, %b")
        for t in FLOATS
        for p in FLOAT_PREDICATES
    ]


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(_integer_cases() + _float_cases())


def _inputs(types: tuple[str, ...], seed: int, lanes: int = LANES) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [samples(t, lanes, rng) for t in types]


def _pairs(type: str, seed: int) -> list[np.ndarray]:
    """Pairs of corners among the random ones: each half of one input meets the other's corners."""
    a, b = _inputs((type, type), seed)
    return [a, b]


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", SIMPLE)
def test_integer_operation_matches_llvm(oracle: Oracle, op: str, type: str) -> None:
    oracle.check(f"{op}.{type}", _pairs(type, 1))


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", SHIFTS)
def test_shift_matches_llvm_below_the_width(oracle: Oracle, op: str, type: str) -> None:
    a, b = _pairs(type, 2)
    oracle.check(f"{op}.{type}", [a, b % np.uint64(bits_of(type))])


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", SHIFTS)
def test_shift_by_the_width_or_more_is_poison(oracle: Oracle, op: str, type: str) -> None:
    bits = bits_of(type)
    amounts = np.arange(min(1 << bits, 200), dtype=np.uint64)
    _, flags = oracle.interpreted(f"{op}.{type}", [np.ones_like(amounts), amounts])
    assert np.array_equal(flags != 0, amounts >= bits)


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", DIVISIONS)
def test_division_matches_llvm_where_it_is_defined(oracle: Oracle, op: str, type: str) -> None:
    a, b = _pairs(type, 3)
    b = np.where(b == 0, np.uint64(1), b)
    if op[0] == "s":
        top = np.uint64((1 << bits_of(type)) - 1)
        least = np.uint64(1 << (bits_of(type) - 1))
        a = np.where((b == top) & (a == least), np.uint64(0), a)
    oracle.check(f"{op}.{type}", [a, b])


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("predicate", INT_PREDICATES)
def test_icmp_matches_llvm(oracle: Oracle, predicate: str, type: str) -> None:
    a, b = _pairs(type, 4)
    b[::7] = a[::7]
    oracle.check(f"icmp.{predicate}.{type}", [a, b])


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float_operation_matches_llvm(oracle: Oracle, op: str, type: str) -> None:
    if op == "frem" and type in ("half", "bfloat"):
        pytest.skip("no machine code to compare with")
    oracle.check(f"{op}.{type}", _inputs((type, type), 5, 4000))


@pytest.mark.parametrize("type", FLOATS)
def test_fneg_flips_the_sign_bit_also_of_nan(oracle: Oracle, type: str) -> None:
    (a,) = _inputs((type,), 6)
    got, flags = oracle.interpreted(f"fneg.{type}", [a])
    assert np.array_equal(got, (a ^ np.uint64(1 << (bits_of(type) - 1))).astype(got.dtype))
    assert not flags.any()


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("predicate", FLOAT_PREDICATES)
def test_fcmp_matches_llvm(oracle: Oracle, predicate: str, type: str) -> None:
    a, b = _inputs((type, type), 7)
    b[::5] = a[::5]
    oracle.check(f"fcmp.{predicate}.{type}", [a, b])
