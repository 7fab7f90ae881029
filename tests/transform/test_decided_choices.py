"""Choices that branches have decided."""

import ctypes

import pytest

from weft.ir.reader.module import read_module
from weft.ir.writer.module import write_module
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.transform.loops.decided_choices import decide_choices

#      entry -> head;  head -> body, out;  body -> next, out;  next -> head
TEXT = """
define i32 @f(i32 %n, i32 %key, i32 %first) {{
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %inc, %next ]
  %r = phi i32 [ %first, %entry ], [ %chosen, %next ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %out
body:
  %square = mul i32 %i, %i
  %found = icmp sgt i32 %square, %key
  %flag = select i1 %found, i32 {yes}, i32 {no}
  %chosen = select i1 %found, i32 %i, i32 %r
  %test = icmp {predicate} i32 %flag, {number}
  br i1 %test, label %{way}, label %{other}
next:
  %inc = add i32 %i, 1
  br label %head
out:
  %kind = phi i32 [ %flag, %body ], [ 7, %head ]
  %last = phi i32 [ %chosen, %body ], [ %r, %head ]
  %scaled = mul i32 %kind, 1000
  %sum = add i32 %scaled, %last
  ret i32 %sum
}}
"""


@pytest.mark.parametrize(
    ("yes", "no", "predicate", "number", "way", "other"),
    [
        (1, 0, "eq", 0, "next", "out"),
        (1, 0, "ne", 0, "out", "next"),
        (1, 0, "eq", 1, "out", "next"),
        (3, 5, "ne", 3, "next", "out"),
        # Neither is compared with, or both are: nothing is known.
        (1, 2, "eq", 5, "out", "next"),
        (4, 4, "ne", 4, "out", "next"),
    ],
)
def test_the_function_returns_what_it_did(
    yes: int, no: int, predicate: str, number: int, way: str, other: str
) -> None:
    text = TEXT.format(yes=yes, no=no, predicate=predicate, number=number, way=way, other=other)
    before, after = read_module(text), read_module(text)
    changed = decide_choices(after.functions["f"])
    is_decided = (yes == number) != (no == number)
    assert (changed > 0) == is_decided
    spec = TargetSpec.chosen()
    codes = [load_object(emit_object(write_module(m, plain=True), spec), ["f"], {}) for m in (before, after)]
    calls = [ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int] * 3)(c.address("f")) for c in codes]
    for n in (-1, 0, 1, 5, 40):
        for key in (-1, 0, 8, 1000, 5000):
            assert calls[0](n, key, 123) == calls[1](n, key, 123)
    if is_decided:
        # What is handed on is what was there before the loop.
        names = {phi.name for phi in after.functions["f"].blocks[1].phis()}
        assert names == {"i"}
