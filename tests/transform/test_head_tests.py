"""Loops that are tested at their end become loops that are tested at their head."""

from collections.abc import Callable

import numpy as np
import pytest

from transform.chain import returned
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.head_tests import test_at_head as turned

COUNTED = """
define void @f(i32 %n, ptr %p) {
entry:
  %some = icmp {GUARD}
  br i1 %some, label %enter, label %exit
enter:
  br label %loop
loop:
  %i = phi i32 [ {FIRST}, %enter ], [ %next, %loop ]
  store i32 %i, ptr %p
  %next = add i32 %i, 1
  %more = icmp {TEST}
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""


def counted(guard: str, test: str = "slt i32 %next, %n", first: str = "0") -> Function:
    text = COUNTED.replace("{GUARD}", guard).replace("{TEST}", test).replace("{FIRST}", first)
    return read_module(text).functions["f"]


def has_guard(function: Function) -> bool:
    return len(function.entry.successors) == 2


def test_the_head_asks_what_the_latch_asked(golden: Callable[[str, str], None]) -> None:
    function = counted("sgt i32 %n, 0")
    assert [head.name for head in turned(function)] == ["loop"]
    verify(function)
    golden(write_function(function), "head_test.ll")


@pytest.mark.parametrize("guard", ["sgt i32 %n, 0", "sge i32 %n, 1", "slt i32 0, %n", "sle i32 1, %n"])
def test_a_guard_that_asks_the_same_goes(guard: str) -> None:
    function = counted(guard)
    assert turned(function) and not has_guard(function)


def test_a_guard_that_asks_more_stays() -> None:
    function = counted("sgt i32 %n, 1")
    assert turned(function) and has_guard(function)


@pytest.mark.parametrize(
    ("guard", "test"),
    [
        ("slt i32 0, -2147483648", "sle i32 %next, 2147483647"),
        ("sgt i32 0, 2147483647", "sge i32 %next, -2147483648"),
    ],
)
def test_what_never_holds_is_not_what_always_holds(guard: str, test: str) -> None:
    """Without equality the comparison with an end of the type would be one with the other end."""
    function = counted(guard, test)
    assert turned(function) and has_guard(function)


STEPS = """
define i32 @f(i32 %n, i32 %s) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %enter, label %exit
enter:
  %half = shl nsw i32 %s, 2
  br label %loop
loop:
  %i = phi i32 [ 0, %enter ], [ %next, %loop ]
  %k = phi i32 [ 5, %enter ], [ %k.next, %loop ]
  %sum = phi i32 [ 0, %enter ], [ %sum.next, %loop ]
  %sum.next = xor i32 %sum, %k
  %step = mul nsw i32 %half, 3
  %k.next = add i32 %k, %step
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  %r = phi i32 [ 0, %entry ], [ %sum.next, %loop ]
  ret i32 %r
}
"""


def test_steps_that_the_loop_computes_are_computed_before_it(golden: Callable[[str, str], None]) -> None:
    """They are used in the first round, too: a step that wraps around is not poison there."""
    function = read_module(STEPS).functions["f"]
    assert turned(function)
    verify(function)
    golden(write_function(function), "shared_rounds.ll")
    run = returned("f", [np.array([0, 1, 2, 5, 1, 3]), np.array([7, 1 << 30, 7, -3, 1 << 29, 1 << 20])], 6)
    assert run(function.module, "FR") == run(read_module(STEPS), "FR")


@pytest.mark.parametrize("first", [0, 1, -3])
def test_places_grow_by_the_round_of_a_counter_that_begins_anywhere(first: int) -> None:
    """A counter that becomes wide counts the rounds, less what it is at first."""
    text = STEPS.replace("[ 0, %enter ], [ %next", f"[ {first}, %enter ], [ %next")
    text = text.replace("sgt i32 %n, 0", f"sgt i32 %n, {first}")
    function = read_module(text).functions["f"]
    assert turned(function)
    verify(function)
    run = returned("f", [np.array([0, 1, 2, 5, 1, 3]), np.array([7, 9, -7, -3, 1 << 19, 1 << 20])], 6)
    assert run(function.module, "FR") == run(read_module(text), "FR")


@pytest.mark.parametrize(
    ("first", "asked", "bound"),
    [
        ("0", "ult i32 %i, 8", 9),
        ("20", "ult i32 %i, 8", None),
        ("0", "ult i32 %next, 8", 8),
        ("0", "ule i32 %i, 8", 9),
        # It wraps around, or has a sign.
        ("0", "ult i32 %i, 2147483647", None),
        ("-4", "ult i32 %i, 8", None),
    ],
)
def test_what_is_asked_of_the_number_before_is_asked_of_the_next_with_a_sign(
    first: str, asked: str, bound: int | None
) -> None:
    text = COUNTED.replace("{GUARD}", "eq i32 %n, %n").replace("{FIRST}", first).replace("{TEST}", asked)
    heads = turned(read_module(text).functions["f"])
    tests = [i for head in heads for i in head.instructions if i.op == "icmp"]
    assert [(i.predicate[0], i.operands[1].value) for i in tests] == ([] if bound is None else [("s", bound)])


@pytest.mark.parametrize(
    ("guard", "first", "step", "asked"),
    [
        ("sgt i32 %n, 0", "0", 1, "slt"),
        ("slt i32 %n, 9", "9", -1, "sgt"),
        # It may go past the bound.
        ("sgt i32 %n, 0", "0", 2, "ne"),
        # It comes to the bound by wrapping around.
        ("slt i32 %n, 9", "9", 1, "ne"),
    ],
)
def test_a_loop_until_a_bound_is_met_asks_for_the_side(guard: str, first: str, step: int, asked: str) -> None:
    text = COUNTED.replace("{GUARD}", guard).replace("{FIRST}", first).replace("{TEST}", "ne i32 %next, %n")
    function = read_module(text.replace("add i32 %i, 1", f"add i32 %i, {step}")).functions["f"]
    (head,) = turned(function)
    assert [i.predicate for i in head.instructions if i.op == "icmp"] == [asked]
    assert has_guard(function) == (asked == "ne")


SEARCH = """
define i32 @f(i32 %n, i32 %x) {
entry:
  %some = icmp {GUARD}
  br i1 %some, label %enter, label %exit
enter:
  %last = add i32 %n, -1
  br label %loop
loop:
  %low = phi i32 [ 0, %enter ], [ %low.next, %loop ]
  %high = phi i32 [ %last, %enter ], [ %high.next, %loop ]
  %sum = add i32 %low, %high
  %middle = lshr i32 %sum, 1
  %square = mul i32 %middle, %middle
  %above = icmp ugt i32 %square, %x
  %low.next = select i1 %above, i32 %low, i32 %middle
  %high.next = select i1 %above, i32 %middle, i32 %high
  {TEST}
  br i1 %more, label %loop, label %exit
exit:
  %r = phi i32 [ -1, %entry ], [ %low.next, %loop ]
  ret i32 %r
}
"""


@pytest.mark.parametrize(
    ("guard", "test", "is_turned"),
    [
        ("sgt i32 %n, 2", "%d = sub i32 %high.next, %low.next\n  %more = icmp sgt i32 %d, 1", True),
        ("sgt i32 %n, 2", "%d = sub i32 %low.next, %high.next\n  %more = icmp slt i32 %d, -1", True),
        ("sgt i32 %n, 2", "%d = sub i32 %high.next, %low.next\n  %more = icmp sge i32 %d, 2", True),
        ("sgt i32 %n, 1", "%d = sub i32 %high.next, %low.next\n  %more = icmp sgt i32 %d, 1", False),
        ("ne i32 %n, 2", "%d = sub i32 %high.next, %low.next\n  %more = icmp sgt i32 %d, 1", False),
        # What is asked of what the round began with is not asked of the next one.
        ("sgt i32 %n, 2", "%d = sub i32 %high, %low\n  %more = icmp sgt i32 %d, 9", False),
    ],
)
def test_a_search_that_has_something_to_halve_asks_at_its_head(
    guard: str, test: str, is_turned: bool
) -> None:
    text = SEARCH.replace("{GUARD}", guard).replace("{TEST}", test)
    function = read_module(text).functions["f"]
    assert bool(turned(function)) == is_turned
    verify(function)
    run = returned("f", [np.array([3, 4, 9, 90, 91]), np.array([0, 3, 50, 6000, 81])], 5)
    assert run(function.module, "FR") == run(read_module(text), "FR")


def test_two_numbers_that_are_in_order_are_compared_at_the_head() -> None:
    text = SEARCH.replace("{GUARD}", "sgt i32 %n, 2").replace(
        "{TEST}", "%more = icmp slt i32 %low.next, %high.next"
    )
    text = text.replace("i32 %middle, i32 %high\n", "i32 %middle, i32 %high.less\n")
    text = text.replace("  %above", "  %high.less = add i32 %high, -1\n  %above", 1)
    function = read_module(text).functions["f"]
    (head,) = turned(function)
    verify(function)
    assert [i.predicate for i in head.instructions if i.op == "icmp"] == ["slt"]
    run = returned("f", [np.array([3, 4, 9, 90, 91]), np.array([0, 3, 50, 6000, 81])], 5)
    assert run(function.module, "FR") == run(read_module(text), "FR")


APART = """
define i32 @f(i32 %n) {
entry:
  br label %loop
loop:
  %a = phi i32 [ 2, %entry ], [ %a.next, %loop ]
  %b = phi i32 [ -3, %entry ], [ %b.next, %loop ]
  %a.next = add i32 %a, 9
  %b.next = add i32 %b, 4
  %d = sub nuw nsw i32 %a.next, %b.next
  %more = icmp slt i32 %d, 50
  br i1 %more, label %loop, label %exit
exit:
  %r = phi i32 [ %a.next, %loop ]
  ret i32 %r
}
"""


def test_numbers_before_the_first_round_need_not_be_in_order_without_signs() -> None:
    function = read_module(APART).functions["f"]
    assert turned(function)
    verify(function)
    run = returned("f", [np.array([1])], 1)
    assert run(function.module, "FR") == run(read_module(APART), "FR")
