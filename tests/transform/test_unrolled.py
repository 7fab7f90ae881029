"""Loops that a compiler has unrolled become one loop again; programs of nvcc are in ``tests/ptx/lift``."""

from collections.abc import Callable

import numpy as np
import pytest

from weft.interp import Memory, Program, run_function
from weft.ir import Builder, Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.unrolled.rolling import copied
from weft.transform.loops.unrolled.undo import undo_unrolling

# nvcc: for (i = 0; i < n; i++) s = s * 3 + x[i], twice at a time, and what is left behind that.
UNROLLED = """
define void @f(i32 %n, ptr %x, ptr %y) "weft.small.arrays" "weft.kernel" {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %before, label %after
before:
  %less = add nsw i32 %n, -1
  %rest = and i32 %n, 1
  %few = icmp ult i32 %less, 1
  br i1 %few, label %middle, label %ahead
ahead:
  %whole = sub i32 %n, %rest
  br label %twice
twice:
  %s = phi i32 [ 0, %ahead ], [ %s.next, %twice ]
  %i = phi i32 [ 0, %ahead ], [ %i.next, %twice ]
  %left = phi i32 [ %whole, %ahead ], [ %left.next, %twice ]
  %i.wide = sext i32 %i to i64
  %i.bytes = shl i64 %i.wide, 2
  %i.at = getelementptr i8, ptr %x, i64 %i.bytes
  %a = load i32, ptr %i.at, align 4
  %a.times = mul i32 %s, 3
  %a.sum = add i32 %a.times, %a
  %j = add i32 %i, 1
  %j.wide = sext i32 %j to i64
  %j.bytes = shl i64 %j.wide, 2
  %j.at = getelementptr i8, ptr %x, i64 %j.bytes
  %b = load i32, ptr %j.at, align 4
  %b.times = mul i32 %a.sum, 3
  %s.next = add i32 %b.times, %b
  %i.next = add i32 %i, 2
  %left.next = add i32 %left, -2
  %done = icmp eq i32 %left.next, 0
  br i1 %done, label %twice.exit, label %twice
twice.exit:
  %s.end = phi i32 [ %s.next, %twice ]
  %i.end = phi i32 [ %i.next, %twice ]
  br label %middle
middle:
  %s.middle = phi i32 [ 0, %before ], [ %s.end, %twice.exit ]
  %i.middle = phi i32 [ 0, %before ], [ %i.end, %twice.exit ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %after, label %last
last:
  %l.wide = sext i32 %i.middle to i64
  %l.bytes = shl nsw i64 %l.wide, 2
  %l.at = getelementptr inbounds i8, ptr %x, i64 %l.bytes
  %c = load i32, ptr %l.at, align 8, !range !0
  %c.times = mul nsw i32 %s.middle, 3
  %c.sum = add nsw i32 %c.times, %c
  br label %after
after:
  %r = phi i32 [ 0, %entry ], [ %s.middle, %middle ], [ %c.sum, %last ]
  store i32 %r, ptr %y
  ret void
}
!0 = !{i32 0, i32 9}
"""


def rolled(text: str = UNROLLED) -> Function | None:
    function = read_module(text).functions["f"]
    if not undo_unrolling(function):
        return None
    verify(function)
    return function


def test_one_loop_promises_nothing_that_the_rest_alone_did(golden: Callable[[str, str], None]) -> None:
    """The rest begins at a multiple of two elements, and it may know more of its number than others do of theirs."""
    function = rolled()
    assert function is not None
    (load,) = (i for i in function.instructions() if i.op == "load")
    assert load.alignment == 4 and "range" not in load.metadata
    golden(write_function(function), "unrolled.ll")


def test_a_loop_that_is_not_all_with_its_rest_is_shorter_by_itself() -> None:
    """With two rounds only the rest runs, which does one of them: the loops are no one loop."""
    function = rolled(UNROLLED.replace("%few = icmp ult i32 %less, 1", "%few = icmp ult i32 %less, 2"))
    assert function is not None
    loops = [b for b in function.blocks if b in b.successors]
    assert [sum(i.op == "load" for i in b.instructions) for b in loops] == [1]
    assert sum(i.op == "load" for i in function.instructions()) == 2


# Each round is two: s = s * 3 + x[2i], y = the number before, from ten on down by two.
WHOLE = """
define i32 @f(ptr %x, i32 %first, i32 %last) "weft.small.arrays" "weft.kernel" {
entry:
  br label %loop
loop:
  %s = phi i32 [ 0, %entry ], [ %s.two, %loop ]
  %old = phi i32 [ 7, %entry ], [ %s.one, %loop ]
  %left = phi i32 [ 10, %entry ], [ %left.two, %loop ]
  %at = phi i64 [ 0, %entry ], [ %at.two, %loop ]
  %p = getelementptr i8, ptr %x, i64 %at
  %a = load i32, ptr %p, align 8
  %s.more = mul i32 %s, 3
  %s.old = add i32 %s.more, %old
  %s.one = add i32 %s.old, %a
  %q = getelementptr i8, ptr %p, i64 8
  %b = load i32, ptr %q, align 4
  %t.more = mul i32 %s.one, 3
  %t.old = add i32 %t.more, %s
  %s.two = add i32 %t.old, %b
  %left.two = add i32 %left, -2
  %at.two = add i64 %at, 16
  %goes = icmp ne i32 %left.two, 2
  br i1 %goes, label %loop, label %exit
exit:
  %r = phi i32 [ %s.two, %loop ]
  ret i32 %r
}
"""


def outcome(text: str | Function) -> object:
    """What the function returns, run by the interpreter."""
    module = read_module(text) if isinstance(text, str) else text.module
    assert module is not None
    memory = Memory()
    place = memory.map_array(np.arange(3, 43, dtype=np.int32))
    found = run_function(Program(module), "f", [place, 0, 0], 1, memory=memory, step_limit=1000)
    assert found is not None
    return found.data.tolist()


def test_a_loop_with_no_rest_is_a_shorter_loop() -> None:
    function = rolled(WHOLE)
    assert function is not None
    (load,) = (i for i in function.instructions() if i.op == "load")
    assert load.alignment == 4
    assert outcome(function) == outcome(WHOLE)


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        # It does not end, and a shorter one would.
        ("%left.two, 2", "%left.two, 3"),
        ("%t.more = mul i32 %s.one, 3", "%t.more = mul i32 %s.one, 5"),
        ("i64 8", "i64 4"),
        ("%t.old = add i32 %t.more, %s\n", "%t.old = add i32 %t.more, %old\n"),
        ("[ %s.two, %loop ]\n  ret", "[ %s, %loop ]\n  ret"),
        ("[ %s.two, %loop ]\n  ret", "[ %t.old, %loop ]\n  ret"),
    ],
)
def test_rounds_that_are_not_alike_stay(said: str, instead: str) -> None:
    assert said in WHOLE
    function = rolled(WHOLE.replace(said, instead))
    if function is not None:
        # What is handed on is that of another place in the last round, too.
        assert "%t.old, %loop" in instead
        assert outcome(function) == outcome(WHOLE.replace(said, instead))


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("%b.times = mul i32 %a.sum, 3", "%b.times = mul i32 %a.sum, 5"),
        ("%j = add i32 %i, 1", "%j = add i32 %i, 2"),
        ("%rest = and i32 %n, 1", "%rest = and i32 %n, 3"),
        ("%a.sum = add i32 %a.times, %a\n", "%a.sum = add i32 %a.times, %a\n  store i32 %a, ptr %y\n"),
        ("%b = load i32, ptr %j.at, align 4", "%b = load volatile i32, ptr %j.at, align 4"),
        ("%s.next = add i32 %b.times, %b\n", "%s.next = add i32 %b.times, %b\n  call void @weft.barrier()\n"),
    ],
)
def test_loops_that_do_something_else_stay(said: str, instead: str) -> None:
    assert said in UNROLLED
    declared = UNROLLED.replace(said, instead) + (
        "declare void @weft.barrier()\n" if "barrier" in instead else ""
    )
    assert rolled(declared) is None


def test_a_copy_of_an_or_that_is_a_sum_leaves_no_other_user() -> None:
    """What it was made of would stay in use by an instruction in no block, and could not go."""
    body = "%twice = shl i32 %x, 1\n  %more = or disjoint i32 %twice, 1\n  ret i32 %more"
    text = f"define i32 @f(i32 %x) {{\nentry:\n  {body}\n}}"
    entry = read_module(text).functions["f"].entry
    twice, more, end = entry.instructions
    copy = copied(more, Builder(before=end), {})
    assert copy.op == "add" and list(twice.instruction_users()) == [more, copy]
