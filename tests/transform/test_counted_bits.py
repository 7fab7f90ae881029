"""Loops that count the bits of a number."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.interp import Memory, Program, run_function
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.counted_bits import count_bits

COUNT = """
define void @count(ptr %out, i64 %t, i32 %x) {
entry:
  br label %head
head:
  %n = phi i64 [ 5, %entry ], [ %more, %body ]
  %twice = phi i16 [ 0, %entry ], [ %most, %body ]
  %v = phi i32 [ %x, %entry ], [ %low, %body ]
  %c = icmp eq i32 %v, 0
  br i1 %c, label %done, label %body
body:
  %less = add i32 %v, -1
  %low = and i32 %less, %v
  %more = add i64 %n, 1
  %most = add i16 %twice, 2
  br label %head
done:
  %w = sext i16 %twice to i64
  %s = shl i64 %w, 8
  %z = zext i32 %v to i64
  %a = add i64 %s, %n
  %b = add i64 %a, %z
  %p = getelementptr i64, ptr %out, i64 %t
  store i64 %b, ptr %p
  ret void
}
"""


def parsed(text: str) -> Function:
    module = read_module(text)
    verify(module)
    return module.functions["count"]


def what_is_left(function: Function) -> list[int]:
    """Memory behind a warp of four threads."""
    memory, out = Memory(), np.full(4, -1, np.int64)
    numbers = np.array([0, 1, -1, 0x40F0], np.int32)
    assert function.module is not None
    arguments = [memory.map_array(out), np.arange(4, dtype=np.int64), numbers]
    run_function(Program(function.module), "count", arguments, 4, memory=memory)
    return out.tolist()


def test_bits_are_counted_at_once() -> None:
    function, before = parsed(COUNT), what_is_left(parsed(COUNT))
    assert count_bits(function) == 1
    verify(function.module)
    assert what_is_left(function) == before == [(2 * n << 8) + 5 + n for n in (0, 1, 32, 5)]
    assert [b.name for b in function.blocks] == ["entry", "head", "done"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add i32 %v, -1", "add i32 %v, -2"),
        ("and i32 %less, %v", "and i32 %less, %x"),
        ("icmp eq i32 %v, 0", "icmp eq i32 %v, 1"),
        ("icmp eq", "icmp sle"),
        ("label %done, label %body", "label %body, label %done"),
        ("add i64 %n, 1", "add i64 %n, %t"),
        ("add i64 %n, 1", "mul i64 %n, 3"),
        ("%most = add", "store i64 1, ptr %out\n  %most = add"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    assert count_bits(parsed(COUNT.replace(old, new))) == 0


def test_kernels_and_loops_do_the_same_with_it_and_without() -> None:
    def by_thread(x, out):
        i = cuda.grid(1)
        if i < out.size:
            n, v = 0, x[i]
            while v != 0:
                v &= v - np.uint8(1)
                n += 1
            out[i] = n

    def by_loop(x, out):
        for i in prange(out.size):
            n, v = 0, x[i]
            while v:
                v &= v - np.uint8(1)
                n += 1
            out[i] = n

    x = np.arange(256).astype(np.uint8)
    for without in ((), ("counted-bits",)):
        for run in (cuda.jit(without=without)(by_thread)[2, 128], weft.jit(without=without)(by_loop)):
            out = np.zeros(256, np.int32)
            run(x, out)
            assert out.tolist() == [n.bit_count() for n in range(256)]
