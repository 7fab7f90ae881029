"""Loops of which only a run says whether they go up or down count to what is computed before them."""

from itertools import product

import numpy as np
import pytest

import weft
from weft.interp import Memory, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.either_way import count_either_way

LOOP = """
define i8 @walk(ptr %y, i8 %a, i8 %b, i8 %d) {
entry:
  br label %head
head:
  %i = phi i8 [ %a, %entry ], [ %next, %body ]
  %seen = phi i32 [ 0, %entry ], [ %sum, %body ]
  %rises = icmp sgt i8 %d, 0
  %below = icmp slt i8 %i, %b
  %up = and i1 %rises, %below
  %falls = icmp slt i8 %d, 0
  %above = icmp sgt i8 %i, %b
  %down = and i1 %falls, %above
  %test = or i1 %up, %down
  br i1 %test, label %body, label %done
body:
  %wide = sext i8 %i to i32
  %thrice = mul i32 %seen, 3
  %sum = add i32 %thrice, %wide
  %next = add nsw i8 %i, %d
  br label %head
done:
  store i32 %seen, ptr %y
  ret i8 0
}
"""


def ran(module: Module, *numbers: int) -> int:
    y = np.full(1, -1, np.int32)
    memory = Memory()
    run_function(module, "walk", [memory.map_array(y), *numbers], 1, memory=memory)
    return int(y[0])


@pytest.mark.parametrize("swapped", [False, True])
def test_iterations_see_the_same_numbers(swapped: bool) -> None:
    text = LOOP
    if swapped:
        text = text.replace("and i1 %rises, %below", "and i1 %below, %rises").replace(
            "%up, %down", "%down, %up"
        )
    before, after = read_module(text), read_module(text)
    assert count_either_way(after.functions["walk"]) == 1
    verify_structure(after)
    assert "%above" not in write_module(after)
    for a, b, d in product(
        [0, 1, 5, 128, 250, 255], [0, 1, 6, 100, 127, 128, 200, 255], [0, 1, 3, 50, 128, 255, 250]
    ):
        signed = [n - 256 if n > 127 else n for n in (a, b, d)]
        numbers = range(signed[0], signed[1], signed[2]) if d else range(0)
        # The sum behind the last number may wrap around, where the loop before had no result.
        if numbers and not -128 <= numbers[-1] + signed[2] <= 127:
            continue
        assert ran(after, a, b, d) == ran(before, a, b, d), signed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add nsw", "add"),
        ("icmp sgt i8 %d, 0", "icmp sgt i8 %d, 1"),
        ("icmp slt i8 %d, 0", "icmp slt i8 %b, 0"),
        ("icmp sgt i8 %i, %b", "icmp sgt i8 %i, %a"),
        ("icmp slt i8 %i, %b", "icmp sle i8 %i, %b"),
        ("icmp slt i8 %d, 0", "icmp sgt i8 %d, 0"),
        ("label %body, label %done\n", "label %done, label %body\n"),
        ("%next = add nsw i8 %i, %d", "%e = add i8 %d, %i\n  %next = add nsw i8 %i, %e"),
    ],
)  # fmt: skip
def test_other_loops_stay(old: str, new: str) -> None:
    module = read_module(LOOP.replace(old, new))
    before = write_module(module)
    assert count_either_way(module.functions["walk"]) == 0
    assert write_module(module) == before


def multiples(seen, start, stop, step):
    number = 0
    for i in range(start, stop, step):
        seen[i] += number + 1
        number += 1
    return number


def test_ranges_of_python() -> None:
    compiled = weft.jit(multiples)
    for start, stop, step in product((0, 3, 9, 60), (0, 4, 10, 61), (-70, -3, -1, 1, 2, 7, 100)):
        got, wanted = np.zeros(64, np.int64), np.zeros(64, np.int64)
        assert compiled(got, start, stop, step) == multiples(wanted, start, stop, step)
        assert np.array_equal(got, wanted)
    extreme = 2**63 - 1
    assert compiled(np.zeros(4, np.int64), 0, extreme, extreme) == 1
    assert compiled(np.zeros(4, np.int64), 0, -extreme - 1, -extreme - 1) == 1
    assert "udiv" in "".join(compiled.inspect_llvm().values())
