"""Iterations are written out as they would run, and only those of loops along short rows (`unroll_rows`)."""

import numpy as np
import pytest

from weft.analysis.loops.counted_loops import counted_exit, counted_loop, known_iterations
from weft.analysis.loops.row_loops import FEW, LONGEST, LONGEST_FOUND, row_loops, straight_rows
from weft.graph.loops import loop_forest
from weft.interp import Memory, Program, run_function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.unroll_rows import unroll, unroll_rows

#   entry ──> head <──┐
#              │ └─> body ──> found ──> out
#             done ─────────────────────┘
TOP_TESTED = """
define i64 @f(ptr %x) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %rest ]
  %a = phi i64 [ 1, %entry ], [ %b, %rest ]
  %b = phi i64 [ 2, %entry ], [ %sum, %rest ]
  %more = icmp slt i64 %k, COUNT
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i64, ptr %x, i64 %k
  %value = load i64, ptr %at
  %negative = icmp slt i64 %value, 0
  br i1 %negative, label %found, label %rest
rest:
  %sum = add i64 %a, %value
  %next = add nuw nsw i64 %k, 1
  br label %head
found:
  %early = phi i64 [ %b, %body ]
  %place = phi i64 [ %k, %body ]
  %both = add i64 %early, %place
  br label %out
done:
  %late = phi i64 [ %a, %head ]
  %last = phi i64 [ %b, %head ]
  %doubled = shl i64 %last, 7
  %all = add i64 %late, %doubled
  br label %out
out:
  %result = phi i64 [ %both, %found ], [ %all, %done ]
  ret i64 %result
}
"""

BOTTOM_TESTED = """
define i64 @f(ptr %x) {
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi i64 [ 5, %entry ], [ %sum, %body ]
  %at = getelementptr i64, ptr %x, i64 %k
  %value = load i64, ptr %at
  %more.total = mul i64 %total, 3
  %sum = add i64 %more.total, %value
  %next = add nuw nsw i64 %k, 1
  %more = icmp ne i64 %next, COUNT
  br i1 %more, label %body, label %out
out:
  %result = phi i64 [ %sum, %body ]
  ret i64 %result
}
"""


def result(text, values):
    memory = Memory()
    made = run_function(Program(text), "f", [memory.map_array(values)], 1, memory=memory)
    return int(made.data[0])


@pytest.mark.parametrize(("text", "counts"), [(TOP_TESTED, (0, 1, 2, 5)), (BOTTOM_TESTED, (1, 2, 5))])
def test_what_is_computed_stays(text, counts):
    for count in counts:
        for negative in (None, 0, 3):
            values = np.arange(3, 11)
            if negative is not None:
                values[negative] = -7
            module = read_module(text.replace("COUNT", str(count)))
            wanted = result(read_module(text.replace("COUNT", str(count))), values)
            function = module.functions["f"]
            view = cfg_of(function)
            (found,) = loop_forest(view.cfg).loops
            loop = counted_loop(view, found)
            loop = counted_exit(view, found) if isinstance(loop, str) else loop
            assert not isinstance(loop, str)
            assert known_iterations(loop) == count
            unroll(function, loop, count)
            verify(module)
            assert not loop_forest(cfg_of(function).cfg).loops
            assert result(module, values) == wanted


#   A row is that of a thread, the same for all, or looked up.
ROW = """
declare i64 @weft.local.id(i32)
define i64 @f(ptr %x, i64 %row, i64 %length, ptr %rows) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %at = getelementptr i64, ptr %rows, i64 %id
  %found = load i64, ptr %at
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi i64 [ 0, %entry ], [ %sum, %body ]
  %more = icmp slt i64 %k, BOUND
  br i1 %more, label %body, label %out
body:
  %begin = mul nuw nsw i64 WHICH, %length
  %first = getelementptr i64, ptr %x, i64 %begin
  %element = getelementptr i64, ptr %first, i64 %k
  %value = load i64, ptr %element
  %sum = add i64 %total, %value
  %next = add nuw nsw i64 %k, 1
  br label %head
out:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}
"""


@pytest.mark.parametrize(
    ("which", "bound", "numbers", "unrolled"),
    [
        ("%id", "%length", ((2,), LONGEST), 0),
        ("%found", "%length", ((2,), LONGEST_FOUND), 0),
        ("%row", "%length", None, 0),
        ("%id", "%row", ((1, 2), LONGEST), 0),
        ("%id", "16", ((2,), LONGEST), 1),
        ("%id", "17", ((2,), LONGEST), 0),
        ("%found", "4", ((2,), LONGEST_FOUND), 1),
        ("%found", "5", ((2,), LONGEST_FOUND), 0),
        ("%row", "4", ((), FEW), 1),
        ("%row", "5", None, 0),
    ],
)
def test_rows_are_those_of_threads(which, bound, numbers, unrolled):
    function = read_module(ROW.replace("WHICH", which).replace("BOUND", bound)).functions["f"]
    rows = list(row_loops(function, cfg_of(function)))
    assert [(row.numbers, row.longest) for row in rows] == ([] if numbers is None else [numbers])
    assert len(unroll_rows(function)) == unrolled


def test_the_program(golden) -> None:
    function = read_module(ROW.replace("WHICH", "%id").replace("BOUND", "3")).functions["f"]
    assert unroll_rows(function)
    golden(write_function(function), "unroll_rows.ll")


#   Two elements of a row, or of two rows.
ELEMENTS = """
declare i64 @weft.local.id(i32)
define double @f(ptr %x, i64 %row, i64 %length) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %begin = mul nuw nsw i64 WHICH, %length
  %first = getelementptr double, ptr %x, i64 %begin
  %a = load double, ptr %first
  %second = getelementptr i8, ptr FROM, i64 8
  %b = load double, ptr %second
  %sum = fadd double %a, %b
  ret double %sum
}
"""


@pytest.mark.parametrize(
    ("which", "begin", "found"), [("%id", "%first", {2}), ("%row", "%first", set()), ("%id", "%x", set())]
)
def test_rows_are_read_one_element_after_the_other(which, begin, found):
    function = read_module(ELEMENTS.replace("WHICH", which).replace("FROM", begin)).functions["f"]
    assert set(straight_rows(function, cfg_of(function))) == found


STORED = """
declare i64 @weft.local.id(i32)
define void @f(ptr %x, i64 %rows, i64 %length) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %matrix = mul nuw nsw i64 %id, %rows
  %second = add nuw nsw i64 %matrix, 1
  %begin = mul nuw nsw i64 %second, %length
  %first = getelementptr double, ptr %x, i64 %begin
  store double 0.0, ptr %first
  %next = getelementptr i8, ptr %first, i64 8
  store double 0.0, ptr %next
  ret void
}
"""


def test_rows_of_matrices_have_two_lengths():
    """Also where they are only stored."""
    function = read_module(STORED).functions["f"]
    assert straight_rows(function, cfg_of(function)) == {1: 4, 2: 4}, "matrices of up to 4 x 4"


@pytest.mark.parametrize(
    ("predicate", "start", "bound", "count"),
    [
        ("slt", -1, 2, 3), ("sle", -1, 2, 4), ("ne", -3, 2, 5), ("slt", -7, -3, 4), ("ult", -1, 2, None),
        ("ult", -3, -1, None), ("slt", 3, -1, None),
    ],
)  # fmt: skip
def test_loops_that_begin_below_zero(predicate, start, bound, count):
    text = TOP_TESTED.replace(" nuw", "").replace("[ 0, %entry ]", f"[ {start}, %entry ]", 1)
    text = text.replace("icmp slt i64 %k, COUNT", f"icmp {predicate} i64 %k, {bound}")
    text = text.replace("%at = ", f"%up = add i64 %k, {-min(start, 0)}\n  %at = ").replace(
        "i64 %k\n  %value", "i64 %up\n  %value"
    )
    module = read_module(text)
    function = module.functions["f"]
    view = cfg_of(function)
    (found,) = loop_forest(view.cfg).loops
    loop = counted_loop(view, found)
    loop = counted_exit(view, found) if isinstance(loop, str) else loop
    assert not isinstance(loop, str)
    assert known_iterations(loop) == count
    if count is not None:
        wanted = result(read_module(text), np.arange(3, 11))
        unroll(function, loop, count)
        verify(module)
        assert result(module, np.arange(3, 11)) == wanted
