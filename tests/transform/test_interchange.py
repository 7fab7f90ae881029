"""Two loops change places, and back; what is not perfect, or not rectangular, does not."""

import numpy as np
import pytest

from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.interchange import Pair, interchange, interchangeable

# x counts what was done before: y[4 * i + j] is the number of the iteration.
NEST = """
define void @nest(ptr %y, ptr %x, i64 %n, i64 %m) {{
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %row, label %exit
row:
  %at = mul i64 %i, 4
  {row}
  br label %inner
inner:
  %j = phi i64 [ {start}, %row ], [ %j.next, %body ]
  %left = icmp slt i64 %j, %m
  br i1 %left, label %body, label %latch
body:
  %place = add i64 %at, %j
  %p = getelementptr i64, ptr %y, i64 %place
  %count = load i64, ptr %x
  %one.more = add i64 %count, 1
  store i64 %one.more, ptr %x
  store i64 %count, ptr %p
  %j.next = add nsw i64 %j, 1
  br label %inner
latch:
  %i.next = add nsw i64 %i, 2
  br label %outer
exit:
  ret void
}}
"""


def made(row: str = "", start: str = "0") -> Function:
    return read_module(NEST.format(row=row, start=start)).functions["nest"]


def pair_of(function: Function) -> Pair | None:
    view = cfg_of(function)
    headed = loop_forest(view.cfg).headed_by
    blocks = {b.name: view.index[b] for b in view.blocks}
    outer, inner = headed[blocks["outer"]], headed[blocks["inner"]]
    assert outer is not None
    assert inner is not None
    return interchangeable(view, outer, inner)


def ran(function: Function, n: int, m: int) -> np.ndarray:
    y, x = np.full(40, -1, np.int64), np.zeros(1, np.int64)
    memory = Memory()
    pointers = [memory.map_array(a) for a in (y, x)]
    assert function.module is not None
    run_function(function.module, "nest", [*pointers, n, m], 1, memory=memory)
    return y


def test_the_other_counter_runs_faster() -> None:
    function = made()
    pair = pair_of(function)
    assert pair is not None
    before = ran(function, 6, 3)
    assert list(before[:3]) == [0, 1, 2]
    interchange(pair)
    verify(function)
    after = ran(function, 6, 3)
    assert list(after[[0, 8, 16]]) == [0, 1, 2]
    assert list(after[[1, 9, 17]]) == [3, 4, 5]
    for n, m in ((0, 3), (3, 0), (1, 1)):
        assert sorted(ran(function, n, m)) == sorted(ran(made(), n, m))


@pytest.mark.parametrize("loop", ["outer", "inner"])
def test_a_branch_may_leave_the_loop_where_its_test_holds(loop: str) -> None:
    text = NEST.format(row="", start="0")
    for name, test, body in (
        ("outer", "slt i64 %i, %n", "%row, label %exit"),
        ("inner", "slt i64 %j, %m", "%body, label %latch"),
    ):
        if name == loop:
            stays, leaves = body.split(", label ")
            text = text.replace(test, test.replace("slt", "sge")).replace(body, f"{leaves}, label {stays}")
    function = read_module(text).functions["nest"]
    before = ran(function, 6, 3)
    pair = pair_of(function)
    assert pair is not None
    interchange(pair)
    verify(function)
    assert list(ran(function, 6, 3)[[0, 8, 16]]) == [0, 1, 2]
    pair = pair_of(function)
    assert pair is not None
    interchange(pair)
    assert list(ran(function, 6, 3)) == list(before)


def test_a_second_time_restores_the_order() -> None:
    function = made()
    before = ran(function, 6, 3)
    for _ in range(2):
        pair = pair_of(function)
        assert pair is not None
        interchange(pair)
        verify(function)
    np.testing.assert_array_equal(ran(function, 6, 3), before)
    assert function.module is not None
    read_module(write_module(function.module))


@pytest.mark.parametrize(
    ("row", "start"),
    [
        ("store i64 0, ptr %x", "0"),
        ("%v = load i64, ptr %x", "0"),
        ("", "%i"),
        ("%begin = add i64 %i, 1", "%begin"),
    ],
    ids=["store between", "load between", "triangle", "bound computed between"],
)
def test_others_stay(row: str, start: str) -> None:
    assert pair_of(made(row, start)) is None
