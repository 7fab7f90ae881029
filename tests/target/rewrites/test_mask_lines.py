"""Lines that make masks are read as what they make."""

import math
import operator

import pytest

from weft.target.rewrites.mask_lines import FALSE, TRUE, Comparison, Frozen, Join, Lanes, Part, mask_line

ORDERED = {"eq": operator.eq, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
ORDERED["ne"] = operator.ne


def holds(predicate: str, left: float, right: float) -> bool:
    """A comparison of `fcmp`, by LLVM's reference."""
    unordered = math.isnan(left) or math.isnan(right)
    if predicate in ("true", "false"):
        return predicate == "true"
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    return predicate[0] == "u" if unordered else ORDERED[predicate[1:]](left, right)


@pytest.mark.parametrize(
    "predicate",
    ["true", "false", "ord", "uno"] + [f"{first}{name}" for first in "ou" for name in ORDERED if name != "ne"]
    + ["one", "une"],
)  # fmt: skip
def test_the_inverse_of_a_comparison_of_floats_holds_where_it_does_not(predicate: str) -> None:
    read = mask_line(f"fcmp nsz {predicate} <8 x float> %a, %b, !dbg !4")
    assert read == Comparison("fcmp nsz", predicate, 8, "float", "%a", "%b")
    inverse = mask_line(read.inverse())
    assert isinstance(inverse, Comparison) and inverse.op == "fcmp nsz"
    for left in (1.0, 2.0, math.nan):
        for right in (1.0, 2.0, math.nan):
            assert holds(predicate, left, right) != holds(inverse.predicate, left, right)


@pytest.mark.parametrize("predicate", ["eq", "ne", *(s + n for s in "su" for n in ("gt", "ge", "lt", "le"))])
def test_the_inverse_of_a_comparison_of_integers_holds_where_it_does_not(predicate: str) -> None:
    read = mask_line(f"icmp {predicate} <4 x i64> %a, <i64 1, i64 2, i64 3, i64 4>")
    assert isinstance(read, Comparison) and read.operands == ("%a", "<i64 1, i64 2, i64 3, i64 4>")
    inverse = mask_line(read.inverse())
    assert isinstance(inverse, Comparison)
    # Signs stay, so what the names say of two numbers decides.
    assert predicate[:-2] == inverse.predicate[:-2]
    for pair in ((1, 1), (1, 2), (2, 1)):
        assert ORDERED[predicate[-2:]](*pair) != ORDERED[inverse.predicate[-2:]](*pair)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("and <8 x i1> %a, %b", Join("and", 8, "%a", "%b", False, "")),
        ("or disjoint <8 x i1> %a, %b", Join("or", 8, "%a", "%b", False, "")),
        ("xor <8 x i1> %a, splat (i1 true), !dbg !3", Join("xor", 8, "%a", TRUE, False, ", !dbg !3")),
        (f"select <8 x i1> %a, <8 x i1> %b, <8 x i1> {FALSE}", Join("and", 8, "%a", "%b", True, "")),
        (f"select <8 x i1> %a, <8 x i1> {TRUE}, <8 x i1> %b", Join("or", 8, "%a", "%b", True, "")),
        ("freeze <8 x i1> %a", Frozen("%a", "")),
        (
            "shufflevector <8 x i1> %a, <8 x i1> poison, <2 x i32> <i32 4, i32 5>",
            Part("%a", Lanes(4, 2)),
        ),
        ("shufflevector <8 x i1> %a, <8 x i1> poison, <2 x i32> <i32 4, i32 6>", None),
        ("shufflevector <8 x i1> %a, <8 x i1> poison, <2 x i32> <i32 4, i32 poison>", None),
        ("select <8 x i1> %a, <8 x i1> %b, <8 x i1> %c", None),
        ("select <8 x i1> %a, <8 x i32> %b, <8 x i32> zeroinitializer", None),
        ("icmp eq i32 %a, %b", None),
        ("and <8 x i8> %a, %b", None),
    ],
)
def test_lines_are_read(line: str, read: object) -> None:
    assert mask_line(line) == read


@pytest.mark.parametrize("join", ["and", "or", "and then", "or else"])
def test_what_is_written_is_read(join: str) -> None:
    read = Join(join.split()[0], 4, "%a", "%b", " " in join, "")
    assert mask_line(read.of(4, "%a", "%b")) == read


def test_lanes_of_lanes() -> None:
    made: list[str] = []

    def new(line: str) -> str:
        made.append(line)
        return "%new"

    lanes = Lanes(4, 4).within(Lanes(1, 2))
    assert lanes == Lanes(5, 2)
    assert (
        lanes.of(8, "i32", "<i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>", new)
        == "<i32 5, i32 6>"
    )
    assert lanes.of(8, "i32", "zeroinitializer", new) == "zeroinitializer"
    assert Lanes(0, 8).of(8, "i32", "%a", new) == "%a"
    assert not made
    assert lanes.of(8, "i32", "%a", new) == "%new"
    assert made == ["shufflevector <8 x i32> %a, <8 x i32> poison, <2 x i32> <i32 5, i32 6>"]
