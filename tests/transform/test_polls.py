"""Which loops poll, and that loops cut into strips do what they did."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from weft import cuda
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.runtime.interrupts import interrupt_symbols
from weft.symbols import POLL
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.transform.loops import polls
from weft.transform.loops.polls import insert_polls

COUNTS = """
define i64 @count(i64 %start, i64 %bound) {{
entry:
  br label %head
head:
  %i = phi {type} [ %first, %entry ], [ %next, %body ]
  %h = phi i64 [ 7, %entry ], [ %mixed, %body ]
  %on = icmp {predicate} {type} %i, %last
  br i1 %on, label %body, label %out
body:
  %wide = {wide} %i{to}
  %product = mul i64 %h, 31
  %mixed = add i64 %product, %wide
  %next = add {flags} {type} %i, {step}
  br label %head
out:
  %end = phi {type} [ %i, %head ]
  %result = phi i64 [ %h, %head ]
  %shown = {wide} %end{to}
  %both = xor i64 %result, %shown
  ret i64 %both
}}
"""


def function(text: str, polling: bool) -> Callable[[int, int], int]:
    module = read_module(text)
    if polling:
        assert insert_polls(module, [module.functions["count"]]) == 1
        assert len(loop_forest(cfg_of(module.functions["count"]).cfg).loops) == 2
        verify(module)
    code = load_object(
        emit_object(write_module(module, plain=True), TargetSpec.chosen()), ["count"], interrupt_symbols()
    )
    code.keep_forever()
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return kind(code.address("count"))


@pytest.mark.parametrize("type", ["i16", "i64"])
@pytest.mark.parametrize(
    ("predicate", "step"),
    [
        ("slt", 1),
        ("slt", 3),
        ("sle", 2),
        ("ult", 1),
        ("ule", 3),
        ("ne", 1),
        ("ne", -1),
        ("sgt", -1),
        ("sge", -2),
    ],
)
def test_strips_run_what_the_loop_ran(
    monkeypatch: pytest.MonkeyPatch, type: str, predicate: str, step: int
) -> None:
    monkeypatch.setattr(polls, "STRIP", 4)
    flags = "nuw" if predicate in ("ult", "ule") else "nsw"
    wide, to = ("add i64", ", 0") if type == "i64" else (f"sext {type}", " to i64")
    text = COUNTS.format(type=type, predicate=predicate, step=step, flags=flags, wide=wide, to=to)
    taken = f"trunc i64 %start to {type}", f"trunc i64 %bound to {type}"
    if type == "i64":
        taken = "add i64 %start, 0", "add i64 %bound, 0"
    text = text.replace("entry:\n", f"entry:\n  %first = {taken[0]}\n  %last = {taken[1]}\n", 1)
    before, behind = function(text, polling=False), function(text, polling=True)
    for start in range(-6, 30, 5):
        for distance in range(-3, 20):
            bound = start + (distance if step > 0 else -distance)
            ends = predicate != "ne" or distance >= 0
            # An unsigned number that begins below zero is a large one: it would count for long.
            if ends and (predicate[0] != "u" or min(start, bound) >= 0):
                assert behind(start, bound) == before(start, bound), (start, bound)


NEST = """
define void @nest(i64 %n, ptr %p) {{
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  %more = icmp slt i64 %i, {outer}
  br i1 %more, label %before, label %out
before:
  br label %inner
inner:
  %j = phi i64 [ 0, %before ], [ %j.next, %inner.latch ]
  %less = icmp slt i64 %j, {inner}
  br i1 %less, label %inner.latch, label %outer.latch
inner.latch:
  store volatile i64 %j, ptr %p
  %j.next = add nsw i64 %j, 1
  br label %inner
outer.latch:
  %i.next = add nsw i64 %i, 1
  br label %outer
out:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("outer", "inner", "count"),
    [("100", "100", 0), ("100", "%n", 1), ("%n", "100", 1), ("%n", "%n", 1), ("1000", "1000", 1)],
)
def test_loops_that_end_soon_do_not_poll(outer: str, inner: str, count: int) -> None:
    module = read_module(NEST.format(outer=outer, inner=inner))
    nest = module.functions["nest"]
    assert insert_polls(module, [nest]) == count
    verify(module)
    assert sum(i.callee_name == POLL for i in nest.instructions()) == count
    assert not any(a.startswith(("willreturn", "memory(")) for a in nest.attributes) or not count


@pytest.mark.parametrize(("rounds", "polls"), [("once", False), ("again", True)])
def test_rounds_poll_where_a_work_group_comes_back_to_a_barrier(rounds, polls):
    def once(out):
        tile = cuda.shared.array(32, dtype=np.int64)
        tile[cuda.threadIdx.x] = cuda.threadIdx.x
        cuda.syncthreads()
        out[cuda.threadIdx.x] = tile[31 - cuda.threadIdx.x]

    def again(out):
        tile = cuda.shared.array(32, dtype=np.int64)
        while out[0] < 100:
            tile[cuda.threadIdx.x] = out[cuda.threadIdx.x] + 1
            cuda.syncthreads()
            out[cuda.threadIdx.x] = tile[31 - cuda.threadIdx.x]
            cuda.syncthreads()

    compiled = cuda.jit({"once": once, "again": again}[rounds]).compile("void(int64[::1])")
    entry = compiled.lowered().text.rpartition("define i32 @")[2].partition("\n}")[0]
    assert ("@weft_poll" in entry) == polls
