"""Loops of LLVM IR that a compiler has turned: they are tested at their end, for not being there yet."""

import ctypes

import numpy as np

from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object

TURNED = """
define void @f(ptr noalias %a, ptr noalias %o, i64 %n, i64 %m) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %before, label %done
before:
  %more = icmp sgt i64 %m, 0
  br label %head
head:
  %i = phi i64 [ 0, %before ], [ %next, %latch ]
  br i1 %more, label %inner, label %latch
inner:
  %k = phi i64 [ %j, %again ], [ 0, %head ]
  %x = phi i32 [ %y, %again ], [ 1, %head ]
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  %v = load i32, ptr %p, align 4
  %y = add i32 %x, %v
  %large = icmp sgt i32 %y, 40
  br i1 %large, label %latch, label %again
again:
  %j = add nuw nsw i64 %k, 1
  %last = icmp eq i64 %j, %m
  br i1 %last, label %latch, label %inner
latch:
  %w = phi i32 [ 0, %head ], [ %x, %inner ], [ %y, %again ]
  %q = getelementptr inbounds i32, ptr %o, i64 %i
  store i32 %w, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  %end = icmp eq i64 %next, %n
  br i1 %end, label %done, label %head
done:
  ret void
}
"""


def by_python(a: np.ndarray, m: int) -> list[int]:
    found = []
    for v in a.tolist():
        x = int(m > 0)
        for _ in range(m):
            if x + v > 40:
                break
            x += v
        found.append(x)
    return found


def test_they_are_found_to_be_parallel_and_do_what_they_did() -> None:
    made = vectorize_ir(TURNED, "f", loop="auto")
    said = [remark.message for remark in made.remarks]
    assert any("iterations of this loop are independent" in message for message in said), said
    assert any("iterations at a time" in message for message in said), said
    code = load_object(made.object_code, ["f"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        code.address("f")
    )
    for n, m in ((0, 5), (1, 3), (70, 0), (70, 1), (133, 9)):
        a = np.random.default_rng(n).integers(-3, 12, n).astype(np.int32)
        o = np.full(n + 1, -7, np.int32)
        call(a.ctypes.data, o.ctypes.data, n, m)
        assert o.tolist() == [*by_python(a, m), -7]


def test_lanes_that_are_left_pass_the_end_of_a_loop_together() -> None:
    def exits(loop: str, *without: str) -> str:
        made = vectorize_ir(TURNED, "f", loop=loop, without=without)
        assert made.loops == 1
        (found,) = [r.message for r in made.remarks if "exits" in r.message]
        return found

    assert "1 of its 2 exits is divergent" in exits("auto")
    assert "2 of its 2 exits are divergent" in exits("auto", "head-tests")
    # A header that has been named keeps its name, and remarks call it so.
    assert "1 of its 2 exits is divergent" in exits("head")
    assert any("the loop at head runs" in r.message for r in vectorize_ir(TURNED, "f", loop="head").remarks)
