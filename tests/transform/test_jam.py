"""Several iterations of a loop are done together: block by block, and round by round of the loops inside."""

import numpy as np
import pytest

from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.jam import Jammable, jam, jammable

# Each block notes where it is: before the loop inside, in a round, or behind it with what the loop has counted.
#
#   entry ─ outer ─ exit            entry ─ outer ──────── outer.left ─ exit
#            │  └ body ─ inner              │  └ body ─ inner    └ ...
#            │             │ └ round        │             │ └ round    (four times the instructions)
#            └─────── behind                └─────── behind
NEST = """
define void @rows(ptr %y, ptr %x, i32 %n, i32 %m) {{
entry:
  br label %outer
outer:
  %i = phi i32 [ {first}, %entry ], [ %i.next, %behind ]
  %on = icmp {test} i32 %i, %n
  br i1 %on, label %{then}, label %{otherwise}
body:
  %before = mul i32 %i, 1000
  {store[0]}
  br label %inner
inner:
  %j = phi i32 [ 0, %body ], [ %j.next, %round ]
  %sum = phi i32 [ %i, %body ], [ %sum.next, %round ]
  %more = icmp slt i32 %j, %m
  br i1 %more, label %round, label %behind
round:
  %code = add i32 %before, 100
  %here = add i32 %code, %j
  {store[1]}
  %sum.next = add i32 %sum, %j
  %j.next = add nsw i32 %j, 1
  br label %inner
behind:
  %total = phi i32 [ %sum, %inner ]
  %twice = add i32 %before, 500
  %there = add i32 %twice, %total
  {store[2]}
  %i.next = add nsw i32 %i, 1
  br label %outer
exit:
  ret void
}}
"""

NOTE = """%count.{0} = load i32, ptr %x
  %wide.{0} = sext i32 %count.{0} to i64
  %p.{0} = getelementptr i32, ptr %y, i64 %wide.{0}
  store i32 %{1}, ptr %p.{0}
  %one.{0} = add i32 %count.{0}, 1
  store i32 %one.{0}, ptr %x"""

FORMS = {
    "below": ("slt", "body", "exit", 0),
    "up to": ("sle", "body", "exit", 0),
    "leaves if true": ("sge", "exit", "body", 0),
    "from 2": ("slt", "body", "exit", 2),
    "unsigned": ("ult", "body", "exit", 0),
}


def nest_of(form: str) -> tuple[Function, Jammable | None]:
    test, then, otherwise, first = FORMS[form]
    notes = [NOTE.format(k, what) for k, what in enumerate(("before", "here", "there"))]
    text = NEST.format(test=test, then=then, otherwise=otherwise, first=first, store=notes)
    function = read_module(text).functions["rows"]
    view = cfg_of(function)
    (outer,) = (loop for loop in loop_forest(view.cfg).loops if loop.parent is None)
    return function, jammable(view, outer)


def noted(function: Function, n: int, m: int) -> list[int]:
    memory = Memory()
    y, x = np.zeros(2000, np.int32), np.zeros(1, np.int32)
    assert function.module is not None
    arguments = [memory.map_array(y), memory.map_array(x), n, m]
    run_function(function.module, "rows", arguments, 1, memory=memory)
    return [int(v) for v in y[: x[0]]]


def together(rows: range, m: int, count: int) -> list[int]:
    """What is noted, by the definition."""
    found: list[int] = []
    whole = len(rows) // count * count
    groups = [rows[k : k + count] for k in range(0, whole, count)] + [[r] for r in rows[whole:]]
    for group in groups:
        found += [i * 1000 for i in group]
        found += [i * 1000 + 100 + j for j in range(m) for i in group]
        found += [i * 1000 + 500 + i + sum(range(m)) for i in group]
    return found


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("form", FORMS)
def test_rounds_are_done_for_several_iterations(form: str, count: int) -> None:
    function, nest = nest_of(form)
    assert nest is not None
    jam(function, nest, count)
    assert function.module is not None
    verify(function.module)
    negative = () if form == "unsigned" else ((-3, 1), (-(1 << 31), 2))
    for n, m in ((0, 3), (1, 2), (4, 0), (4, 3), (5, 1), (9, 2), *negative):
        rows = range(FORMS[form][3], n + (form == "up to"))
        assert noted(function, n, m) == together(rows, m, count)


def test_a_loop_whose_rounds_depend_on_the_iteration_stays() -> None:
    function, _ = nest_of("below")
    text = NEST.format(
        test="slt", then="body", otherwise="exit", first=0, store=[NOTE.format(k, "before") for k in range(3)]
    )
    function = read_module(text.replace("icmp slt i32 %j, %m", "icmp slt i32 %j, %before")).functions["rows"]
    view = cfg_of(function)
    (outer,) = (loop for loop in loop_forest(view.cfg).loops if loop.parent is None)
    assert jammable(view, outer) is None
