"""Barriers that threads of a work-group may reach apart."""

import pytest

from weft.analysis.barrier_divergence import divergent_barriers, passes_barriers_in_step
from weft.analysis.divergence import analyze_divergence
from weft.ir.reader import read_module

_HEAD = """
declare i64 @weft.local.id(i32)
declare void @weft.barrier()
define void @f(ptr %p, i64 %n) "weft.kernel" {
entry:
  %t = call i64 @weft.local.id(i32 0)
  %first = icmp eq i64 %t, 0
  %inside = icmp slt i64 %t, %n
  %any = icmp sgt i64 %n, 5
"""


def in_step(body: str) -> bool:
    """Whether all threads of a work-group pass the same barriers and return together."""
    module = read_module(_HEAD + body + "\n}\n")
    return passes_barriers_in_step(analyze_divergence(module.functions["f"], scope="group"))


def barriers(body: str) -> list[tuple[str, str, bool]]:
    """Of each divergent barrier: its block, the block where threads part, and whether that is certain."""
    module = read_module(_HEAD + body + "\n}\n")
    found = divergent_barriers(analyze_divergence(module.functions["f"], scope="group"))
    return [(b.barrier.block.name, b.branch.name, b.certain) for b in found]


#       entry                 entry
#       /   \                   |  \
#     then   |                body  exit
#   BARRIER  |               BARRIER /
#       \   /                    |  /
#       join                   exit
#     BARRIER
THEN_BARRIER = """
  br i1 {condition}, label %then, label %join
then:
  call void @weft.barrier()
  br label %join
join:
  call void @weft.barrier()
  ret void
"""


def test_a_barrier_behind_a_divergent_branch_is_possibly_divergent() -> None:
    assert barriers(THEN_BARRIER.format(condition="%inside")) == [("then", "entry", False)]


def test_a_barrier_for_the_first_thread_only_is_certainly_divergent() -> None:
    assert barriers(THEN_BARRIER.format(condition="%first")) == [("then", "entry", True)]


def test_uniform_branches_part_nobody() -> None:
    assert barriers(THEN_BARRIER.format(condition="%any")) == []


def test_threads_that_have_returned_do_not_count() -> None:
    body = """
  br i1 %inside, label %body, label %exit
body:
  call void @weft.barrier()
  store i64 1, ptr %p
  br label %exit
exit:
  ret void
"""
    assert barriers(body) == []


def test_the_same_but_for_work_behind_the_join_is_divergent() -> None:
    body = """
  br i1 %inside, label %body, label %join
body:
  call void @weft.barrier()
  br label %join
join:
  store i64 1, ptr %p
  call void @weft.barrier()
  ret void
"""
    assert barriers(body) == [("body", "entry", False)]


#     entry
#       |
#  +--loop--+
#  |    |   |
#  |  more  |
#  | BARRIER|
#  +----+   |
#         exit
LOOP_LEFT_APART = """
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %more ]
  %go = icmp slt i64 %k, %t
  br i1 %go, label %more, label %leave
more:
  call void @weft.barrier()
  %next = add i64 %k, 1
  br label %loop
leave:
  br label %exit
exit:
  WORK
  ret void
"""


def test_threads_that_leave_a_loop_to_return_do_not_count() -> None:
    assert barriers(LOOP_LEFT_APART.replace("WORK", "")) == []
    assert barriers(LOOP_LEFT_APART.replace("WORK", "store i64 1, ptr %p")) == [("more", "loop", False)]


def test_a_barrier_for_a_part_of_those_that_stay_in_the_loop_is_divergent() -> None:
    body = """
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %latch ]
  %go = icmp slt i64 %k, %t
  br i1 %go, label %more, label %exit
more:
  br i1 %inside, label %then, label %latch
then:
  call void @weft.barrier()
  br label %latch
latch:
  %next = add i64 %k, 1
  br label %loop
exit:
  ret void
"""
    assert barriers(body) == [("then", "more", False)]


def test_a_barrier_in_a_loop_that_threads_leave_apart_is_divergent() -> None:
    assert ("more", "loop", False) in barriers(LOOP_LEFT_APART.replace("WORK", "call void @weft.barrier()"))


@pytest.mark.parametrize("guard", ["%any", "%inside"])
def test_what_not_every_thread_executes_is_never_certain(guard) -> None:
    body = f"""
  br i1 {guard}, label %deep, label %join
deep:
  br i1 %first, label %then, label %join
then:
  call void @weft.barrier()
  br label %join
join:
  call void @weft.barrier()
  ret void
"""
    assert [certain for block, _, certain in barriers(body) if block == "then"] == [False]


def test_barriers_of_other_compilers_count() -> None:
    text = (_HEAD + THEN_BARRIER.format(condition="%inside") + "\n}\n").replace(
        "weft.barrier", "llvm.nvvm.barrier0"
    )
    function = read_module(text).functions["f"]
    assert len(divergent_barriers(analyze_divergence(function, scope="group"))) == 1


@pytest.mark.parametrize(("condition", "expected"), [("%any", True), ("%inside", False)])
def test_threads_that_part_at_a_choice_of_barriers_are_not_in_step(condition: str, expected: bool) -> None:
    assert in_step(THEN_BARRIER.format(condition=condition)) is expected


def test_threads_that_return_earlier_are_not_in_step() -> None:
    body = """
  br i1 %inside, label %body, label %exit
body:
  call void @weft.barrier()
  br label %exit
exit:
  ret void
"""
    assert barriers(body) == []
    assert not in_step(body)


def test_threads_that_part_and_meet_before_the_next_barrier_are_in_step() -> None:
    body = """
  br label %head
head:
  %i = phi i64 [ %t, %entry ], [ %next, %latch ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %latch, label %join
latch:
  %next = add i64 %i, 1
  br label %head
join:
  call void @weft.barrier()
  br i1 %first, label %then, label %exit
then:
  store i64 1, ptr %p
  br label %exit
exit:
  ret void
"""
    assert in_step(body)


#   entry     head <---+       threads agree on %any each time, but some leave the loop earlier than others
#     +-------> | \    |
#               | any  |
#               |  | \ |
#               | latch|
#               |   BARRIER, back to head
#              exit
def test_a_barrier_in_some_iterations_of_a_loop_left_apart_is_not_in_step() -> None:
    body = """
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ], [ %next, %meet ]
  %more = icmp slt i64 %i, %t
  br i1 %more, label %latch, label %exit
latch:
  %next = add i64 %i, 1
  %third = icmp eq i64 %next, 3
  br i1 %third, label %meet, label %head
meet:
  call void @weft.barrier()
  br label %head
exit:
  ret void
"""
    assert not in_step(body)
