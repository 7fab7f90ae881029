"""Stores to one place at the ends of ways that meet become one, others stay, and memory holds what it held."""

import re

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform import meeting_stores
from weft.transform.meeting_stores import merge_meeting_stores

#        entry
#        /   \
#     then   test ──▶ early (leaves without a store)
#       │     │
#       │   otherwise
#        \   /
#        join
FORK = """
define void @fork(ptr %out, i64 %t, i32 %x) {
entry:
  %c = icmp sgt i32 %x, 5
  br i1 %c, label %then, label %test
then:
  %p = getelementptr i32, ptr %out, i64 %t
  %one = mul i32 %x, 3
  store i32 %one, ptr %p, align 4
  br label %join
test:
  %d = icmp eq i32 %x, 0
  br i1 %d, label %join, label %otherwise
otherwise:
  %q = getelementptr i32, ptr %out, i64 %t
  store i32 7, ptr %q, align 4
  br label %join
join:
  %seen = phi i32 [ 1, %then ], [ 2, %test ], [ 3, %otherwise ]
  %r = getelementptr i32, ptr %out, i64 8
  store i32 %seen, ptr %r, align 4
  ret void
}
"""


def parsed(text: str) -> Function:
    module = read_module(text)
    verify(module)
    return next(module.definitions())


def what_is_left(function: Function) -> list[int]:
    """Memory behind a warp of four threads, of which each goes a way of its own."""
    memory, out = Memory(), np.full(64, -1, np.int32)
    ways = [np.arange(4, dtype=np.int64), np.array([9, 0, 3, 6], np.int32)]
    assert function.module is not None
    run_function(Program(function.module), function.name, [memory.map_array(out), *ways], 4, memory=memory)
    return out.tolist()


def test_ways_that_meet_store_once_behind_them() -> None:
    function = parsed(FORK)
    before = what_is_left(function)
    assert merge_meeting_stores(function) == 1
    verify(function.module)
    assert what_is_left(function) == before and before[0] == 27
    (first, second) = [i for i in function.instructions() if i.op == "store"]
    assert {first.block.name, second.block.name} == {"join.stored", "join"}
    stored = next(s for s in (first, second) if s.block.name == "join.stored")
    assert stored.operands[0].op == "phi" and stored.pointer.block is stored.block
    # The way that leaves without a store arrives by itself.
    seen = next(iter(function.blocks[-1].phis()))
    assert {b.name for b in seen.blocks} == {"join.stored", "test"}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("%q = getelementptr i32, ptr %out, i64 %t", "%q = getelementptr i32, ptr %out, i64 3", "elsewhere"),
        ("store i32 7, ptr %q, align 4", "store i16 7, ptr %q, align 4", "of another type"),
        ("store i32 7, ptr %q, align 4", "store volatile i32 7, ptr %q, align 4", "volatile"),
        (
            "store i32 7, ptr %q, align 4",
            "store i32 7, ptr %q, align 4\n  %v = load i32, ptr %out",
            "read behind",
        ),
        (
            "store i32 7, ptr %q, align 4\n  br label %join",
            "store i32 7, ptr %q, align 4\n  br i1 %d, label %join, label %join",
            "not the way of all",
        ),
    ],
)
def test_other_stores_stay(old: str, new: str, why: str) -> None:
    text = FORK.replace(old, new)
    if "label %join, label %join" in new:
        text = text.replace("[ 3, %otherwise ]", "[ 3, %otherwise ], [ 3, %otherwise ]")
    function = parsed(text)
    assert merge_meeting_stores(function) == 0, why


def test_a_loop_keeps_the_stores_before_it_and_in_it() -> None:
    function = parsed(
        """
define void @fill(ptr %out, i64 %n) {
entry:
  store i64 0, ptr %out
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %next = add i64 %i, 1
  store i64 %next, ptr %out
  br label %latch
latch:
  %c = icmp slt i64 %next, %n
  br i1 %c, label %head, label %done
done:
  ret void
}
""".replace("[ %next, %head ]", "[ %next, %latch ]")
    )
    assert merge_meeting_stores(function) == 0


def test_kernels_and_loops_do_the_same_with_it_and_without() -> None:
    def marked(x, low, high, out):
        i = cuda.grid(1)
        if i < out.size:
            if x[i] > high or (x[i] > low and i % 2 == 0):
                out[i] = 1
            else:
                out[i] = x[i] // 3

    def in_a_loop(x, low, high, out):
        for i in weft.prange(out.size):
            if x[i] > high or (x[i] > low and i % 2 == 0):
                out[i] = 1
            else:
                out[i] = x[i] // 3

    x = np.random.default_rng(5).integers(0, 200, 77).astype(np.uint8)
    number = np.arange(77)
    wanted = np.where((x > 150) | ((x > 90) & (number % 2 == 0)), 1, x // 3)
    for without in ((), ("meeting-stores",)):
        kernel, loop = cuda.jit(without=without)(marked), weft.jit(without=without)(in_a_loop)
        outs = np.zeros((2, 77), np.uint8)
        kernel[3, 32](x, 90, 150, outs[0])
        loop(x, 90, 150, outs[1])
        assert (outs == wanted).all()


def test_a_kernel_of_bytes_stores_vectors_without_masks_of_its_own() -> None:
    """On AVX2 a masked store of bytes is one branch and one store a lane."""

    @cuda.jit(width=32)
    def marked(x, out):
        i = cuda.grid(1)
        if i < out.size:
            if x[i] > 7:
                out[i] = 1
            else:
                out[i] = 2

    x = np.arange(64, dtype=np.uint8)
    out = np.zeros(64, np.uint8)
    marked[2, 32](x, out)
    assert out.tolist() == [2] * 8 + [1] * 56
    text = str(next(iter(marked.inspect_llvm().values())))
    assert re.search(r"store <(16|32) x i8>", text)


def test_many_meetings_are_found_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control flow is looked at once, however many stores are merged, those behind others among them."""
    count = 12
    parts = "".join(
        f"""
        at{k}:
          %c{k} = icmp slt i32 %n, {k}
          br i1 %c{k}, label %yes{k}, label %no{k}
        yes{k}:
          store i32 3, ptr %q
          store i32 {k}, ptr %p
          br label %at{k + 1}
        no{k}:
          store i32 4, ptr %q
          store i32 7, ptr %p
          br label %at{k + 1}
        """
        for k in range(count)
    )
    text = f"define void @f(ptr %p, ptr %q, i32 %n) {{\nstart:\n br label %at0\n{parts}\nat{count}:\n ret void\n}}"
    module = read_module(text)
    function = module.functions["f"]
    looks = []
    monkeypatch.setattr(meeting_stores, "cfg_of", lambda f: looks.append(f) or cfg_of(f))
    assert merge_meeting_stores(function) == 2 * count
    assert len(looks) == 1
    assert sum(i.op == "store" for i in function.instructions()) == 2 * count
    verify(module)
