"""What the test of a loop loads is loaded before it, where the loop does not store there (`tested_loads`)."""

import pytest

from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.tested_loads import hoist_tested_loads

#   entry ──> head <──┐
#              │ └─> body
#             out
LOOP = """
@own = global i64 0
declare void @other()
define void @f(ptr {noalias} %ends, ptr %a, ptr %b, i1 %which) {{
entry:
  %c = select i1 %which, ptr %a, ptr %b
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = phi ptr [ {target}, %entry ], [ %p.next, %body ]
  {before}
  %end = load {volatile} i64, ptr {from}, align 8
  %more = icmp slt i64 %k, %end
  br i1 %more, label %body, label %out
body:
  store i64 %k, ptr %p, align 8
  {inside}
  %p.next = getelementptr i64, ptr %p, i64 1
  %next = add nsw i64 %k, 1
  br label %head
out:
  ret void
}}
"""
APART = {
    "noalias": "noalias", "target": "%a", "before": "", "volatile": "", "from": "%ends", "inside": "",
}  # fmt: skip


@pytest.mark.parametrize("changes", [{}, {"target": "%c"}, {"target": "@own"}])
def test_a_bound_that_lies_apart_is_loaded_once(changes: dict[str, str]) -> None:
    module = read_module(LOOP.format_map(APART | changes))
    function = module.functions["f"]
    assert hoist_tested_loads(function) == 1
    verify(module)
    assert [i.op for i in function.entry.instructions] == ["select", "load", "br"]


@pytest.mark.parametrize(
    "changes",
    [
        {"noalias": ""},
        {"target": "%ends"},
        {"from": "%p"},
        {"volatile": "volatile"},
        {"inside": "call void @other()"},
        {"before": "call void @other()"},
        {"inside": "fence seq_cst"},
        {"inside": "%old = load volatile i64, ptr %b, align 8"},
    ],
)
def test_others_are_loaded_each_time(changes: dict[str, str]) -> None:
    module = read_module(LOOP.format_map(APART | changes))
    assert hoist_tested_loads(module.functions["f"]) == 0
