"""Edges that nobody takes: which blocks go, and which stay for what they do."""

from weft.ir.reader import read_module
from weft.transform.drop_unreachable import drop_empty_unreachable, drop_unreachable_edges

ALL_CASES = """
define i32 @f(i32 %x) {
entry:                                    ;        entry
  %d = lshr i32 %x, 31                    ;       /  |  \\
  switch i32 %d, label %never [           ;  never   a   b
    i32 0, label %a                       ;           \\ /
    i32 1, label %b                       ;           out
  ]
never:
  unreachable
a:
  br label %out
b:
  br label %out
out:
  %r = phi i32 [ 3, %a ], [ 5, %b ]
  ret i32 %r
}
"""
THAT_ENDS = """
declare void @abort()
define i32 @f(i1 %c, i1 %d) {
entry:
  br i1 %c, label %fails, label %asks
asks:
  br i1 %d, label %through, label %out
through:
  br label %never
never:
  unreachable
fails:
  call void @abort()
  unreachable
out:
  ret i32 1
}
"""


def test_a_switch_over_all_cases_has_no_way_to_nowhere() -> None:
    function = read_module(ALL_CASES).functions["f"]
    assert drop_empty_unreachable(function) == 1
    assert [b.name for b in function.blocks] == ["entry", "a", "b", "out"]
    assert len(function.entry.terminator.attrs["cases"]) == 1


def test_what_does_not_return_stays() -> None:
    function = read_module(THAT_ENDS).functions["f"]
    assert drop_empty_unreachable(function) == 2
    assert [b.name for b in function.blocks] == ["entry", "asks", "fails", "out"]
    assert drop_unreachable_edges(function) == 1
    assert [b.name for b in function.blocks] == ["entry", "asks", "out"]


def test_a_function_that_is_never_called_stays() -> None:
    function = read_module("define void @f() {\nentry:\n  unreachable\n}\n").functions["f"]
    assert drop_empty_unreachable(function) == 0
