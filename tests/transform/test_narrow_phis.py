"""φs that are only cut down become narrow, others stay, and the function returns what it returned."""

import numpy as np
import pytest

from transform.chain import returned
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.types import IntType
from weft.ir.verifier import verify
from weft.transform.numbers.narrow_phis import narrow_phis

# A count that leaves two loops by way of two φs, one exit of the outer loop giving a constant.
COUNT = """
define i16 @count(i64 %limit, i64 %stop) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %next, %latch ]
  %over = icmp uge i64 %n, %limit
  br i1 %over, label %out, label %body
body:
  %stops = icmp eq i64 %n, %stop
  br i1 %stops, label %early, label %latch
latch:
  %next = add nuw i64 %n, 70001
  br label %head
out:
  %left = phi i64 [ %n, %head ]
  br label %join
early:
  br label %join
join:
  %result = phi i64 [ %left, %out ], [ -3, %early ]
  %cut = trunc nuw i64 %result to i16
  %once.more = trunc i64 %result to i16
  %sum = add i16 %cut, %once.more
  ret i16 %sum
}
"""


def parsed(text: str) -> Function:
    module = read_module(text)
    verify(module)
    return next(module.definitions())


def phi_bits(function: Function) -> dict[str, int]:
    return {
        phi.name: phi.type.bits
        for block in function.blocks
        for phi in block.phis()
        if isinstance(phi.type, IntType)
    }


def test_result_of_a_loop_is_cut_before_it_leaves_and_the_counter_is_not() -> None:
    function = parsed(COUNT)
    assert narrow_phis(function) == 2
    verify(function.module)
    assert phi_bits(function) == {"n": 64, "left": 16, "result": 16}
    (cut,) = [i for i in function.instructions() if i.op == "trunc"]
    assert cut.block.name == "head" and not cut.flags


def test_narrowed_function_returns_the_same() -> None:
    limits = np.array([0, 1, 70_001, 400_000, 1_000_000], np.int64)
    stops = np.array([0, 5, 140_002, 140_002, -1], np.int64)
    # Without the flag, which makes poison of results that do not fit.
    text = COUNT.replace("trunc nuw", "trunc")
    module = read_module(text)
    run = returned("count", [limits, stops], 5)
    before = run(module, "FR")
    narrow_phis(module.functions["count"])
    assert run(module, "FR") == before


@pytest.mark.parametrize(
    ("use", "why"),
    [
        ("%w = add i64 %result, 1", "an addition needs all bits"),
        ("%w = trunc i64 %result to i32", "cut to another type"),
        ("%c = icmp eq i64 %result, 0", "compared"),
    ],
)
def test_phi_with_another_use_stays(use: str, why: str) -> None:
    function = parsed(COUNT.replace("  %sum =", f"  {use}\n  %sum ="))
    assert narrow_phis(function) == 0, why


def test_phis_that_only_use_each_other_are_left_alone() -> None:
    function = parsed(
        """
define void @idle(i1 %c) {
entry:
  br label %head
head:
  %a = phi i64 [ 0, %entry ], [ %b, %latch ]
  br i1 %c, label %latch, label %done
latch:
  %b = phi i64 [ %a, %head ]
  br label %head
done:
  ret void
}
"""
    )
    assert narrow_phis(function) == 0


def test_phi_that_is_cut_in_the_loop_it_goes_round_is_narrow_all_the_way() -> None:
    function = parsed(
        """
define i8 @last(i64 %x, i64 %y, i1 %c) {
entry:
  br label %head
head:
  %a = phi i64 [ %x, %entry ], [ %b, %latch ]
  br i1 %c, label %latch, label %done
latch:
  %b = phi i64 [ %a, %head ]
  br label %head
done:
  %out = phi i64 [ %a, %head ]
  %t = trunc i64 %out to i8
  ret i8 %t
}
"""
    )
    assert narrow_phis(function) == 3
    verify(function.module)
    assert phi_bits(function) == {"a": 8, "b": 8, "out": 8}


SWITCHED = """
define i8 @switched(i32 %x, i32 %y) {
entry:
  %sum = add i32 %x, %y
  switch i32 %x, label %other [ i32 0, label %join
    i32 1, label %join ]
other:
  br label %join
join:
  %n = phi i32 [ %sum, %entry ], [ %y, %other ], [ %sum, %entry ]
  %cut = trunc i32 %n to i8
  ret i8 %cut
}
"""


def test_value_is_cut_once_for_all_edges_from_a_block() -> None:
    function = parsed(SWITCHED)
    assert narrow_phis(function) == 1
    assert function.module is not None
    verify(function.module)
    x, y = np.array([0, 1, 2, 5], np.int32), np.array([7, 300, -1, 9], np.int32)
    assert returned("switched", (x, y), 4)(function.module, "FR") == [7, 301 - 256, 255, 9]


# Hits are counted, or something else is done with them, and the low bits are stored.
HITS = """
define i16 @hits(i64 %limit, i64 %add) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %more, %body ]
  %n = phi i64 [ 3, %entry ], [ %next, %body ]
  %over = icmp uge i64 %k, %limit
  %cut = trunc i64 %n to i16
  br i1 %over, label %out, label %body
body:
  %odd = trunc i64 %k to i1
  %hit = zext i1 %odd to i64
  %sum = add nuw i64 %n, %hit
  %product = mul i64 %sum, %add
  %some = select i1 %odd, i64 %product, i64 %n
  %next = OPERATION
  %more = add i64 %k, 1
  br label %head
out:
  %result = phi i16 [ %cut, %head ]
  ret i16 %result
}
"""


@pytest.mark.parametrize(
    ("operation", "narrow"),
    [
        ("xor i64 %some, 77777", 1),
        ("sub i64 %add, %some", 1),
        ("lshr i64 %some, 1", 0),
        ("select i1 %odd, i64 %some, i64 %k", 1),
        ("and i64 %some, %k", 1),
        ("sdiv i64 %some, 3", 0),
    ],
)
def test_what_is_between_phis_is_narrow_with_them(operation: str, narrow: int) -> None:
    text = HITS.replace("OPERATION", operation)
    function = parsed(text)
    limits, adds = (n.reshape(-1) for n in np.meshgrid([0, 1, 5, 40], [0, 7, -70001]))
    run = returned("hits", [limits, adds], limits.size)
    before = run(read_module(text), "FR")
    assert narrow_phis(function) == narrow
    verify(function.module)
    assert phi_bits(function)["n"] == (16 if narrow else 64)
    assert phi_bits(function)["k"] == 64
    assert run(function.module, "FR") == before
