"""Loads at a counter's next value have addresses of their own, and LLVM hands none on."""

import numpy as np
import pytest

import weft
from weft import prange
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.next_places import load_next_places

LOOP = """
define void @differences(ptr %b, ptr %out, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %exit
body:
  %here = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %here
  %next = add nuw nsw i64 %i, 1
  %there = getelementptr float, ptr %b, i64 %next
  %y = load float, ptr %there
  %d = fsub float %y, %x
  %to = getelementptr float, ptr %out, i64 %i
  store float %d, ptr %to
  br label %head
exit:
  ret void
}
"""


def ran(module) -> list[float]:
    memory, out = Memory(), np.zeros(6, np.float32)
    b = np.array([1, 4, 9, 16, 25, 36, 49], np.float32)
    run_function(module, "differences", [memory.map_array(b), memory.map_array(out), 6], 1, memory=memory)
    return out.tolist()


def test_what_is_loaded_next_is_at_a_distance() -> None:
    before, after = read_module(LOOP), read_module(LOOP)
    assert load_next_places(after.functions["differences"]) == 1
    verify_structure(after)
    assert "i64 1" in write_module(after) and ran(after) == ran(before) == [3, 5, 7, 9, 11, 13]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%here = getelementptr float, ptr %b", "%here = getelementptr float, ptr %out"),
        ("%y = load float, ptr %there", "store float %x, ptr %there\n  %y = fadd float %x, %x"),
        ("%there = getelementptr float", "%there = getelementptr i8"),
        # What is handed on keeps LLVM from making vectors.
        (
            "%more = icmp",
            "%last = phi float [ 0.0, %entry ], [ %d, %body ]\n"
            "  %other = phi float [ 0.0, %entry ], [ %last, %body ]\n"
            "  %more = icmp",
        ),
    ],
    ids=["another array", "a store", "another size", "carried"],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = LOOP.replace(old, new)
    assert text != LOOP
    module = read_module(text)
    verify_structure(module)
    before = write_module(module)
    assert load_next_places(module.functions["differences"]) == 0
    assert write_module(module) == before


@weft.jit
def least(a, y, x):
    return min(min(a[y - 1, x], a[y, x]), min(a[y, x + 1], a[y + 1, x + 1]))


def eroded(a, out):
    for y in prange(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            out[y, x] = least(a, y, x)


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type", [np.uint8, np.int16, np.float32])
def test_rows_of_all_lengths(level: str, type, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled, as_written = (weft.jit(eroded, without=without) for without in ((), ("next-places",)))
    for width in (3, 4, 31, 33, 100):
        a = np.random.default_rng(width).integers(0, 100, (5, width)).astype(type)
        got, other, wanted = (np.zeros_like(a) for _ in range(3))
        compiled(a, got)
        as_written(a, other)
        for y in range(1, 4):
            wanted[y, 1:-1] = np.minimum.reduce([a[y - 1, 1:-1], a[y, 1:-1], a[y, 2:], a[y + 1, 2:]])
        assert np.array_equal(got, wanted) and np.array_equal(other, wanted)
    # A loop that hands values on makes a vector of two registers by turning these around.
    texts = ["".join(each.inspect_llvm().values()) for each in (compiled, as_written)]
    assert "vector.recur" not in texts[0]
    assert "vector.recur" in texts[1] or (level, type) != ("x86-64-v3", np.uint8)
