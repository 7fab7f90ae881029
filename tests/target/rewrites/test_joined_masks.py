"""Masks that are joined of comparisons are as wide as these, and what they were."""

import ctypes
import re

import numpy as np
import pytest

from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import FINAL
from weft.target.rewrites.joined_masks import with_joined_masks

FORMS = {
    "and": "and <{n} x i1> {one}, {other}",
    "or": "or <{n} x i1> {one}, {other}",
    "and then": "select <{n} x i1> {one}, <{n} x i1> {other}, <{n} x i1> zeroinitializer",
    "or else": "select <{n} x i1> {one}, <{n} x i1> splat (i1 true), <{n} x i1> {other}",
}
PROGRAM = """
define void @f(ptr %a, ptr %b, ptr %c, ptr %result) {{
  %x = load <{n} x {t}>, ptr %a, align 8
  %y = load <{n} x {t}>, ptr %b, align 8
  %z = load <{n} x {t}>, ptr %c, align 8
  %p = {less} <{n} x {t}> %x, %y
  %q = {less} <{n} x {t}> %y, %z
  %r = {less} <{n} x {t}> %z, %x
  %two = {first}
  %known = freeze <{n} x i1> %two
  %not = xor <{n} x i1> %known, splat (i1 true)
  %three = {second}
  %one = select <{n} x i1> %three, <{n} x {t}> %x, <{n} x {t}> %y
  store <{n} x {t}> %one, ptr %result, align 8
  %counts = getelementptr i8, ptr %result, i64 {bytes}
  %more = zext <{n} x i1> %three to <{n} x i32>
  %less = sext <{n} x i1> %two to <{n} x i32>
  %twice = shl <{n} x i32> %less, splat (i32 4)
  %sum = add <{n} x i32> %more, %twice
  store <{n} x i32> %sum, ptr %counts, align 8
  ret void
}}
"""
NUMPY = {"and": np.logical_and, "or": np.logical_or, "and then": np.logical_and, "or else": np.logical_or}
DTYPES = {"float": np.float32, "double": np.float64, "i32": np.int32, "i64": np.int64, "i16": np.int16}


def program(lanes: int, type: str, first: str, second: str, other: str = "") -> str:
    less = "fcmp olt" if type in ("float", "double") else "icmp slt"
    return PROGRAM.format(
        n=lanes,
        t=type,
        less=less,
        bytes=lanes * np.dtype(DTYPES[type]).itemsize,
        first=FORMS[first].format(n=lanes, one="%p", other="%q"),
        second=FORMS[second].format(n=lanes, one="%not", other=other or "%r"),
    )


def in_two_blocks(text: str) -> str:
    ask = "  %apart = icmp ne ptr %a, %b\n  br i1 %apart, label %other, label %done\n\nother:\n  %one ="
    return text.replace("  %one =", ask).replace("  ret void", "  br label %done\n\ndone:\n  ret void")


@pytest.mark.spread
@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=["sse2", "avx2"])
@pytest.mark.parametrize(
    ("lanes", "type"), [(16, "float"), (16, "double"), (32, "i32"), (8, "i64"), (32, "i16")]
)
@pytest.mark.parametrize(
    ("first", "second"), [("and", "or else"), ("or", "and then"), ("and then", "or"), ("or else", "and")]
)
def test_masks_are_what_they_were(isa: Isa, lanes: int, type: str, first: str, second: str) -> None:
    text = in_two_blocks(program(lanes, type, first, second))
    code = load_object(emit_object(text, TargetSpec.of_isa(isa), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address("f"))
    rng = np.random.default_rng(lanes)
    x, y, z = (rng.integers(-2, 3, lanes).astype(DTYPES[type]) for _ in range(3))
    result = np.zeros(lanes * (x.itemsize + 4), np.uint8)
    function(*(a.ctypes.data for a in (x, y, z, result)))
    two = NUMPY[first](x < y, y < z)
    three = NUMPY[second](~two, z < x)
    np.testing.assert_array_equal(result[: x.nbytes].view(x.dtype), np.where(three, x, y))
    np.testing.assert_array_equal(result[x.nbytes :].view(np.int32), three - 16 * two)


@pytest.mark.parametrize(("isa", "lanes"), [(SSE2, 8), (AVX2, 16), (AVX2, 32)])
def test_joined_masks_are_not_packed(isa: Isa, lanes: int) -> None:
    text = program(lanes, "float", "and then", "or else")
    joined = with_joined_masks(text, isa)
    assert joined is not None
    assert "x i1> %p, <" not in re.sub(r"select <\d+ x i1> %p, <\d+ x i32>", "", joined)
    assert re.search(rf"%three = icmp slt <{lanes} x i32> %weft\.joined\.\d+, zeroinitializer", joined)
    packs = [emit_assembly(t, TargetSpec.of_isa(isa)).count("pack") for t in (joined, text)]
    assert packs[0] == 0 < packs[1]


def test_what_is_asked_second_may_be_poison() -> None:
    joined = with_joined_masks(program(16, "float", "and then", "or else"), AVX2)
    assert joined is not None
    # As a choice, which gives none of what it does not take.
    assert re.search(r"select <16 x i1> %p, <16 x i32> %weft\.joined\.0, <16 x i32> zeroinitializer", joined)
    assert re.search(r"select <16 x i1> %not, <16 x i32> splat \(i32 -1\), <16 x i32> %weft\.joined", joined)


@pytest.mark.parametrize(
    ("isa", "lanes", "type"),
    [(SSE2, 4, "float"), (AVX2, 8, "i32"), (AVX2, 16, "i16"), (AVX512, 64, "double")],
)
def test_masks_of_one_register_stay(isa: Isa, lanes: int, type: str) -> None:
    assert with_joined_masks(program(lanes, type, "and", "or"), isa) is None


def mixed(type: str) -> str:
    """A program one of whose masks is of another type."""
    compared = f"load <16 x {type}>, ptr %b, align 8\n  %q = icmp eq <16 x {type}> %k, zeroinitializer"
    text = program(16, "float", "and", "or").replace("%q = fcmp olt <16 x float> %y, %z", f"%k = {compared}")
    assert f"<16 x {type}> %k" in text
    return text


def test_masks_of_32_and_64_bits_are_joined_as_the_fewer() -> None:
    joined = with_joined_masks(mixed("i64"), AVX2)
    assert joined is not None
    assert re.search(r"%weft\.joined\.\d+ = sext <16 x i1> %q to <16 x i32>", joined)
    assert "%two = icmp slt <16 x i32>" in joined


def test_the_opposite_of_a_comparison_is_compared() -> None:
    text = program(16, "float", "and then", "or else").replace(
        "%known = freeze <16 x i1> %two", "%known = xor <16 x i1> %r, splat (i1 true)"
    )
    joined = with_joined_masks(text, AVX2)
    assert joined is not None
    # Less is the opposite of not less, or of no numbers; and the opposite of that is less again.
    assert (
        "%known = fcmp uge <16 x float> %z, %x" in joined and "%not = fcmp olt <16 x float> %z, %x" in joined
    )
    assert re.search(r"%three = icmp slt <16 x i32> %weft\.joined\.\d+, zeroinitializer", joined)
    one_register = text.replace("16", "8")
    assert "xor <8 x i1> %r" in (with_joined_masks(one_register, AVX2) or one_register)


def test_narrow_masks_and_masks_of_other_blocks_stay() -> None:
    assert with_joined_masks(mixed("i8"), AVX2) is None
    text = mixed("i16")
    assert "%two = and <16 x i1> %p, %q" in (with_joined_masks(text, AVX2) or text)
    text = program(16, "float", "and", "or")
    assert with_joined_masks(text.replace("  %two =", "  br label %other\n\nother:\n  %two ="), AVX2) is None


def test_other_blocks_compare_the_numbers_again() -> None:
    text = in_two_blocks(program(16, "float", "and", "or"))
    joined = with_joined_masks(text, AVX2)
    assert joined is not None
    _, other = joined.split("other:")
    # Once for each mask, and a mask of comparisons that is joined here is joined of numbers, too.
    assert len(re.findall(r"icmp slt <16 x i32> %weft\.joined\.\d+, zeroinitializer", other)) == 2
    assert not re.search(r"x i1> %(two|three)\b", other)
    assert emit_assembly(joined, TargetSpec.of_isa(AVX2)).count("pack") == 0
    # Of more than four registers they go on as before.
    many = with_joined_masks(in_two_blocks(program(64, "i32", "and", "or")), AVX2)
    assert many is not None and "x i1> %three" in many.split("other:")[1]


def test_names_of_an_earlier_time_are_kept_apart() -> None:
    once = with_joined_masks(program(16, "float", "and", "or"), AVX2)
    assert once is not None
    again = with_joined_masks(once + program(16, "float", "or", "and").replace("@f", "@g"), AVX2)
    assert again is not None
    assert again.count("%weft.joined.0 = ") == 2
