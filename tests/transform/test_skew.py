"""A loop over time is done in waves: what it does in each row is done in the order that the waves have."""

import numpy as np
import pytest

from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.skew import TimeNest, skew, skewable

# Each row notes the number of the step and of the part, and how many were noted before it.
#
#   entry ─ time ─ exit            entry ─ strips ───── exit
#            │  └ rows ─ middle              │   └ waves ─ next
#            │     │ └row  └ more            │       └ time ─ next
#            │     └──┘       │ └ again      │          └ row?  row?
#            └────────────────┴───┘
NEST = """
define void @steps(ptr %y, ptr %x, i32 %steps, i32 %n, i32 %m) {{
entry:
  br label %time
time:
  %t = phi i32 [ {first}, %entry ], [ %t.next, %latch ]
  %on = icmp {test} i32 %t, %steps
  br i1 %on, label %begin, label %exit
begin:
  br label %rows
rows:
  %i = phi i32 [ 1, %begin ], [ %i.next, %rows.latch ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %row, label %middle
row:
  br label %inner
inner:
  %k = phi i32 [ 0, %row ], [ %k.next, %inner.body ]
  %in = icmp slt i32 %k, 2
  br i1 %in, label %inner.body, label %rows.latch
inner.body:
  %a.code = mul i32 %t, 1000
  %a.row = add i32 %a.code, %i
  call void @note(ptr %y, ptr %x, i32 %a.row)
  %k.next = add nsw i32 %k, 1
  br label %inner
rows.latch:
  %i.next = add nsw i32 %i, 1
  br label %rows
middle:
  br label %again
again:
  %j = phi i32 [ 2, %middle ], [ %j.next, %again.latch ]
  %left = icmp sle i32 %j, %m
  br i1 %left, label %again.row, label %latch
again.row:
  br label %other
other:
  %l = phi i32 [ 0, %again.row ], [ %l.next, %other.body ]
  %inside = icmp slt i32 %l, 1
  br i1 %inside, label %other.body, label %again.latch
other.body:
  %b.code = mul i32 %t, 1000
  %b.row = add i32 %b.code, %j
  %b = add i32 %b.row, 500
  call void @note(ptr %y, ptr %x, i32 %b)
  %l.next = add nsw i32 %l, 1
  br label %other
again.latch:
  %j.next = add nsw i32 %j, 1
  br label %again
latch:
  %t.next = add nsw i32 %t, 1
  br label %time
exit:
  ret void
}}

define void @note(ptr %y, ptr %x, i32 %what) {{
  %count = load i32, ptr %x
  %wide = sext i32 %count to i64
  %p = getelementptr i32, ptr %y, i64 %wide
  store i32 %what, ptr %p
  %one.more = add i32 %count, 1
  store i32 %one.more, ptr %x
  ret void
}}
"""


def nest_of(test: str = "slt", first: int = 0) -> tuple[Function, TimeNest]:
    function = read_module(NEST.format(test=test, first=first)).functions["steps"]
    view = cfg_of(function)
    (outer,) = (loop for loop in loop_forest(view.cfg).loops if loop.parent is None)
    nest = skewable(view, outer)
    assert nest is not None
    return function, nest


def noted(function: Function, steps: int, n: int, m: int) -> list[int]:
    memory = Memory()
    y, x = np.zeros(4000, np.int32), np.zeros(1, np.int32)
    assert function.module is not None
    arguments = [memory.map_array(y), memory.map_array(x), steps, n, m]
    run_function(function.module, "steps", arguments, 1, memory=memory)
    return [int(v) for v in y[: x[0]]]


def in_waves(steps: range, n: int, m: int, length: int, slope: int, shift: int) -> list[int]:
    """What is noted, by the definition."""
    found: list[int] = []
    for start in range(steps.start, steps.stop, length):
        strip = range(start, min(start + length, steps.stop))
        done = [
            (i + s + slope * (t - start), t, part, i)
            for t in strip
            for part, s, rows in ((0, 0, range(1, n)), (1, shift, range(2, m + 1)))
            for i in rows
        ]
        for _, t, part, i in sorted(done):
            found += [t * 1000 + part * 500 + i] * (1 if part else 2)
    return found


@pytest.mark.spread
@pytest.mark.parametrize("length", [1, 2, 3, 16])
@pytest.mark.parametrize(("slope", "shift"), [(1, 0), (1, 1), (2, 1), (3, 2)])
def test_rows_are_done_in_waves(length: int, slope: int, shift: int) -> None:
    for test, first in (("slt", 0), ("sle", 1)):
        function, nest = nest_of(test, first)
        skew(function, nest, length, slope, [0, shift])
        assert function.module is not None
        verify(function.module)
        for steps, n, m in ((0, 4, 4), (1, 0, 0), (1, 1, 2), (4, 5, 3), (5, 3, 6), (7, 2, 0), (-2, 4, 4)):
            times = range(first, steps + (test == "sle"))
            assert noted(function, steps, n, m) == in_waves(times, n, m, length, slope, shift)
