"""A loop over two loops becomes two loops; one that holds something else does not."""

import numpy as np
import pytest

from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.distribute import Part, Parts, Statements, distribute, parts_of

# Each iteration of the inner loops notes how many were before it.
NEST = """
define void @nest(ptr %y, ptr %x, i64 %n, i64 %m) {{
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %row, label %exit
row:
  %at = mul i64 %i, 8
  br label %first
first:
  %j = phi i64 [ 0, %row ], [ %j.next, %first.body ]
  %j.left = icmp slt i64 %j, %m
  br i1 %j.left, label %first.body, label %mid
first.body:
  %j.place = add i64 %at, %j
  %p = getelementptr i64, ptr %y, i64 %j.place
  %count = load i64, ptr %x
  %one.more = add i64 %count, 1
  store i64 %one.more, ptr %x
  store i64 %count, ptr %p
  %j.next = add nsw i64 %j, 1
  br label %first
mid:
  {mid}
  br label %second
second:
  %k = phi i64 [ 4, %mid ], [ %k.next, %second.body ]
  %k.left = icmp slt i64 %k, 6
  br i1 %k.left, label %second.body, label %latch
second.body:
  %k.place = add i64 %at, %k
  %q = getelementptr i64, ptr %y, i64 %k.place
  %count.2 = load i64, ptr %x
  %two.more = add i64 %count.2, 1
  store i64 %two.more, ptr %x
  store i64 %count.2, ptr %q
  %k.next = add nsw i64 %k, 1
  br label %second
latch:
  %i.next = add nsw i64 %i, 1
  br label %outer
exit:
  ret void
}}
"""


def made(mid: str = "") -> Function:
    return read_module(NEST.format(mid=mid)).functions["nest"]


def parts(function: Function) -> Parts | None:
    view = cfg_of(function)
    outer = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header].name == "outer")
    return parts_of(view, outer)


def ran(function: Function, n: int, m: int) -> list[int]:
    y, x = np.full(24, -1, np.int64), np.zeros(1, np.int64)
    memory = Memory()
    pointers = [memory.map_array(a) for a in (y, x)]
    assert function.module is not None
    run_function(function.module, "nest", [*pointers, n, m], 1, memory=memory)
    return y.tolist()


def test_all_of_the_first_loop_comes_before_the_second() -> None:
    function = made()
    found = parts(function)
    assert found is not None
    assert len(found.inside) == 2
    before = ran(function, 2, 2)
    assert before[:6] == [0, 1, -1, -1, 2, 3]
    distribute(function, found, 1)
    verify(function)
    after = ran(function, 2, 2)
    assert after[:6] == [0, 1, -1, -1, 4, 5]
    assert after[8:14] == [2, 3, -1, -1, 6, 7]
    for n, m in ((0, 2), (1, 0), (1, 1)):
        assert sorted(ran(function, n, m)) == sorted(ran(made(), n, m))


BETWEEN = """%begin = getelementptr i64, ptr %y, i64 %at
  %last = getelementptr i64, ptr %begin, i64 7
  %old = load i64, ptr %last
  %new = add i64 %old, 10
  store i64 %new, ptr %last"""


def test_stores_between_are_a_part() -> None:
    function = made(BETWEEN)
    found = parts(function)
    assert found is not None
    assert [type(p) for p in found.inside] == [Part, Statements, Part]
    assert found.place_of(found.inside[2].header) == 2  # type: ignore[union-attr]
    distribute(function, found, 2)
    again = parts(function)
    assert again is not None
    distribute(function, again, 1)
    verify(function)
    assert len(loop_forest(cfg_of(function).cfg).loops) == 5
    for n, m in ((2, 2), (0, 2), (1, 0), (2, 1)):
        mine, wanted = ran(function, n, m), ran(made(BETWEEN), n, m)
        assert sorted(mine) == sorted(wanted)
        assert mine[7::8] == wanted[7::8]


@pytest.mark.parametrize(
    ("mid", "second"),
    [("%v = load i64, ptr %x", "%v"), ("store volatile i64 0, ptr %x", "%count.2")],
    ids=["a load for a loop", "a volatile access"],
)
def test_what_else_stands_between_keeps_them_together(mid: str, second: str) -> None:
    text = NEST.format(mid=mid).replace("store i64 %count.2", f"store i64 {second}")
    assert parts(read_module(text).functions["nest"]) is None
