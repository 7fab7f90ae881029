"""Indices that count from the end are foreseen by branches, and read what they did."""

import ctypes

import numpy as np
import pytest

import weft
from weft.machine.host import chosen
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import PassList
from weft.target.rewrites.foreseen_fronts import with_foreseen_fronts

NONE = PassList("none", ("verify",))

PICKS = """
define void @f(ptr noalias %a, ptr noalias %at, ptr noalias %out, i64 %n, i64 %many) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr i32, ptr %at, i64 %k
  %x = load i32, ptr %from, align 4
  %i = sext i32 %x to i64
CHOICE
  %first = getelementptr i32, ptr %a, i64 INNER
  %place = getelementptr i32, ptr %first, i64 OUTER
  %v = load i32, ptr %place, align 4
  %to = getelementptr i32, ptr %out, i64 %k
  store i32 %v, ptr %to, align 4
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %many
  br i1 %more, label %loop, label %last
last:
  %count = phi i64 [ %next, %loop ]
  ret void
}
"""

BELOW = "  %c = icmp slt i32 %x, 0\n  %s = select i1 %c, i64 %n, i64 0"
NOT_BELOW = "  %c = icmp sgt i64 %i, -1\n  %s = select i1 %c, i64 0, i64 %n"


def scattered(at, add, sums):
    for i in range(at.size):
        sums[at[i]] += add[i]


def picks(choice: str, inner: str = "%s", outer: str = "%i") -> str:
    return PICKS.replace("CHOICE", choice).replace("INNER", inner).replace("OUTER", outer)


def results(text: str) -> list[int]:
    code = load_object(emit_object(text, TargetSpec.chosen(), NONE), ["f"])
    kinds = (*(ctypes.c_void_p,) * 3, *(ctypes.c_int64,) * 2)
    function = ctypes.CFUNCTYPE(None, *kinds)(code.address("f"))
    given = np.arange(40, dtype=np.int32) * 3
    places = np.random.default_rng(4).integers(-40, 40, 100).astype(np.int32)
    made = np.zeros(100, np.int32)
    function(given.ctypes.data, places.ctypes.data, made.ctypes.data, 40, 100)
    assert made.tolist() == given[places].tolist()
    return made.tolist()


@pytest.mark.parametrize("choice", [BELOW, NOT_BELOW])
@pytest.mark.parametrize("order", [("%s", "%i"), ("%i", "%s")])
def test_indices_of_loops_are_foreseen(choice: str, order: tuple[str, str]) -> None:
    text = picks(choice, *order)
    changed = with_foreseen_fronts(text, chosen().isa)
    assert changed is not None and "branch_weights" in changed
    assert results(changed) == results(text)
    assert (
        "cmov" not in (assembly := emit_assembly(changed, TargetSpec.chosen(), NONE))
        and "sar" not in assembly
    )


def test_code_that_runs_once_stays() -> None:
    text = picks(BELOW).replace("br i1 %more, label %loop, label %last", "br label %last")
    assert (
        with_foreseen_fronts(
            text.replace("[ %next, %loop ]\n  %from", "[ 0, %entry ]\n  %from"), chosen().isa
        )
        is None
    )


def test_what_is_used_again_stays() -> None:
    again = picks(BELOW).replace("store i32 %v", "store i64 %s, ptr %from, align 4\n  store i32 %v")
    assert with_foreseen_fronts(again, chosen().isa) is None


@pytest.mark.parametrize("choice", [BELOW.replace("i64 0", "i64 3"), BELOW.replace("slt", "ult")])
def test_other_choices_stay(choice: str) -> None:
    assert with_foreseen_fronts(picks(choice), chosen().isa) is None


def test_differences_may_have_any_sign() -> None:
    text = picks(BELOW).replace("%i = sext i32 %x to i64", "%i = sub i64 %n, %k")
    text = text.replace("icmp slt i32 %x, 0", "icmp slt i64 %i, 0")
    assert with_foreseen_fronts(text, chosen().isa) is None


def test_what_is_counted_on_from_a_loaded_index_is_foreseen() -> None:
    counted = "%i = sext i32 %x to i64\n  %y = add i64 %i, 0"
    text = picks(BELOW.replace("i32 %x", "i64 %y")).replace("%i = sext i32 %x to i64", counted)
    changed = with_foreseen_fronts(text, chosen().isa)
    assert changed is not None and results(changed) == results(text)


def test_two_indices_of_a_block_are_foreseen() -> None:
    second = """  %v1 = load i32, ptr %place, align 4
  %next.at = getelementptr i32, ptr %from, i64 0
  %y = load i32, ptr %next.at, align 4
  %j = sext i32 %y to i64
  %d = icmp slt i32 %y, 0
  %t = select i1 %d, i64 %n, i64 0
  %second = getelementptr i32, ptr %a, i64 %t
  %place2 = getelementptr i32, ptr %second, i64 %j
  %v2 = load i32, ptr %place2, align 4
  %w = xor i32 %v1, %v2
  %v = xor i32 %w, %v2"""
    text = picks(BELOW).replace("  %v = load i32, ptr %place, align 4", second)
    changed = with_foreseen_fronts(text, chosen().isa)
    assert changed is not None and changed.count("branch_weights") == 2
    assert results(changed) == results(text)


def test_a_loop_adds_where_data_say() -> None:
    random = np.random.default_rng(5)
    at, add = random.integers(-50, 50, 300).astype(np.int32), random.integers(0, 9, 300)
    expected = np.zeros(50, np.int64)
    np.add.at(expected, at, add)
    sums = np.zeros(50, np.int64)
    loop = weft.jit(scattered)
    loop(at, add, sums)
    assert sums.tolist() == expected.tolist()
    if chosen().arch == "x86_64":
        assert "weft.front" in "".join(loop.inspect_llvm().values())
