"""Counters of loops that access memory in each iteration get ``nsw``, and no others (`sign_counters`)."""

import pytest

from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.signed_counters import sign_counters

LOOP = """
declare void @stops()
define void @f(ptr %in, ptr %out, i32 %start, i32 %n, i32 range(i32 0, -2147483648) %step, i32 %any)
    "weft.small.arrays" {
entry:
  br label %head
head:
  %i = phi i32 [ %start, %entry ], [ %next, %latch ]
  %goes.on = icmp slt i32 %i, %n
  br i1 %goes.on, label %body, label %exit
body:
  %k = sext i32 %i to i64
  %p = getelementptr i8, ptr %in, i64 %k
  %v = load i8, ptr %p
  %taken = icmp eq i8 %v, 3
  br i1 %taken, label %then, label %latch
then:
  store i8 1, ptr %out
  br label %latch
latch:
  %next = add i32 %i, %step
  br label %head
exit:
  ret void
}
"""


@pytest.mark.parametrize(
    "edit",
    [
        ("", ""),
        ("slt i32 %i, %n", "sgt i32 %n, %i"),
        ("slt i32 %i, %n", "sle i32 %i, %n"),
        ("add i32 %i, %step", "add i32 %step, %i"),
        ("%i, %step", "%i, 64"),
        # A store before the access does not end the thread.
        ("  %k = sext", "  store i8 0, ptr %out\n  %k = sext"),
    ],
)
def test_counters_that_are_accessed_do_not_wrap_around(edit: tuple[str, str]) -> None:
    module = read_module(LOOP.replace(*edit))
    assert sign_counters(module.functions["f"]) == 1
    verify(module)
    assert "add nsw i32" in write_module(module)


AT_END = """
define void @f(ptr %in, i32 %start, i32 %n, i32 range(i32 0, -2147483648) %step, i1 %c) "weft.small.arrays" {
entry:
  %enters = icmp slt i32 %start, %n
  br i1 %enters, label %head, label %exit
head:
  %i = phi i32 [ %start, %entry ], [ %next, %latch ]
  %k = sext i32 %i to i64
  %p = getelementptr i32, ptr %in, i64 %k
  store i32 5, ptr %p
  br label %latch
latch:
  %next = add i32 %i, %step
  %again = icmp sgt i32 %n, %next
  br i1 %again, label %head, label %exit
exit:
  ret void
}
"""


def test_loops_may_be_tested_at_their_end() -> None:
    module = read_module(AT_END)
    assert sign_counters(module.functions["f"]) == 1
    verify(module)
    assert "add nsw i32" in write_module(module)


@pytest.mark.parametrize(
    "edit",
    [
        # The first iteration may be all there is.
        ("br i1 %enters, label %head, label %exit", "br label %head"),
        ("icmp slt i32 %start, %n", "icmp slt i32 %start, 7"),
        # The header is left before the access.
        ("  %k = sext", "  br i1 %c, label %body, label %exit\nbody:\n  %k = sext"),
    ],
)
def test_others_that_are_tested_at_their_end_may_wrap_around(edit: tuple[str, str]) -> None:
    module = read_module(AT_END.replace(*edit))
    assert sign_counters(module.functions["f"]) == 0
    verify(module)


@pytest.mark.parametrize(
    "edit",
    [
        # What it has come to is used where the loop is left.
        ("  %taken = icmp", "  %next = add i32 %i, %step\n  store i32 %next, ptr %out\n  %taken = icmp"),
        # It may come down to a smaller number, and so leave the loop behind all that is accessed.
        ("%i, %step", "%i, %any"),
        ("%i, %step", "%i, -1"),
        # Below a number that changes it may be no more.
        ("%goes.on = icmp slt i32 %i, %n", "%m = load i32, ptr %out\n  %goes.on = icmp slt i32 %i, %m"),
        ("slt i32 %i, %n", "sgt i32 %i, %n"),
        ("slt i32 %i, %n", "ult i32 %i, %n"),
        # Not each iteration accesses it.
        ("  %v = load i8, ptr %p\n  %taken = icmp eq i8 %v, 3\n", "  %taken = icmp eq i32 %any, 3\n"),
        # The thread may end before it does.
        ("  %k = sext", "  call void @stops()\n  %k = sext"),
        # An array of 4 GiB has such places.
        (' "weft.small.arrays"', ""),
        # Another number is accessed.
        ("sext i32 %i to", "sext i32 %any to"),
    ],
)
def test_others_may(edit: tuple[str, str]) -> None:
    text = LOOP.replace(*edit)
    if text.count("%next = ") > 1:
        text = text.replace("latch:\n  %next = add i32 %i, %step\n", "latch:\n")
    module = read_module(text)
    assert sign_counters(module.functions["f"]) == 0
    verify(module)
