"""Floats that go by way of integers of 64 bits are rounded, and functions return what they returned."""

import numpy as np
import pytest

from transform.chain import returned
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.called_remainders import replace_called_remainders
from weft.transform.numbers.float_round_trips import drop_round_trips

ENDS = [0.0, 0.5, 1.5, 2.5, 99.99, 2.0**24 + 2, 2.0**31, 3e9, 2.0**53 + 2, 2.0**62, 2.0**63, 1e30, np.inf]
DECLARED = "".join(
    f"declare {t} @llvm.{name}.{k}({t})\ndeclare i64 @llvm.fptosi.sat.i64.{k}({t})\n" * (name == "floor")
    + f"declare {t} @llvm.{name}.{k}({t})\n" * (name != "floor")
    for name in ("floor", "ceil", "rint")
    for t, k in (("float", "f32"), ("double", "f64"))
) + "".join(f"declare double @llvm.{name}.f64(double, double)\n" for name in ("maxnum", "minnum"))
KINDS = {"float": "f32", "double": "f64"}


def parsed(body: str, result: str, type: str) -> Function:
    module = read_module(f"{DECLARED}\ndefine {result} @f({type} %x) {{\n{body}\n}}\n")
    verify(module)
    return next(module.definitions())


def results(function: Function, type: str, numbers: list[float]) -> list[bytes]:
    """What comes of numbers and of their opposites, with the signs of zeros."""
    x = np.array([*numbers, *(-v for v in numbers), np.nan], np.float32 if type == "float" else np.float64)
    found = returned("f", [x], len(x))(function.module, "FR")
    return [np.asarray(v).tobytes() for v in np.asarray(found, object).ravel()]


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("result", ["float", "double"])
@pytest.mark.parametrize("rounded", ["", "floor", "ceil", "rint"])
def test_what_comes_back_is_the_same(rounded: str, result: str, type: str) -> None:
    k = KINDS[type]
    made = f"%v = call {type} @llvm.{rounded}.{k}({type} %x)" if rounded else f"%v = fadd {type} %x, 0.0"
    body = (
        f"  {made}\n  %i = call i64 @llvm.fptosi.sat.i64.{k}({type} %v)\n"
        f"  %r = sitofp i64 %i to {result}\n  ret {result} %r"
    )
    function = parsed(body, result, type)
    before = results(function, type, ENDS)
    assert drop_round_trips(function) == 1 and function.module is not None
    verify(function.module)
    assert results(function, type, ENDS) == before
    assert "@llvm.fptosi.sat" not in write_module(function.module).partition("define")[2]


def changes(conversion: str) -> int:
    return drop_round_trips(parsed(f"{conversion}\n  ret double %r", "double", "double"))


def test_numbers_beyond_integers_are_any_where_the_conversion_is_poison() -> None:
    function = parsed(
        "  %i = fptosi double %x to i64\n  %r = sitofp i64 %i to double\n  ret double %r", "double", "double"
    )
    assert drop_round_trips(function) == 1 and function.module is not None
    text = write_module(function.module).partition("define")[2]
    assert "llvm.trunc.f64" in text and "fcmp" not in text


def test_integers_that_something_else_wants_are_made_still() -> None:
    body = (
        "  %i = fptosi float %x to i64\n  %f = sitofp i64 %i to float\n  %b = bitcast float %f to i32\n"
        "  %w = zext i32 %b to i64\n  %r = add i64 %i, %w\n  ret i64 %r"
    )
    function = parsed(body, "i64", "float")
    assert drop_round_trips(function) == 1 and function.module is not None
    text = write_module(function.module)
    assert "fptosi" in text.partition("define")[2] and "sitofp" not in text


@pytest.mark.parametrize(
    ("bounds", "ends"),
    [
        (("maxnum", -127.0, "minnum", 127.0), []),
        (("minnum", 127.0, "maxnum", -127.0), []),
        (("maxnum", -127.0, "maxnum", -3.0), ["ogt"]),
        (("minnum", 2.0**70, "maxnum", -127.0), ["ogt"]),
        (("maxnum", -(2.0**70), "minnum", 5.0), ["olt"]),
    ],
)
def test_ends_that_bounds_settle_are_left_out(bounds: tuple[str, float, str, float], ends: list[str]) -> None:
    first, a, second, b = bounds
    body = (
        "  %v = call double @llvm.floor.f64(double %x)\n  %i = call i64 @llvm.fptosi.sat.i64.f64(double %v)\n"
        f"  %d = sitofp i64 %i to double\n  %m = call double @llvm.{first}.f64(double %d, double {a:.1f})\n"
        f"  %n = call double @llvm.{second}.f64(double %m, double {b:.1f})\n  ret double %n"
    )
    function = parsed(body, "double", "double")
    before = results(function, "double", ENDS)
    assert drop_round_trips(function) == 1
    assert results(function, "double", ENDS) == before
    compared = [i.predicate for i in function.instructions() if i.op == "fcmp"]
    assert compared == [*ends, "uno"]


@pytest.mark.parametrize(
    ("user", "adds"),
    [
        ("%u = fsub nsz double %d, %x", False),
        ("%u = fsub double %d, %x", True),
        ("%c = fcmp olt double %d, %x\n  %u = select i1 %c, double 1.0, double 2.0", False),
        ("%c = fcmp olt double %d, %x\n  %u = select i1 %c, double %d, double 2.0", True),
        ("%k = fptosi double %d to i32\n  %u = sitofp i32 %k to double", False),
    ],
)
def test_zeros_of_both_signs_are_for_those_who_take_them(user: str, adds: bool) -> None:
    body = f"  %i = fptosi double %x to i64\n  %d = sitofp i64 %i to double\n  {user}\n  ret double %u"
    function = parsed(body, "double", "double")
    assert drop_round_trips(function) == 1
    assert any(i.op == "fadd" for i in function.instructions()) is adds


def test_other_conversions_stay() -> None:
    again = "\n  %r = {} i64 %i to double"
    assert changes("  %i = fptoui double %x to i64" + again.format("uitofp")) == 0
    assert changes("  %i = fptosi double %x to i64" + again.format("uitofp")) == 0
    assert changes("  %i = fptosi double %x to i32\n  %r = sitofp i32 %i to double") == 0
    assert changes("  %i = fptosi double %x to i64" + again.format("sitofp")) == 1


@pytest.mark.parametrize(("name", "type"), [("fmod", "double"), ("fmodf", "float")])
def test_calls_of_remainders_are_remainders(name: str, type: str) -> None:
    module = read_module(
        f"declare {type} @{name}({type}, {type})\ndefine {type} @f({type} %x, {type} %y) {{\n"
        f"  %r = call fast {type} @{name}({type} %x, {type} %y)\n  ret {type} %r\n}}"
    )
    assert replace_called_remainders(module.functions["f"]) == 1
    assert f"frem fast {type} %x, %y" in write_module(module)
