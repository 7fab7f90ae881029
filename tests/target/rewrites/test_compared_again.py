"""Masks of other blocks are compared again, and functions give what they gave."""

import ctypes
import re

import numpy as np
import pytest

from pairs import pairs
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.compared_again import with_compared_again

PROGRAM = """
define void @f(ptr %values, ptr %limits, ptr %others, ptr %result, i1 %goes) {{
entry:
  %x = load <{n} x {t}>, ptr %values, align 8
  %y = load <{n} x {t}>, ptr %limits, align 8
  %z = load <{n} x {t}>, ptr %others, align 8
  %p = {cmp} <{n} x {t}> %x, %y
  %q = {cmp} <{n} x {t}> %y, %z
  %r = {cmp} <{n} x {t}> %z, %x
  {mask}
  %whole = bitcast <{n} x i1> %m to i{n}
  store i{n} %whole, ptr %result, align 8
  br i1 %goes, label %some, label %none
some:
  %k = {part}
  %few = select <4 x i1> %k, <4 x i16> <i16 1, i16 2, i16 4, i16 8>, <4 x i16> zeroinitializer
  %second = getelementptr i64, ptr %result, i64 1
  store <4 x i16> %few, ptr %second, align 8
  %third = getelementptr i64, ptr %result, i64 2
  %chosen = select <{n} x i1> %m, <{n} x {t}> %z, <{n} x {t}> zeroinitializer
  store <{n} x {t}> %chosen, ptr %third, align 8
  ret void
none:
  ret void
}}
"""
FIRST = "shufflevector <{n} x i1> %m, <{n} x i1> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>"
NO, ALL = "<{n} x i1> zeroinitializer", "<{n} x i1> splat (i1 true)"
MASKS = {
    "alone": "%m = select <{n} x i1> %p, <{n} x i1> splat (i1 true), " + NO,
    "frozen": "%m = freeze <{n} x i1> %p",
    "frozen both": "%b = and <{n} x i1> %p, %q\n  %m = freeze <{n} x i1> %b",
    "and not": "%not = xor <{n} x i1> %q, splat (i1 true)\n  %m = and <{n} x i1> %p, %not",
    "either": "%m = select <{n} x i1> %p, " + ALL + ", <{n} x i1> %q",
    "one of both": "%m = select <{n} x i1> %p, <{n} x i1> %q, <{n} x i1> %r",
}
WANTED = {
    "alone": lambda p, q, r: p,
    "frozen": lambda p, q, r: p,
    "frozen both": lambda p, q, r: p & q,
    "and not": lambda p, q, r: p & ~q,
    "either": lambda p, q, r: p | q,
    "one of both": lambda p, q, r: np.where(p, q, r),
}
COMPARED = {
    "float": "fcmp olt",
    "double": "fcmp fast olt",
    "i32": "icmp slt",
    "i64": "icmp slt",
    "i16": "icmp slt",
}
TYPES = {"float": np.float32, "double": np.float64, "i32": np.int32, "i64": np.int64, "i16": np.int16}


def program(lanes: int, type: str, mask: str, part: str = FIRST) -> str:
    fill = {"n": lanes, "t": type}
    return PROGRAM.format(
        cmp=COMPARED[type], mask=MASKS[mask].format(**fill), part=part.format(**fill), **fill
    )


def made(text: str, isa: Isa = AVX2) -> str:
    return optimized(text, TargetSpec.of_isa(isa), FINAL)


@pytest.mark.parametrize(
    ("isa", "type", "lanes"),
    pairs([SSE2, AVX2], list(TYPES), [8, 16, 32, 64]),
    ids=lambda value: getattr(value, "name", value),
)
def test_masks_are_what_they_were(isa: Isa, type: str, lanes: int) -> None:
    spec, rng = TargetSpec.of_isa(isa), np.random.default_rng(lanes)
    for name in MASKS:
        code = load_object(emit_object(program(lanes, type, name), spec, FINAL), ["f"])
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_bool)(code.address("f"))
        for _ in range(3):
            values, limits, others = (rng.integers(0, 4, lanes).astype(TYPES[type]) for _ in range(3))
            if type == "float":
                limits[rng.integers(0, lanes, 3)] = np.nan
            result = np.zeros(2 + lanes, np.uint64)
            function(*(a.ctypes.data for a in (values, limits, others, result)), True)
            mask = WANTED[name](values < limits, limits < others, others < values)
            bits = sum(int(on) << lane for lane, on in enumerate(mask))
            assert (int(result[0]), sum(result[1:2].view(np.uint16))) == (bits, bits >> 4 & 15), name
            chosen = result[2:].view(TYPES[type])[:lanes]
            np.testing.assert_array_equal(chosen, np.where(mask, others, 0), name)


def compared_in(text: str, block: str) -> list[str]:
    """The types of what a block compares, other than signs of masks that `joined_masks` joins."""
    lines = re.split(r"(?m)^(\w+):.*\n", text)
    body = lines[lines.index(block) + 1]
    return re.findall(r"[fi]cmp [a-z ]*(<\d+ x \w+>) (?!%weft\.joined)", body)


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "one of both"])
def test_a_block_compares_what_it_uses_and_parts_only_parts(mask: str) -> None:
    text = made(program(32, "double", mask))
    number = 1 if mask in ("alone", "frozen") else 2
    assert sorted(compared_in(text, "some")) == ["<32 x double>"] * number + ["<4 x double>"] * number
    assert with_compared_again(text, AVX2) is None


def test_a_frozen_mask_is_made_of_frozen_numbers_once() -> None:
    text = made(program(16, "double", "frozen both"))
    assert "freeze <16 x i1>" not in text and text.count("freeze <16 x double>") == 4
    # LLVM may take numbers with `fast` for others, if they are no numbers; frozen, they are what they are.
    compared = [line for line in text.splitlines() if "weft.again" in line and "fcmp" in line]
    assert compared and not any("fast" in line for line in compared)


@pytest.mark.parametrize(
    ("isa", "lanes", "type", "mask", "part"),
    [
        (AVX512, 32, "double", "alone", FIRST),
        # Three are compared.
        (AVX2, 32, "double", "one of both", FIRST),
        # LLVM packs to as many bits as there are.
        (SSE2, 8, "i16", "alone", FIRST),
        # Other lanes than neighbours.
        (AVX2, 8, "i16", "alone", FIRST.replace("i32 7", "i32 6")),
    ],
)
def test_others_stay(isa: Isa, lanes: int, type: str, mask: str, part: str) -> None:
    text = made(program(lanes, type, mask, part), isa)
    assert "weft.again" not in text
    assert compared_in(text, "some") == [] and compared_in(text, "entry")


def test_what_is_compared_with_a_row_of_constants_is_compared_again() -> None:
    """Lanes up to a length, as of the last lane group of a row."""
    row = ", ".join(f"i32 {lane}" for lane in range(32))
    text = program(32, "i32", "alone").replace(
        "icmp slt <32 x i32> %x, %y", f"icmp ugt <32 x i32> %x, <{row}>"
    )
    again = with_compared_again(text, AVX2)
    assert again is not None
    some = again.split("\nsome:")[1]
    assert re.search(r"icmp ugt <4 x i32> %\S+, <i32 4, i32 5, i32 6, i32 7>", some)
    assert f", <{row}>" in some and "<32 x i1> %m" not in some
