"""Which places a loop walks along, by how they are computed of its counter."""

from __future__ import annotations

import pytest

from weft.analysis.loops.along_rows import is_along, is_elsewhere
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module

WALK = """
define void @walk(ptr %x, i64 %k, i1 %same, ptr %places, i64 %n) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %c = icmp slt i64 %i, %n
  br i1 %c, label %body, label %done
body:
  {index}
  %p = getelementptr i8, ptr %x, i64 %at
  %v = load double, ptr %p, align 8
  %next = add nsw i64 %i, 1
  br label %head
done:
  ret void
}}
"""
ODD = "%bit = and i64 %i, 1\n  %odd = icmp ne i64 %bit, 0\n  "


@pytest.mark.parametrize(
    ("index", "along", "elsewhere"),
    [
        ("%at = shl nsw i64 %i, 3", True, False),
        ("%moved = add i64 %i, %k\n  %at = shl nsw i64 %moved, 3", True, False),
        ("%wide = shl nsw i64 %i, 3\n  %at = add i64 %wide, %k", True, False),
        ("%at = shl nsw i64 %i, 4", False, False),
        ("%int = trunc i64 %i to i32\n  %far = sext i32 %int to i64\n  %at = shl i64 %far, 3", True, False),
        ("%byte = trunc i64 %i to i8\n  %far = zext i8 %byte to i64\n  %at = shl i64 %far, 3", False, False),
        ("%wide = shl nsw i64 %i, 3\n  %at = select i1 %same, i64 0, i64 %wide", True, False),
        (ODD + "%wide = shl nsw i64 %i, 3\n  %at = select i1 %odd, i64 0, i64 %wide", False, True),
        (ODD + "%at = select i1 %odd, i64 0, i64 8", False, True),
        ("%q = getelementptr i64, ptr %places, i64 %i\n  %at = load i64, ptr %q, align 8", False, True),
    ],
)
def test_places_that_step_from_neighbour_to_neighbour(index: str, along: bool, elsewhere: bool) -> None:
    module = read_module(WALK.format(index=index))
    view = cfg_of(module.functions["walk"])
    (loop,) = loop_forest(view.cfg).loops
    inside = {view.blocks[n] for n in loop.blocks}
    access = next(i for b in inside for i in b.instructions if i.op == "load" and i.name == "v")
    assert is_along(access, inside, module.layout) == along
    assert is_elsewhere(access, inside, module.layout) == elsewhere
