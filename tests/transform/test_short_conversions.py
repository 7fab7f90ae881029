"""Floats known to fit in 32 bits do not become integers of 64, and functions return what they returned."""

import os
import random

import numpy as np
import pytest

from transform.chain import returned
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.short_conversions import shorten_conversions

ENDS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    7.5,
    99.0,
    100.0,
    101.5,
    -3.25,
    2.0**24,
    2.0**31,
    -(2.0**31),
    2.0**33,
    -(2.0**40),
]
FLOATS = [*ENDS, np.inf, -np.inf, np.nan, 1e30, -1e30, 2.0**31 - 128, 2147483520.0]
INTEGERS = [0, 1, 7, 100, -5, (1 << 31) - 1, -(1 << 31)]

SATURATING = "call i64 @llvm.fptosi.sat.i64.{kind}({type} %v)"
DECLARED = """
declare i64 @llvm.fptosi.sat.i64.f32(float)
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)
declare float @llvm.floor.f32(float)
declare float @llvm.ceil.f32(float)
declare float @llvm.trunc.f32(float)
declare float @llvm.rint.f32(float)
declare float @llvm.nearbyint.f32(float)
declare float @llvm.roundeven.f32(float)
"""

# Two guards around a conversion:
#
#   entry --below--> out
#     |              ^
#   check --beyond---+
#     |
#   inside
GUARDED = """
entry:
  %v = fadd {type} %x, 0.0
  %few = ashr i32 %n, 3
  %bound = sitofp i32 {bound} to {type}
  %below = fcmp {low} {type} %v, 0.0
  br i1 %below, label %out, label %check
check:
  %beyond = fcmp {high} {type} %v, %bound
  br i1 %beyond, label %out, label %inside
inside:
  %i = {conversion}
  %again = sitofp i64 %i to {type}
  %rest = fsub {type} %v, %again
  %less = fcmp olt {type} %rest, 0.5
  %add = select i1 %less, i64 0, i64 4294967296
  %r = add i64 %i, %add
  ret i64 %r
out:
  ret i64 -77
"""


def guarded(low: str, high: str, type: str = "float", bound: str = "%few") -> str:
    conversion = SATURATING.format(type=type, kind={"float": "f32", "double": "f64"}[type])
    return GUARDED.format(type=type, low=low, high=high, conversion=conversion, bound=bound)


def parsed(body: str, type: str = "float") -> Function:
    module = read_module(f"{DECLARED}\ndefine i64 @f({type} %x, i32 %n) {{\n{body}\n}}\n")
    verify(module)
    return next(module.definitions())


def results(function: Function, type: str = "float") -> object:
    numbers = np.array(FLOATS, np.float32 if type == "float" else np.float64)
    x, n = np.repeat(numbers, len(INTEGERS)), np.tile(np.array(INTEGERS, np.int32), len(numbers))
    return returned("f", [x, n], len(x))(function.module, "FR")


def shortened(body: str, type: str = "float") -> bool:
    """Whether the function is changed, which it has to survive."""
    function = parsed(body, type)
    before = results(function, type)
    changed = shorten_conversions(function) > 0
    assert function.module is not None
    verify(function.module)
    np.testing.assert_equal(results(function, type), before)
    assert changed == ("sat.i64" not in write_module(function.module).partition("define")[2])
    return changed


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize(("low", "high"), [("olt", "oge"), ("ult", "ugt"), ("ole", "uge")])
def test_what_was_compared_with_bounds_is_short(type: str, low: str, high: str) -> None:
    assert shortened(guarded(low, high, type), type)


@pytest.mark.parametrize(("low", "high"), [("olt", "olt"), ("oeq", "oge"), ("ogt", "oge"), ("uno", "uge")])
def test_what_may_be_beyond_its_bounds_stays(low: str, high: str) -> None:
    assert not shortened(guarded(low, high))


@pytest.mark.parametrize(
    ("high", "type", "short"), [("oge", "float", True), ("ogt", "float", False), ("ogt", "double", True)]
)
def test_the_greatest_integer_may_be_rounded_up(high: str, type: str, short: bool) -> None:
    """As a float of 32 bits it is 2^31, which a number may only be below of."""
    assert shortened(guarded("olt", high, type, "%n"), type) == short


def test_a_number_that_cannot_be_nan_is_converted_by_an_instruction() -> None:
    body = guarded("olt", "oge").replace("fadd", "fadd nnan")
    function = parsed(body)
    assert shorten_conversions(function) == 1 and function.module is not None
    assert "fptosi float %v to i32" in write_module(function.module)


CLAMPED = """  %v = fmul {flags} {type} %x, 1.0
  %a = call {flags} {type} @llvm.maxnum.{kind}({type} %v, {type} {least})
  %above = fcmp {flags} olt {type} {most}, %a
  %b = select i1 %above, {type} {most}, {type} %a
  %i = call {result} @llvm.fpto{sign}i.sat.{result}.{kind}({type} %b)
  %r = {extend} {result} %i to i64
  ret i64 %r"""


@pytest.mark.parametrize(("type", "kind"), [("float", "f32"), ("double", "f64")])
@pytest.mark.parametrize(
    ("result", "sign", "least", "most", "flags", "through"),
    [
        ("i8", "u", "0.0", "255.0", "fast", True),
        ("i8", "u", "0.0", "255.0", "nnan", True),
        ("i8", "u", "0.0", "255.5", "fast", True),
        ("i16", "s", "-32768.0", "32767.0", "fast", True),
        # NaN is 0, and is as well made so by what the processor has for it.
        ("i8", "u", "0.0", "255.0", "", False),
        ("i8", "u", "0.0", "256.0", "fast", False),
        ("i8", "u", "-1.0", "255.0", "fast", False),
        ("i8", "s", "0.0", "255.0", "fast", False),
        ("i32", "s", "0.0", "255.0", "fast", False),
    ],
)
def test_bytes_of_what_is_between_their_ends_are_those_of_integers(
    type: str, kind: str, result: str, sign: str, least: str, most: str, flags: str, through: bool
) -> None:
    body = CLAMPED.format(
        type=type, kind=kind, result=result, sign=sign, least=least, most=most, flags=flags,
        extend="zext" if sign == "u" else "sext",
    )  # fmt: skip
    declared = f"declare {result} @llvm.fpto{sign}i.sat.{result}.{kind}({type})\n"
    module = read_module(f"{DECLARED}{declared}define i64 @f({type} %x, i32 %n) {{\n{body}\n}}\n")
    verify(module)
    function = next(module.definitions())
    numbers = np.array([x for x in FLOATS if np.isfinite(x)], np.float32 if type == "float" else np.float64)
    x, n = numbers, np.zeros(len(numbers), np.int32)

    def made() -> object:
        return returned("f", [x, n], len(x))(module, "FR")

    before = made()
    assert (shorten_conversions(function) > 0) == through
    verify(module)
    np.testing.assert_equal(made(), before)
    assert ("= fptosi " in write_module(module)) == through


MINIMUM = "  %{r} = call float @llvm.minnum.f32(float %{x}, float {end})"
MAXIMUM = "  %{r} = call float @llvm.maxnum.f32(float %{x}, float {end})"
LESSER = "  %{r}.c = fcmp olt float %{x}, {end}\n  %{r} = select i1 %{r}.c, float %{x}, float {end}"
GREATER = "  %{r}.c = fcmp {o} float {end}, %{x}\n  %{r} = select i1 %{r}.c, float %{x}, float {end}"


@pytest.mark.parametrize("least", [MINIMUM, LESSER])
@pytest.mark.parametrize("greatest", [MAXIMUM, GREATER.replace("{o}", "olt"), GREATER.replace("{o}", "ule")])
@pytest.mark.parametrize("least_first", [False, True])
def test_the_lesser_or_greater_of_bounds_is_short(least: str, greatest: str, least_first: bool) -> None:
    first, second = (least, greatest) if least_first else (greatest, least)
    ends = ("%m", "2.0") if least_first else ("2.0", "%m")
    body = "  %few = ashr i32 %n, 3\n  %m = sitofp i32 %few to float\n"
    body += first.format(x="x", r="a", end=ends[0]) + "\n" + second.format(x="a", r="b", end=ends[1])
    body += "\n  %i = call i64 @llvm.fptosi.sat.i64.f32(float %b)\n  %j = shl i64 %i, 3\n  ret i64 %j"
    assert shortened(body)


@pytest.mark.parametrize("bound", [MINIMUM, MAXIMUM])
def test_one_bound_is_not_enough(bound: str) -> None:
    body = bound.format(x="x", r="b", end="2.0")
    assert not shortened(body + "\n  %i = call i64 @llvm.fptosi.sat.i64.f32(float %b)\n  ret i64 %i")


@pytest.mark.parametrize(
    ("made", "short"),
    [
        ("fmul {t} %b, 32767.0", True), ("fmul {t} %b, -255.0", True), ("fadd {t} %b, -1000.5", True),
        ("fsub {t} %b, 0.5", False), ("fmul {t} %b, 1073741824.0", False), ("fmul {t} %b, %y", False),
        ("fmul {t} %b, 0.0", False), ("fadd {t} %b, 16777216.0", False), ("fadd {t} %b, 0x7FF0000000000000", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("type", ["float", "double"])
def test_products_and_sums_of_what_is_bounded(made: str, short: bool, type: str) -> None:
    body = (
        (MINIMUM.format(x="x", r="a", end="1.0") + "\n" + MAXIMUM.format(x="a", r="b", end="-1.0"))
        .replace("f32", {"float": "f32", "double": "f64"}[type])
        .replace("float", type)
    )
    body += f"\n  %y = sitofp i32 %n to {type}\n  %c = {made.format(t=type)}\n"
    body += (
        f"  %i = call i64 @llvm.fptosi.sat.i64.{'f32' if type == 'float' else 'f64'}({type} %c)\n  ret i64 %i"
    )
    assert shortened(body, type) == short


@pytest.mark.parametrize("rounding", ["floor", "ceil", "trunc", "rint", "nearbyint", "roundeven"])
@pytest.mark.parametrize(("end", "short"), [("127.0", True), ("0x41E0000000000000", False)])
def test_what_is_bounded_and_rounded_is_short(rounding: str, end: str, short: bool) -> None:
    """An image's or a network's numbers are quantized so."""
    body = MINIMUM.format(x="x", r="a", end=end) + "\n" + MAXIMUM.format(x="a", r="b", end="-128.0")
    body += f"\n  %c = fadd float %b, 0.5\n  %d = call float @llvm.{rounding}.f32(float %c)\n"
    body += "  %i = call i64 @llvm.fptosi.sat.i64.f32(float %d)\n  ret i64 %i"
    assert shortened(body) == short


def test_one_bound_of_a_product_is_not_enough() -> None:
    body = MINIMUM.format(x="x", r="a", end="1.0") + "\n  %b = fmul float %a, 255.0\n"
    assert not shortened(body + "  %i = call i64 @llvm.fptosi.sat.i64.f32(float %b)\n  ret i64 %i")


CONVERTED = "entry:\n  %i = call i64 @llvm.fptosi.sat.i64.f32(float %x)\n  %wide = sext i32 %n to i64\n"
BETWEEN = """  %low = call i64 @llvm.smax.i64(i64 %i, i64 {least})
  %r = call i64 @llvm.smin.i64(i64 %low, i64 {most})
  ret i64 %r
"""
CHECKED = """  %ok = icmp {predicate} i64 %i, {bound}
  br i1 %ok, label %inside, label %out
inside:
  %r = add i64 %i, 1
  ret i64 %r
out:
  ret i64 -1
"""


@pytest.mark.parametrize(
    ("body", "short"),
    [
        (BETWEEN.format(least=0, most=99), True),
        (BETWEEN.format(least=-7, most="%wide"), False),
        (BETWEEN.format(least=0, most=1 << 33), False),
        (BETWEEN.format(least=-(1 << 33), most=99), False),
        (CHECKED.format(predicate="ult", bound=100), True),
        (CHECKED.format(predicate="ult", bound=1 << 32), False),
        (CHECKED.format(predicate="slt", bound=100), False),
        (CHECKED.format(predicate="eq", bound=-5), True),
        ("  %low = call i64 @llvm.smax.i64(i64 %i, i64 0)\n  ret i64 %low", False),
    ],
)
def test_what_is_seen_between_integers_is_short(body: str, short: bool) -> None:
    assert shortened(CONVERTED + body) == short


def drawn(seed: int) -> str:
    """Comparisons, minima and maxima around a conversion, at random."""
    draw = random.Random(seed)
    ends = ["0.0", "-1.0", "99.0", "4194304.0", "2147483648.0", "%bound"]
    lines = [
        "entry:",
        "  %few = ashr i32 %n, 3",
        f"  %bound = sitofp i32 {draw.choice(['%n', '%few'])} to float",
    ]
    lines.append("  %wide = sext i32 %n to i64\n  %v0 = fadd float %x, 0.0")
    for k in range(guards := draw.randrange(4)):
        kind = draw.choice([*"mMlG", "guard", "guard"])
        end, name = draw.choice(ends), f"%v{k + 1}"
        if kind in "mM":
            call = "minnum" if kind == "m" else "maxnum"
            lines.append(f"  {name} = call float @llvm.{call}.f32(float %v{k}, float {end})")
        elif kind in "lG":
            order = draw.choice(["olt", "ogt", "ule", "uge"])
            lines += [
                f"  %c{k} = fcmp {order} float %v{k}, {end}",
                f"  {name} = select i1 %c{k}, float %v{k}, float {end}",
            ]
        else:
            order = draw.choice(["olt", "oge", "ugt", "ule", "oeq", "uno"])
            ways = draw.sample(["out", f"b{k}"], 2)
            lines += [
                f"  %c{k} = fcmp {order} float %v{k}, {end}",
                f"  br i1 %c{k}, label %{ways[0]}, label %{ways[1]}",
                f"b{k}:",
                f"  {name} = fadd float %v{k}, {draw.choice(['0.0', '0.0', '1.0'])}",
            ]
    lines.append(f"  %i = call i64 @llvm.fptosi.sat.i64.f32(float %v{draw.randrange(guards + 1)})")
    lines.append(
        draw.choice(
            [
                "  %r = shl i64 %i, 1\n  ret i64 %r",
                "  %low = call i64 @llvm.smax.i64(i64 %i, i64 -3)\n  %r = call i64 @llvm.smin.i64(i64 %low, i64 70)\n"
                "  ret i64 %r",
                f"  %ok = icmp {draw.choice(['ult', 'slt', 'sgt', 'eq'])} i64 %i, {draw.choice(['100', '%wide'])}\n"
                "  br i1 %ok, label %inside, label %out\ninside:\n  %r = mul i64 %i, 5\n  ret i64 %r",
            ]
        )
    )
    ends_outside = any("%out" in line for line in lines)
    return "\n".join([*lines, *(["out:", "  ret i64 -9"] if ends_outside else [])])


@pytest.mark.parametrize("seed", range(400 if os.environ.get("WEFT_FUZZ") else 15))
def test_random_functions_return_what_they_returned(seed: int) -> None:
    shortened(drawn(seed))


def test_some_random_functions_are_changed_and_some_are_not() -> None:
    changed = [shorten_conversions(parsed(drawn(seed))) for seed in range(60)]
    assert 10 < sum(changed) < 50
