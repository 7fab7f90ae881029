"""Loops that load what they have stored a few iterations before."""

from __future__ import annotations

import pytest

from weft.analysis.loops.along_rows import carries_only_totals, hands_on_elements
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module

WALK = """
define void @walk(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %head
head:
  %i = phi i64 [ 8, %entry ], [ %next, %body ]
  %c = icmp slt i64 %i, %n
  br i1 %c, label %body, label %done
body:
  %before = add nsw i64 %i, {loaded}
  %p = getelementptr float, ptr %{array}, i64 %before
  %v = load float, ptr %p, align 4
  %w = fmul float %v, 2.0
  %q = getelementptr float, ptr %x, i64 %i
  store float %w, ptr %q, align 4
  %next = add nsw i64 %i, {step}
  br label %head
done:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("loaded", "step", "array", "wanted"),
    [
        (-1, 1, "x", True),
        (-3, 1, "x", True),
        (-6, 2, "x", True),
        (1, -1, "x", True),
        (-4, 1, "x", False),
        (0, 1, "x", False),
        (1, 1, "x", False),
        (-1, -1, "x", False),
        (-1, 1, "y", False),
    ],
)
def test_what_is_stored_a_few_iterations_before_is_handed_on(
    loaded: int, step: int, array: str, wanted: bool
) -> None:
    (function,) = read_module(WALK.format(loaded=loaded, step=step, array=array)).definitions()
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    assert hands_on_elements(loop, view) is wanted
    assert carries_only_totals(loop, view) is not wanted


def test_terms_for_negative_indices_are_no_difference() -> None:
    text = WALK.format(loaded=-1, step=1, array="x").replace(
        "%p = getelementptr float, ptr %x, i64 %before",
        """%low = icmp slt i64 %before, 0
  %end = select i1 %low, i64 %n, i64 0
  %start = getelementptr float, ptr %x, i64 %end
  %p = getelementptr float, ptr %start, i64 %before""",
    )
    (function,) = read_module(text).definitions()
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    assert hands_on_elements(loop, view)
