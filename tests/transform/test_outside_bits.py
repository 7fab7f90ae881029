"""Comparisons that ask whether numbers are outside of a power of two are bits of them, for each number there is."""

import pytest

from weft.ir.reader import read_module
from weft.transform.outside_bits import bits_outside

OF_BITS = {
    "unsigned": ("icmp ugt <4 x i8> %n, splat (i8 15)", lambda n: not 0 <= n <= 15),
    "unsigned, all but one bit": ("icmp ugt <4 x i8> %n, splat (i8 127)", lambda n: n < 0),
    "unsigned, none": ("icmp ugt <4 x i8> %n, zeroinitializer", None),
    "signed": (("slt", -16, "sgt", 15), lambda n: not -16 <= n <= 15),
    "signed, in the other order": (("sgt", 31, "slt", -32), lambda n: not -32 <= n <= 31),
    "signed, one": (("slt", -1, "sgt", 0), lambda n: not -1 <= n <= 0),
    "signed, large": (("slt", -64, "sgt", 63), lambda n: not -64 <= n <= 63),
    "signed, all": (("slt", -128, "sgt", 127), None),
    "not as far down": (("slt", -15, "sgt", 15), None),
    "no power of two": (("slt", -12, "sgt", 11), None),
    "inside": (("sgt", -16, "slt", 15), None),
    "twice above": (("sgt", 15, "sgt", 15), None),
    "signed limit alone": ("icmp sgt <4 x i8> %n, splat (i8 15)", None),
    "all bits": ("icmp ugt <4 x i8> %n, splat (i8 -1)", None),
    "other number": ("icmp ugt <4 x i8> %n, splat (i8 14)", None),
}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", OF_BITS)
def test_bits_say_what_the_comparison_says(name: str, frozen: bool) -> None:
    asked, outside = OF_BITS[name]
    if isinstance(asked, str):
        lines = f"%c = {asked}"
    else:
        below, low, above, high = asked
        lines = f"%a = icmp {below} <4 x i8> %n, splat (i8 {low})\n  %b = icmp {above} <4 x i8> %n, splat (i8 {high})\n"
        lines += (
            "  %c.a = freeze <4 x i1> %a\n  %c = or <4 x i1> %c.a, %b"
            if frozen
            else "  %c = or <4 x i1> %a, %b"
        )
    text = f"define <4 x i1> @f(<4 x i8> %n) {{\nentry:\n  {lines}\n  %r = freeze <4 x i1> %c\n  ret <4 x i1> %r\n}}\n"
    function = read_module(text).functions["f"]
    named = {i.name: i for i in function.instructions()}
    found = bits_outside(named["r" if frozen else "c"], function.args[0].type)
    if outside is None:
        assert found is None
        return
    assert found is not None
    number, add, bits = found
    assert number is function.args[0]
    for n in range(-128, 128):
        assert bool((n + add) & bits & 255) == outside(n), n


def test_what_is_frozen_twice_is_asked_by_bits() -> None:
    """Guessed bounds freeze each comparison, and linearization freezes what is voted on."""
    function = read_module(
        "define <4 x i1> @f(<4 x i32> %n) {\nentry:\n  %c = icmp ugt <4 x i32> %n, splat (i32 15)\n"
        "  %once = freeze <4 x i1> %c\n  %twice = freeze <4 x i1> %once\n  ret <4 x i1> %twice\n}\n"
    ).functions["f"]
    *_, twice, _ = function.instructions()
    assert bits_outside(twice, function.args[0].type) == (function.args[0], 0, (1 << 32) - 16)


def test_numbers_of_another_type_stay() -> None:
    function = read_module(
        "define <4 x i1> @f(<4 x i64> %n) {\nentry:\n"
        "  %c = icmp ugt <4 x i64> %n, splat (i64 15)\n  ret <4 x i1> %c\n}\n"
    ).functions["f"]
    (comparison, _) = function.instructions()
    of_32 = read_module("define void @g(<4 x i32> %n) {\nentry:\n  ret void\n}\n").functions["g"].args[0].type
    assert bits_outside(comparison, of_32) is None
    assert bits_outside(comparison, function.args[0].type) is not None
