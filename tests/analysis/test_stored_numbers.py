"""What is stored to stack objects bounds what is loaded from them, also where it comes around."""

import pytest

from analysis.test_ranges import ranges_of
from weft.analysis.integers.intervals import Interval

WALK = """
declare void @elsewhere(ptr)
define void @f(i64 range(i64 0, 1073741824) %n, i32 %any, ptr %p, i1 %v) {
entry:
  %stack = alloca [32 x i32], align 16
  store i32 0, ptr %stack
  br label %head
head:
  %top = phi i64 [ 1, %entry ], [ %top1, %latch ]
  %more = icmp sgt i64 %top, 0
  br i1 %more, label %body, label %out
body:
  %below = add i64 %top, -1
  %at = getelementptr i32, ptr %stack, i64 %below
  %node = load i32, ptr %at
  %twice = shl i32 %node, 1
  %left = or disjoint i32 %twice, 1
  %wide = sext i32 %left to i64
  %inside = icmp slt i64 %wide, %n
  br i1 %inside, label %push, label %latch
push:
  %right = add i32 %twice, 2
  store i32 %left, ptr %at
  %next = getelementptr i32, ptr %stack, i64 %top
  store i32 %right, ptr %next
  %higher = add i64 %top, 1
  br label %latch
latch:
  %top1 = phi i64 [ %below, %body ], [ %higher, %push ]
  br label %head
out:
  ret void
}
"""


def test_a_node_is_never_negative_where_children_are_inside() -> None:
    a, ranges = ranges_of(WALK)
    # Children are less than n, which is less than 2^30, so that twice a node does not wrap around.
    assert ranges.of(a.value("node")) == Interval(0, (1 << 30) - 1)
    assert ranges.of(a.value("right")) == Interval(2, (1 << 30) - 1)
    assert ranges.at(a.value("twice"), a.block("push")) == Interval(0, (1 << 30) - 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Twice a node may wrap around.
        ("1073741824", "2147483648"),
        ("icmp slt i64 %wide, %n", "icmp sgt i64 %wide, %n"),
        ("add i32 %twice, 2", "sub i32 %twice, 2"),
        ("or disjoint i32 %twice, 1", "or disjoint i32 %twice, -2147483648"),
        ("store i32 0, ptr %stack", "store i32 %any, ptr %stack"),
        ("out:", "out:\n  call void @elsewhere(ptr %stack)"),
        ("out:", "out:\n  store i8 255, ptr %stack"),
        ("ptr %at\n  %twice", "ptr %p\n  %twice"),
    ],
)
def test_what_may_be_negative_is(old: str, new: str) -> None:
    assert old in WALK
    a, ranges = ranges_of(WALK.replace(old, new, 1))
    found = ranges.of(a.value("node"))
    assert found is None or found.lo < 0


def test_nothing_is_said_where_nothing_is_stored() -> None:
    a, ranges = ranges_of("""
define i32 @f() {
entry:
  %own = alloca i32, align 4
  %x = load i32, ptr %own
  %y = freeze i32 %x
  ret i32 %y
}
""")
    assert ranges.of(a.value("x")) is None and ranges.of(a.value("y")) is None


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("add nsw i64 %x, 3", Interval(-5, 6)),
        ("add i64 %x, 3", None),
        ("or disjoint i64 %x, 3", Interval(-5, 6)),
        ("or i64 %x, 3", None),
        ("sext i32 %part to i64", Interval(-2, 9)),
        ("zext i32 %part to i64", None),
    ],
)
def test_comparisons_tell_of_what_a_number_is_made_of(number: str, expected: Interval | None) -> None:
    a, ranges = ranges_of(f"""
define i64 @f(i64 %a, i32 %b) {{
entry:
  %x = add i64 %a, 1
  %part = add i32 %b, 1
  %y = {number}
  %high = icmp slt i64 %y, 10
  br i1 %high, label %below, label %out
below:
  %low = icmp sgt i64 %y, -3
  br i1 %low, label %inside, label %out
inside:
  ret i64 %x
out:
  ret i64 0
}}
""")
    made_of = a.value("part" if "part" in number else "x")
    assert ranges.at(made_of, a.block("inside")) == expected


def test_a_frozen_comparison_tells_of_nothing_that_may_have_wrapped_around() -> None:
    a, ranges = ranges_of("""
define i64 @f(i64 %a) {
entry:
  %x = add i64 %a, 1
  %y = add nsw i64 %x, 3
  %high = icmp slt i64 %y, 10
  %known = freeze i1 %high
  br i1 %known, label %inside, label %out
inside:
  ret i64 %x
out:
  ret i64 0
}
""")
    # Where the sum wraps around, either way may be gone.
    assert ranges.at(a.value("x"), a.block("inside")) is None


FROZEN = """
declare i1 @weft.any(i1) convergent nounwind willreturn memory(none)
define i64 @f(i64 %a, i64 %b) {
entry:
  %low = icmp slt i64 %a, -5
  %high = icmp sgt i64 %b, 10
  %frozen.low = freeze i1 %low
  %frozen.high = freeze i1 %high
  %some = or i1 %frozen.low, %frozen.high
  %any = call i1 @weft.any(i1 %some)
  br i1 %any, label %out, label %inside
inside:
  ret i64 0
out:
  ret i64 0
}
"""


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (FROZEN, True),
        # One that is poison would be no reason to believe the other one.
        (FROZEN.replace("or i1 %frozen.low, %frozen.high", "or i1 %low, %high"), True),
        (
            FROZEN.replace("i1 %some)", "i1 %together)").replace(
                "  %any =", "  %together = freeze i1 %some\n  %any ="
            ),
            False,
        ),
        (FROZEN.replace("icmp slt", "icmp samesign slt").replace("icmp sgt", "icmp samesign sgt"), False),
    ],
    ids=["each", "none", "together", "same sign"],
)
def test_a_frozen_comparison_tells_of_its_own_number(text: str, known: bool) -> None:
    a, ranges = ranges_of(text)
    low, high = (ranges.at(a.value(name), a.block("inside")) for name in "ab")
    assert (low is not None and low.lo == -5 and high is not None and high.hi == 10) == known
    assert ranges.at(a.value("a"), a.block("out")) is None
