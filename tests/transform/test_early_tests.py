"""A loop that tests its counter's next value before its body counts with a value that it tests."""

import numpy as np
import pytest

from weft.analysis.loops.counted_loops import counted_loop
from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.early_tests import test_present_values as give_present_values

LOOP = """
define i32 @count(ptr %y, i32 %a, i32 %n) {{
entry:
  br label %head
head:
  %i = phi i32 [ %a, %entry ], [ %next, %body ]
  %next = {op} nsw i32 %i, {step}
  %more = icmp {more} i32 %next, %n
  br i1 %more, label %body, label %exit
body:
  %p = getelementptr i32, ptr %y, i32 %next
  store i32 %i, ptr %p
  br label %head
exit:
  %last = phi i32 [ %i, %head ]
  ret i32 %last
}}
"""


def made(op: str, step: int, more: str) -> Function:
    return read_module(LOOP.format(op=op, step=step, more=more)).functions["count"]


def count_of(function: Function) -> object:
    view = cfg_of(function)
    return counted_loop(view, loop_forest(view.cfg).loops[0])


def ran(function: Function, a: int, n: int) -> tuple[int, list[int]]:
    y = np.full(40, -1, np.int32)
    memory = Memory()
    assert function.module is not None
    result = run_function(function.module, "count", [memory.map_array(y), a, n], 1, memory=memory)
    assert result.value is not None
    return int(np.ravel(result.value.data)[0]), list(y)


@pytest.mark.parametrize(("op", "step", "more"), [("add", 1, "slt"), ("add", 3, "slt"), ("sub", 2, "sgt")])
def test_the_loop_is_a_counted_one_and_does_the_same(op: str, step: int, more: str) -> None:
    function, before = made(op, step, more), made(op, step, more)
    assert count_of(function) == "tests the next value of its counter before its body"
    assert give_present_values(function) == 1
    verify(function)
    assert not isinstance(count_of(function), str)
    for a, n in ((3, 20), (20, 3), (5, 5), (5, 6), (6, 5)):
        assert ran(function, a, n) == ran(before, a, n)
    assert give_present_values(function) == 0


def test_a_counter_of_which_only_the_next_value_is_used_is_gone() -> None:
    text = LOOP.format(op="add", step=1, more="slt").replace("store i32 %i", "store i32 %next")
    text = text.replace("[ %i, %head ]", "[ %next, %head ]")
    function, before = (read_module(text).functions["count"] for _ in range(2))
    assert give_present_values(function) == 1
    verify(function)
    (loop,) = loop_forest(cfg_of(function).cfg).loops
    assert len(list(cfg_of(function).blocks[loop.header].phis())) == 1
    for a, n in ((3, 20), (5, 5), (5, 7)):
        assert ran(function, a, n) == ran(before, a, n)
