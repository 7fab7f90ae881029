"""Ranges of numbers that φs and stack objects hand on to each other."""

import pytest

from analysis.test_ranges import ranges_of
from weft.analysis.integers.intervals import Interval

ROWS = """
declare i64 @llvm.smax.i64(i64, i64) memory(none) nounwind willreturn speculatable
declare void @elsewhere(ptr)
define void @f(ptr %p, i64 %many, i64 range(i64 -2, 4) %reward, i1 %v) {
entry:
  %own = alloca [9 x i32], align 16
  br label %outer
outer:
  %y = phi i64 [ 0, %entry ], [ %y1, %next ]
  %best = phi i64 [ 0, %entry ], [ %behind, %next ]
  %more = icmp slt i64 %y, 4
  br i1 %more, label %before, label %out
before:
  br label %inner
inner:
  %x = phi i64 [ 0, %before ], [ %x1, %body ]
  %diagonal = phi i32 [ 7, %before ], [ %above, %body ]
  %left = phi i64 [ 0, %before ], [ %score, %body ]
  %high = phi i64 [ %best, %before ], [ %higher, %body ]
  %go = icmp slt i64 %x, 8
  br i1 %go, label %body, label %next
body:
  %wide = sext i32 %diagonal to i64
  %along = add i64 %reward, %wide
  %place = getelementptr i32, ptr %own, i64 %x
  %at = getelementptr i8, ptr %place, i64 4
  %above = load i32, ptr %at
  %up = sext i32 %above to i64
  %down = sub i64 %up, 2
  %one = call i64 @llvm.smax.i64(i64 %along, i64 %down)
  %score = call i64 @llvm.smax.i64(i64 %one, i64 %left)
  %stored = trunc i64 %score to i32
  store i32 %stored, ptr %at
  %higher = select i1 %v, i64 %score, i64 %high
  %x1 = add i64 %x, 1
  br label %inner
next:
  %behind = phi i64 [ %high, %inner ]
  %y1 = add i64 %y, 1
  br label %outer
out:
  %last = add i64 %best, 1
  ret void
}
"""


def test_what_goes_through_an_object_and_several_phis_is_bounded_by_what_all_rounds_add() -> None:
    a, ranges = ranges_of(ROWS)
    # Rows read what rows before have stored, of which there are 5 at most, as far as headers tell; the numbers begin
    # at 0 and 7. Scores, which are what is stored, are no less than 0, with which `left` begins.
    bounds = Interval(0, 7 + 5 * 3)
    for name in ("left", "best", "high", "diagonal", "above"):
        assert ranges.of(a.value(name)) == bounds, name
    assert ranges.of(a.value("last")) == Interval(1, bounds.hi + 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The element before is that of this row.
        ("%above = load i32, ptr %at", "%above = load i32, ptr %place"),
        # Behind the store, it is what has been stored in this iteration.
        ("%x1 = add", "%again = load i32, ptr %at\n  %x1 = add"),
        ("getelementptr i32, ptr %own, i64 %x", "getelementptr i32, ptr %own, i64 %y"),
        ("%x1 = add i64 %x, 1", "store i32 0, ptr %place\n  %x1 = add i64 %x, 1"),
    ],
)
def test_what_goes_around_within_a_row_is_added_in_each_iteration(old: str, new: str) -> None:
    assert old in ROWS
    text = ROWS.replace(old, new)
    if "%again" in new:
        text = text.replace("[ %above, %body ]", "[ %again, %body ]")
    a, ranges = ranges_of(text)
    # Each addition is executed 5 * 9 times at most. Followed round by round, a row's first score is 7 - 2 at least.
    assert ranges.of(a.value("above")) == Interval(5 if "%again" in new else 0, 7 + 45 * 3)


def test_a_row_that_is_walked_twice_in_an_iteration_reads_what_the_first_walk_has_stored() -> None:
    text = ROWS.replace("  %y1 = add", "  %z1 = add i64 %z, 1\n  %twice = icmp slt i64 %z1, 3\n  br i1 %twice, label "
                        "%before, label %next.row\nnext.row:\n  %y1 = add")  # fmt: skip
    text = text.replace(
        "before:\n", "enter:\n  br label %before\nbefore:\n  %z = phi i64 [ 0, %enter ], [ %z1, %next ]\n"
    )
    text = text.replace("i1 %more, label %before", "i1 %more, label %enter")
    text = text.replace("[ %y1, %next ]", "[ %y1, %next.row ]").replace(
        "[ %behind, %next ]", "[ %behind, %next.row ]"
    )
    a, ranges = ranges_of(text)
    # Three walks in each of five rows.
    assert ranges.of(a.value("above")) == Interval(0, 7 + 15 * 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i64 %y, 4", "i64 %y, %many"),
        ("add i64 %reward, %wide", "add i64 %many, %wide"),
        ("add i64 %reward, %wide", "mul i64 %reward, %wide"),
        ("add i64 %reward, %wide", "add i64 %wide, %wide"),
        ("sub i64 %up, 2", "sub i64 2, %up"),
        # Others may write to the object, or write parts of elements.
        ("ret void", "call void @elsewhere(ptr %own)\n  ret void"),
        ("%last = add", "%half = getelementptr i8, ptr %own, i64 2\n  store i32 0, ptr %half\n  %last = add"),
        ("%last = add", "store i8 1, ptr %own\n  %last = add"),
        ("%last = add", "store i64 1, ptr %own\n  %last = add"),
        ("%last = add", "%any = load i32, ptr %p\n  store i32 %any, ptr %own\n  %last = add"),
        # The address may be that of another object.
        ("%above = load i32, ptr %at", "%which = select i1 %v, ptr %at, ptr %p\n  %above = load i32, ptr %which"),
        # Too large for what is stored.
        ("range(i64 -2, 4)", "range(i64 -2, 1000000000)"),
    ],
)  # fmt: skip
def test_what_nobody_knows_is_not_bounded(old: str, new: str) -> None:
    assert old in ROWS
    a, ranges = ranges_of(ROWS.replace(old, new))
    assert ranges.of(a.value("above")) is None
    found = ranges.of(a.value("left"))
    assert found is None or found.hi >= (1 << 31) - 1 or found.lo < -(1 << 31)


def test_a_number_that_two_phis_exchange_is_bounded() -> None:
    text = """
define i64 @f(i64 range(i64 0, 10) %a) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %i1, %body ]
  %x = phi i64 [ %a, %entry ], [ %y, %body ]
  %y = phi i64 [ 100, %entry ], [ %x1, %body ]
  %go = icmp ult i32 %i, 200
  br i1 %go, label %body, label %out
body:
  %x1 = add i64 %x, 5
  %i1 = add i32 %i, 1
  br label %head
out:
  ret i64 %x
}
"""
    a, ranges = ranges_of(text)
    assert ranges.of(a.value("x")) == Interval(0, 100 + 201 * 5)
    assert ranges.of(a.value("y")) == Interval(5, 100 + 201 * 5)
