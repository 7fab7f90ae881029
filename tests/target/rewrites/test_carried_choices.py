"""Tables of distances choose without branches, and choose what they did."""

import ctypes

import numpy as np

import weft
from weft.machine.host import chosen
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import PassList
from weft.target.rewrites.carried_choices import with_carried_choices

NONE = PassList("none", ("verify",))

ROW = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = phi i32 [ 0, %entry ], [ %x, %loop ]
  %from = getelementptr i32, ptr %a, i64 %i
  %u = load i32, ptr %from, align 4
BODY
  %to = getelementptr i32, ptr %b, i64 %i
  store i32 %x, ptr %to, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
"""

STEP = ROW.replace("BODY", "  %m = call i32 @llvm.smin.i32(i32 %p, i32 %u)\n  %x = add i32 %m, 3")


def results(text: str) -> list[int]:
    code = load_object(emit_object(text, TargetSpec.chosen(), NONE), ["f"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))
    given, made = np.random.default_rng(4).integers(-90, 90, 50).astype(np.int32), np.zeros(50, np.int32)
    function(given.ctypes.data, made.ctypes.data, 50)
    return made.tolist()


def test_a_least_number_that_is_added_to_is_a_move() -> None:
    changed = with_carried_choices(STEP, chosen())
    assert changed is not None and "icmp slt i32 %p, %u" in changed and "!unpredictable" in changed
    assert results(changed) == results(STEP)
    assert "cmov" in emit_assembly(changed, TargetSpec.chosen(), NONE)


def test_numbers_without_sign_are_compared_as_such() -> None:
    text = STEP.replace("call i32 @llvm.smin.i32", "call i32 @llvm.umax.i32")
    changed = with_carried_choices(text, chosen())
    assert changed is not None and "icmp ugt i32 %p, %u" in changed
    assert results(changed) == results(text)


def test_the_least_so_far_is_foreseen() -> None:
    assert (
        with_carried_choices(ROW.replace("BODY", "  %x = call i32 @llvm.smin.i32(i32 %p, i32 %u)"), chosen())
        is None
    )


def test_what_is_cut_off_at_a_constant_is_foreseen() -> None:
    body = "  %s = add i32 %p, %u\n  %x = call i32 @llvm.smin.i32(i32 %s, i32 255)"
    assert with_carried_choices(ROW.replace("BODY", body), chosen()) is None


def test_ends_of_ranges_are_foreseen() -> None:
    body = "  %s = add i32 %p, 64\n  %k = trunc i64 %i to i32\n  %x = call i32 @llvm.smin.i32(i32 %s, i32 %k)"
    assert with_carried_choices(ROW.replace("BODY", body), chosen()) is None


def test_distances_of_words_are_what_they_were() -> None:
    @weft.jit
    def distances(a, b, row):
        for j in range(b.size + 1):
            row[j] = j
        for k in range(a.size):
            before = row[0]
            row[0] = k + 1
            for j in range(b.size):
                here = row[j + 1]
                same = before if a[k] == b[j] else before + 1
                row[j + 1] = min(same, min(here, row[j]) + 1)
                before = here

    a, b = np.random.default_rng(5).integers(0, 4, (2, 61)).astype(np.uint8)
    row, expected = np.zeros(62, np.int32), np.zeros(62, np.int32)
    distances(a, b, row)
    distances.py_func(a, b, expected)
    np.testing.assert_array_equal(row, expected)
    assert "!unpredictable" in "".join(map(str, distances.inspect_llvm().values()))
