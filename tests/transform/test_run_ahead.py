"""Rows of a triangular nest begin together, up to the first of them (`run_ahead`); what they do stays the same."""

import numpy as np
import pytest

from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.close_loops import close_loops, is_loop_closed
from weft.transform.loops.run_ahead import Triangle, run_ahead, triangle

# for i: for j < i: (w = a[i, j]; for k < j: w -= a[i, k] * a[k, j]; a[i, j] = w / 2)
NEST = """
define void @rows(ptr %a, i32 %n) {
entry:
  br label %row
row:
  %i = phi i32 [ FIRST, %entry ], [ %i.next, %row.end ]
  %on = icmp slt i32 %i, %n
  br i1 %on, label %body, label %exit
body:
  %begin = mul nsw i32 %i, 32
  br label %column
column:
  %j = phi i32 [ 0, %body ], [ %j.next, %column.end ]
  %below = icmp slt i32 %j, BOUND
  br i1 %below, label %element, label %row.end
element:
  %at = add nsw i32 %begin, %j
  %wide = sext i32 %at to i64
  %place = getelementptr double, ptr %a, i64 %wide
  %w = load double, ptr %place
  br label %sum
sum:
  %k = phi i32 [ 0, %element ], [ %k.next, %add ]
  %left = phi double [ %w, %element ], [ %less, %add ]
  %more = icmp slt i32 %k, %j
  br i1 %more, label %add, label %column.end
add:
  %across = add nsw i32 %begin, %k
  %across.wide = sext i32 %across to i64
  %x.place = getelementptr double, ptr %a, i64 %across.wide
  %x = load double, ptr %x.place
  %down = mul nsw i32 %k, 32
  %down.at = add nsw i32 %down, %j
  %down.wide = sext i32 %down.at to i64
  %y.place = getelementptr double, ptr %a, i64 %down.wide
  %y = load double, ptr %y.place
  %product = fmul double %x, %y
  %less = fsub double %left, %product
  %k.next = add nsw i32 %k, 1
  br label %sum
column.end:
  %half = fmul double %left, 5.000000e-01
  store double %half, ptr %place
  %j.next = add nsw i32 %j, 1
  br label %column
row.end:
  %i.next = add nsw i32 %i, 1
  br label %row
exit:
  ret void
}
"""


def nest_of(text: str) -> tuple[Function, Triangle | None]:
    function = read_module(text).functions["rows"]
    close_loops(function)
    view = cfg_of(function)
    (outer,) = (loop for loop in loop_forest(view.cfg).loops if loop.parent is None)
    return function, triangle(view, outer)


def ahead(first: int, count: int) -> Function:
    function, found = nest_of(NEST.replace("FIRST", str(first)).replace("BOUND", "%i"))
    assert found is not None
    run_ahead(function, found, count)
    close_loops(function)
    verify(function)
    assert is_loop_closed(function)
    return function


def ran(function: Function, n: int) -> np.ndarray:
    a = np.random.default_rng(n + 1).integers(1, 9, 32 * max(n, 1)) / 8
    memory = Memory()
    assert function.module is not None
    run_function(function.module, "rows", [memory.map_array(a), n], 1, memory=memory)
    return a


def test_the_program(golden) -> None:
    golden(write_function(ahead(0, 2)), "run_ahead.ll")


@pytest.mark.spread
@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 3, 4, 7, 8, 10])
def test_rows_do_what_they_did(first: int, count: int, n: int) -> None:
    function, _ = nest_of(NEST.replace("FIRST", str(first)).replace("BOUND", "%i"))
    np.testing.assert_array_equal(ran(ahead(first, count), n), ran(function, n))


@pytest.mark.parametrize(
    ("first", "bound"),
    [("0", "%n"), ("-1", "%i"), ("0", "%begin")],
    ids=["a rectangle", "from -1", "not to the row"],
)
def test_other_nests_stay(first: str, bound: str) -> None:
    assert nest_of(NEST.replace("FIRST", first).replace("BOUND", bound))[1] is None
