"""LLVM's intrinsics give what LLVM's own code gives."""

import numpy as np
import pytest

from interp.oracle import Case, Oracle, bits_of, samples
from weft.machine.host import chosen

INTEGERS = ("i8", "i16", "i32", "i64")
ODD = ("i3", "i13", "i48")
LANES = 600


def _intrinsic(name: str, result: str, params: tuple[str, ...], fixed: str = "") -> Case:
    """A call with %a, %b, ... and then fixed operands such as ``i1 false``."""
    values = ", ".join(f"{t} %{n}" for t, n in zip(params, "abc", strict=False))
    operands = f"{values}, {fixed}" if fixed else values
    types = ", ".join([*params, *(f.split()[0] for f in fixed.split(", ") if f)])
    return Case(
        name.replace("llvm.", ""), result, params, f"  %r = call {result} @{name}({operands})",
        f"declare {result} @{name}({types})",
    )  # fmt: skip


def _overflow(op: str, type: str, member: int) -> Case:
    name = f"llvm.{op}.with.overflow.{type}"
    result = (type, "i1")[member]
    body = (
        f"  %pair = call {{ {type}, i1 }} @{name}({type} %a, {type} %b)\n"
        f"  %r = extractvalue {{ {type}, i1 }} %pair, {member}"
    )
    return Case(
        f"{op}.{type}.{member}",
        result,
        (type, type),
        body,
        f"declare {{ {type}, i1 }} @{name}({type}, {type})",
    )


INTEGER_CASES = [
    *(_intrinsic(f"llvm.{n}.{t}", t, (t, t)) for n in ("smax", "smin", "umax", "umin") for t in (*INTEGERS, *ODD)),
    *(_intrinsic(f"llvm.abs.{t}", t, (t,), "i1 false") for t in (*INTEGERS, *ODD)),
    *(_intrinsic(f"llvm.{n}.{t}", t, (t,), "i1 false") for n in ("ctlz", "cttz") for t in (*INTEGERS, *ODD)),
    *(_intrinsic(f"llvm.{n}.{t}", t, (t,)) for n in ("ctpop", "bitreverse") for t in (*INTEGERS, *ODD)),
    *(_intrinsic(f"llvm.bswap.{t}", t, (t,)) for t in ("i16", "i32", "i48", "i64")),
    *(_intrinsic(f"llvm.{n}.{t}", t, (t, t, t)) for n in ("fshl", "fshr") for t in (*INTEGERS, "i13")),
    *(
        _intrinsic(f"llvm.{n}.sat.{t}", t, (t, t))
        for n in ("sadd", "uadd", "ssub", "usub")
        for t in (*INTEGERS, *ODD)
    ),
    *(_intrinsic(f"llvm.{n}.i8.{t}", "i8", (t, t)) for n in ("scmp", "ucmp") for t in INTEGERS),
    *(
        _overflow(op, t, member)
        for op in ("sadd", "uadd", "ssub", "usub", "smul", "umul")
        for t in (*INTEGERS, "i13", "i48")
        for member in (0, 1)
    ),
]  # fmt: skip
SHIFT_CASES = [
    _intrinsic(f"llvm.{n}.sat.{t}", t, (t, t)) for n in ("sshl", "ushl") for t in (*INTEGERS, "i13")
]

SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
WIDE = {"float": "f32", "double": "f64"}
EXACT = ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "canonicalize")
LIBRARY = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
           "exp", "exp2", "exp10", "log", "log2", "log10")  # fmt: skip
FLOAT_CASES = [
    *(_intrinsic(f"llvm.{n}.{s}", t, (t,)) for n in EXACT for t, s in SUFFIX.items()),
    *(_intrinsic(f"llvm.{n}.{SUFFIX[t]}", t, (t,)) for n in LIBRARY for t in ("float", "double")),
    *(_intrinsic(f"llvm.{n}.{s}", t, (t, t)) for n in ("pow", "atan2", "copysign") for t, s in WIDE.items()),
    *(
        _intrinsic(f"llvm.{n}.{SUFFIX[t]}", t, (t, t))
        for n in ("maximum", "minimum", "maximumnum", "minimumnum")
        for t in ("float", "double")
    ),
    *(_intrinsic(f"llvm.{n}.{SUFFIX[t]}", t, (t, t, t)) for n in ("fma", "fmuladd") for t in ("float", "double")),
]  # fmt: skip
CLASS_CASES = [
    Case(
        f"class.{t}.{bits}", "i1", (t,),
        f"  %r = call i1 @llvm.is.fpclass.{SUFFIX[t]}({t} %a, i32 {bits})",
        f"declare i1 @llvm.is.fpclass.{SUFFIX[t]}({t}, i32)",
    )
    for t in SUFFIX
    for bits in [1 << n for n in range(10)] + [0x3, 0x3FF, 0x1F8, 0x264]
]  # fmt: skip
INTEGER_FROM_FLOAT = [
    *(
        _intrinsic(f"llvm.{n}.i64.{SUFFIX[t]}", "i64", (t,))
        for n in ("lround", "lrint")
        for t in ("float", "double")
    ),
]
POWERS = [_intrinsic(f"llvm.ldexp.{SUFFIX[t]}.i32", t, (t, "i32")) for t in ("float", "double")]


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(INTEGER_CASES + SHIFT_CASES + FLOAT_CASES + CLASS_CASES + INTEGER_FROM_FLOAT + POWERS)


def _inputs(case: Case, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [samples(t, LANES, rng) for t in case.params]


@pytest.mark.parametrize("case", INTEGER_CASES, ids=lambda c: c.name)
def test_integer_intrinsic_matches_llvm(oracle: Oracle, case: Case) -> None:
    oracle.check(case.name, _inputs(case, 1))


@pytest.mark.parametrize("case", SHIFT_CASES, ids=lambda c: c.name)
def test_saturating_shift_matches_llvm_below_the_width(oracle: Oracle, case: Case) -> None:
    a, b = _inputs(case, 2)
    oracle.check(case.name, [a, b % np.uint64(bits_of(case.result))])


@pytest.mark.parametrize("case", FLOAT_CASES + CLASS_CASES, ids=lambda c: c.name)
def test_float_intrinsic_matches_llvm_bit_for_bit(oracle: Oracle, case: Case) -> None:
    if "fmuladd" in case.name and "fma" not in chosen().isa.features:
        pytest.skip("LLVM rounds twice where the processor cannot do otherwise, and the interpreter once")
    oracle.check(case.name, _inputs(case, 3))


@pytest.mark.parametrize("case", INTEGER_FROM_FLOAT, ids=lambda c: c.name)
def test_rounding_to_integer_matches_llvm_in_range(oracle: Oracle, case: Case) -> None:
    (a,) = _inputs(case, 4)
    exponent = 23 if case.params[0] == "float" else 52
    moderate = ((a >> np.uint64(exponent)) & np.uint64((1 << (8 if exponent == 23 else 11)) - 1)) < np.uint64(
        (127 if exponent == 23 else 1023) + 60
    )
    oracle.check(case.name, [np.where(moderate, a, np.uint64(0))])


@pytest.mark.parametrize("case", POWERS, ids=lambda c: c.name)
def test_ldexp_matches_llvm(oracle: Oracle, case: Case) -> None:
    a, b = _inputs(case, 5)
    signed = b.astype(np.uint32).view(np.int32) % 4000 - 2000
    oracle.check(case.name, [a, signed.astype(np.int32).view(np.uint32)])


@pytest.mark.parametrize("name", ["ctlz", "cttz"])
def test_counting_zeros_of_zero_is_poison_when_the_flag_says_so(name: str) -> None:
    case = Case("f", "i32", ("i32",), f"  %r = call i32 @llvm.{name}.i32(i32 %a, i1 true)",
                f"declare i32 @llvm.{name}.i32(i32, i1)")  # fmt: skip
    _, flags = Oracle([case]).interpreted("f", [np.array([0, 1, 0, 8], np.uint64)])
    assert (flags != 0).tolist() == [True, False, True, False]


def test_abs_of_the_least_integer_is_poison_when_the_flag_says_so() -> None:
    case = Case(
        "f", "i8", ("i8",), "  %r = call i8 @llvm.abs.i8(i8 %a, i1 true)", "declare i8 @llvm.abs.i8(i8, i1)"
    )
    got, flags = Oracle([case]).interpreted("f", [np.array([0x80, 0xFF], np.uint64)])
    assert (flags != 0).tolist() == [True, False] and got[1] == 1
