"""Counters of 32 bits that are places of stack objects whenever they change."""

import pytest

from analysis.analysed import Analysed
from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.ir.cfg_view import cfg_of

STACK = """
define void @f(ptr %p, i32 %start, i1 %w) {
entry:
  %s = alloca [32 x i32], align 4
  br label %head
head:
  %top = phi i32 [ 0, %entry ], [ %next, %latch ]
  %far = sext i32 %top to i64
  %place = getelementptr i1, ptr %p, i64 %far
  %v = load i1, ptr %place
  br i1 %v, label %push, label %test
push:
  %wide = sext i32 %top to i64
  %behind = icmp slt i32 %top, 0
  %end = add nsw i64 %wide, 32
  %index = select i1 %behind, i64 %end, i64 %wide
  %kept = getelementptr i32, ptr %s, i64 %index
  store i32 1, ptr %kept, align 4
  %up = add i32 %top, 1
  br label %latch
test:
  %empty = icmp eq i32 %top, 0
  br i1 %empty, label %out, label %pop
pop:
  %down = add i32 %top, -1
  %wide2 = sext i32 %down to i64
  %behind2 = icmp slt i32 %down, 0
  %end2 = add nsw i64 %wide2, 32
  %index2 = select i1 %behind2, i64 %end2, i64 %wide2
  %taken = getelementptr i32, ptr %s, i64 %index2
  %t = load i32, ptr %taken, align 4
  br label %latch
latch:
  %next = phi i32 [ %up, %push ], [ %down, %pop ]
  br label %head
out:
  ret void
}
"""
PLAIN = STACK.replace("ptr %s, i64 %index\n", "ptr %s, i64 %wide\n").replace(
    "%index2\n", "%wide2\n"
)  # as in C


def ranges_of(text: str) -> tuple[Analysed, Ranges]:
    a = Analysed(text)
    view = cfg_of(a.function)
    return a, Ranges(a.function, view, block_index(view.cfg))


@pytest.mark.parametrize("text", [STACK, PLAIN], ids=["from-the-end", "plain"])
def test_a_stack_is_between_the_ends_of_its_object(text: str) -> None:
    a, ranges = ranges_of(text)
    assert ranges.of(a.value("top")) == Interval(0, 32)
    assert ranges.of(a.value("down")) == Interval(0, 31)


def test_where_it_is_not_asked_whether_there_is_something_it_may_count_from_the_end() -> None:
    a, ranges = ranges_of(STACK.replace("eq i32 %top, 0", "eq i32 %top, 40"))
    assert ranges.of(a.value("top")) == Interval(-32, 32)


@pytest.mark.parametrize(
    "text",
    [
        STACK.replace("phi i32 [ 0, %entry ]", "phi i32 [ %start, %entry ]"),
        STACK.replace("store i32 1, ptr %kept, align 4", "%u = add i32 0, 1"),
        STACK.replace("%kept = getelementptr i32, ptr %s", "%kept = getelementptr i32, ptr %p"),
        STACK.replace("%end = add nsw i64 %wide, 32", "%end = add nsw i64 %far, %far"),
        # The object is accessed elsewhere, and not each time.
        STACK.replace("  %up = add i32 %top, 1\n  br label %latch", "  br label %later")
        .replace("test:\n", "later:\n  %up = add i32 %top, 1\n  br label %latch\ntest:\n"),
        STACK.replace("add i32 %top, 1\n", "add i32 %top, %start\n"),
    ],
    ids=["begins-anywhere", "no-access", "array", "other-index", "another-block", "any-step"],
)  # fmt: skip
def test_other_counters_wrap_around(text: str) -> None:
    a, ranges = ranges_of(text)
    assert ranges.of(a.value("top")) is None
