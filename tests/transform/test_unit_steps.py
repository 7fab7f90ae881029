"""A loop that counts by a number known at run time has a version for 1; both do what the loop did."""

import numpy as np
import pytest

from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.close_loops import close_loops, is_loop_closed
from weft.transform.loops.unit_steps import count_by_one

# Each iteration notes its number, and what the step was.
#
#   entry ─ loop ─ exit        entry ─ loop.chosen ─ loop ─── left ─── exit
#           │  └ body             │                  │  └ body          │
#           └────┘                └─── loop.other ─ loop' ── left' ─────┘
LOOP = """
define i64 @count(ptr %y, i32 %n, i32 %s) {
entry:
  %wide = sext i32 %s to i64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %body ]
  %t = phi i64 [ 0, %entry ], [ %t.next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %exit
body:
  %at = sext i32 %i to i64
  %place = getelementptr i64, ptr %y, i64 %at
  %note = add i64 %t, %wide
  store i64 %note, ptr %place
  %t.next = add i64 %t, 1
  %i.next = add nsw i32 %i, %s
  br label %loop
exit:
  ret i64 %t
}
"""


def made(text: str = LOOP) -> Function:
    function = read_module(text).functions["count"]
    close_loops(function)
    return function


def ran(function: Function, n: int, step: int) -> tuple[list[int], int]:
    y = np.full(12, -1, np.int64)
    memory = Memory()
    assert function.module is not None
    result = run_function(function.module, "count", [memory.map_array(y), n, step], 1, memory=memory)
    return y.tolist(), int(result.value.data[0])


def test_both_versions_do_what_the_loop_does() -> None:
    function = made()
    versions = count_by_one(function)
    verify(function)
    assert is_loop_closed(function)
    view = cfg_of(function)
    headers = {view.blocks[loop.header] for loop in loop_forest(view.cfg).loops}
    assert headers == {*versions, *versions.values()} and len(headers) == 2
    (header,) = versions
    assert not any(o is function.args[2] for i in header.successors[0].instructions for o in i.operands)
    for n in (0, 1, 2, 9):
        for step in (1, 2, 3, 12):
            assert ran(function, n, step) == ran(made(), n, step)


@pytest.mark.parametrize("step", ["3", "%own"])
def test_steps_that_are_known_or_change_stay(step: str) -> None:
    text = LOOP.replace(
        "%i.next = add nsw i32 %i, %s", f"%own = trunc i64 %t to i32\n  %i.next = add nsw i32 %i, {step}"
    )
    assert not count_by_one(made(text))
