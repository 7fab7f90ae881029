"""A loop becomes one over tiles, and one over the iterations of a tile; iterations stay in their order."""

import numpy as np
import pytest

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.tile_loop import can_be_tiled, tile_loop

# Each iteration notes how many were before it.
#
#   entry ─ loop ─ exit        entry ─ tiles ──── exit
#           │  └ body                  │  └ tile ─ loop ─ next
#           └────┘                     │           │  └ body │
#                                      │           └────┘    │
#                                      └─────────────────────┘
LOOP = """
define void @count(ptr %y, ptr %x, {type} %n) {{
entry:
  br label %loop
loop:
  %i = phi {type} [ {start}, %entry ], [ %i.next, %body ]
  %more = icmp {test}
  br i1 %more, label %{first}, label %{second}
body:
  %at = sext {type} %i to i65
  %small = trunc i65 %at to i64
  %p = getelementptr i64, ptr %y, i64 %small
  %count = load i64, ptr %x
  store i64 %count, ptr %p
  %one.more = add i64 %count, 1
  store i64 %one.more, ptr %x
  %i.next = add nsw {type} %i, 1
  br label %loop
exit:
  ret void
}}
"""

FORMS = {
    "i64": {"type": "i64", "start": "0", "test": "slt i64 %i, %n", "first": "body", "second": "exit"},
    "i32 from -3": {
        "type": "i32",
        "start": "-3",
        "test": "slt i32 %i, %n",
        "first": "body",
        "second": "exit",
    },
    "leaves if true": {
        "type": "i32",
        "start": "2",
        "test": "sle i32 %n, %i",
        "first": "exit",
        "second": "body",
    },
    "unsigned": {"type": "i64", "start": "1", "test": "ult i64 %i, %n", "first": "body", "second": "exit"},
}


def made(form: str) -> tuple[Function, CountedLoop]:
    function = read_module(LOOP.format(**FORMS[form])).functions["count"]
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop), counted
    return function, counted


def ran(function: Function, n: int) -> list[int]:
    y, x = np.full(24, -1, np.int64), np.zeros(1, np.int64)
    memory = Memory()
    assert function.module is not None
    # In the middle, as loops may begin below 0.
    pointer = memory.map_array(y) + 32
    run_function(function.module, "count", [pointer, memory.map_array(x), n], 1, memory=memory)
    return y.tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_iterations_stay_in_their_order(form: str, size: int) -> None:
    original, _ = made(form)
    function, loop = made(form)
    assert can_be_tiled(loop)
    tiles = tile_loop(function, loop, size, loop.preheader)
    verify(function)
    view = cfg_of(function)
    assert {view.blocks[x.header] for x in loop_forest(view.cfg).loops} == {tiles, loop.header}
    for n in (0, 1, 4, 9, 12):
        assert ran(function, n) == ran(original, n)


def test_a_loop_that_counts_by_two_stays() -> None:
    text = LOOP.format(**FORMS["i64"]).replace("%i, 1", "%i, 2")
    function = read_module(text).functions["count"]
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop)
    assert not can_be_tiled(counted)
