"""A loop becomes one up to an iteration, this iteration, and one behind it; iterations stay in their order."""

import numpy as np
import pytest

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.interp.lanes import Lanes
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.close_loops import close_loops, is_loop_closed
from weft.transform.loops.split_range import can_be_split, split_range

# Each iteration notes its number, and how many were before it.
#
#   entry ─ loop ─ exit        entry ─ loop ─ loop.one ─ body.one ─ loop.behind ─ exit
#           │  └ body                  │  └ body                     │  └ body.behind
#           └────┘                     └────┘                        └────┘
LOOP = """
define i64 @count(ptr %y, i64 %n, i64 %p) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ {start}, %entry ], [ %i.next, %body ]
  %s = phi i64 [ 7, %entry ], [ %s.next, %body ]
  %more = icmp {test}
  br i1 %more, label %{first}, label %{second}
body:
  %place = getelementptr i64, ptr %y, i64 %i
  store i64 %s, ptr %place
  %s.next = add i64 %s, 1
  %i.next = add nsw i64 %i, {step}
  br label %loop
exit:
  ret i64 %s
}}
"""

FORMS = {
    "below": {"start": "0", "test": "slt i64 %i, %n", "first": "body", "second": "exit", "step": "1"},
    "up to": {"start": "0", "test": "sge i64 %n, %i", "first": "body", "second": "exit", "step": "1"},
    "not at": {"start": "0", "test": "eq i64 %i, %n", "first": "exit", "second": "body", "step": "1"},
    "downwards": {"start": "9", "test": "slt i64 %i, %n", "first": "exit", "second": "body", "step": "-1"},
}


def made(form: str) -> tuple[Function, CountedLoop]:
    function = read_module(LOOP.format(**FORMS[form])).functions["count"]
    close_loops(function)
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop), counted
    return function, counted


def ran(function: Function, n: int, p: int) -> tuple[list[int], int]:
    y = np.full(12, -1, np.int64)
    memory = Memory()
    assert function.module is not None
    result = run_function(function.module, "count", [memory.map_array(y), n, p], 1, memory=memory)
    assert isinstance(result.value, Lanes)
    return y.tolist(), int(result.value.data[0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", [0, 1])
def test_every_iteration_may_be_the_one(form: str, offset: int) -> None:
    original, _ = made(form)
    function, loop = made(form)
    assert can_be_split(loop)
    headers = split_range(function, loop, function.args[2], offset)
    close_loops(function)
    verify(function)
    assert is_loop_closed(function)
    view = cfg_of(function)
    assert {view.blocks[x.header] for x in loop_forest(view.cfg).loops} == set(headers)
    n = 2 if form == "downwards" else 9
    for p in range(2, 9):
        assert ran(function, n, p - offset) == ran(original, n, p - offset)


def test_a_number_may_be_the_one() -> None:
    original, _ = made("below")
    function, loop = made("below")
    split_range(function, loop, None, 4)
    verify(function)
    for n in (5, 6, 10):
        assert ran(function, n, 0) == ran(original, n, 0)


def test_a_header_that_does_more_stays() -> None:
    text = LOOP.format(**FORMS["below"]).replace("%more =", "store i64 %i, ptr %y\n  %more =")
    function = read_module(text).functions["count"]
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop)
    assert not can_be_split(counted)
