"""Loops that wait for a division of the iteration before are known."""

import pytest

from weft.analysis.loops.carried_divisions import carries_division
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module

TEXT = """
declare double @llvm.sqrt.f64(double)

define void @f(ptr noalias %p, ptr noalias %q, double %a, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 1, %entry ], [ %next, %loop ]
  %x = phi double [ %a, %entry ], [ {handed}, %loop ]
  %before = getelementptr i8, ptr %p, i64 -8
  %here = getelementptr double, ptr %p, i64 %i
  %there = getelementptr double, ptr %before, i64 %i
  %other = getelementptr double, ptr %q, i64 %i
  %y = load double, ptr {loaded}
  %m = fmul double %y, %a
  %d = {division}
  %s = fadd double %d, 1.0
  store double {stored}, ptr %here
  %next = add i64 %i, 1
  %c = icmp slt i64 %next, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("loaded", "division", "stored", "handed", "carried"),
    [
        ("%there", "fdiv double %a, %m", "%s", "%a", True),
        ("%there", "call double @llvm.sqrt.f64(double %m)", "%s", "%a", True),
        ("%other", "fdiv double %x, %a", "%a", "%s", True),
        # Of what nothing is stored to, to the same place, of an element only, and not on the way.
        ("%other", "fdiv double %a, %m", "%s", "%a", False),
        ("%here", "fdiv double %a, %m", "%s", "%a", False),
        ("%there", "fdiv double %a, 3.0", "%s", "%m", False),
        ("%there", "fdiv double %a, %m", "%m", "%m", False),
        ("%there", "fsub double %a, %m", "%s", "%s", False),
    ],
)
def test_divisions_on_the_way_of_what_is_handed_on(
    loaded: str, division: str, stored: str, handed: str, carried: bool
) -> None:
    text = TEXT.format(loaded=loaded, division=division, stored=stored, handed=handed)
    function = read_module(text).functions["f"]
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    assert carries_division(view.blocks[loop.header], [view.blocks[b] for b in loop.blocks]) == carried
