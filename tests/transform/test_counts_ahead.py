"""Short loops in order count to what is computed before them, which LLVM unrolls."""

from itertools import product

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.counts_ahead import count_ahead

LOOP = """
define i8 @walk(ptr %y, i8 %a, i8 %b) {{
entry:
  %first = {first}
  br label %head
head:
  %i = phi i8 [ %first, %entry ], [ %next, %body ]
  %seen = phi i32 [ 0, %entry ], [ %sum, %body ]
  %test = icmp {predicate} i8 %i, %b
  br i1 %test, label %{then}, label %{otherwise}
body:
  %wide = zext i8 %i to i32
  %twice = mul i32 %seen, 3
  %sum = add i32 %twice, %wide
  %next = add {flags} i8 %i, 1
  br label %head
done:
  store i32 %seen, ptr %y
  ret i8 %i
}}
"""


def made(
    predicate: str = "slt", flags: str = "", first: str = "sub i8 %a, 0", *, swapped: bool = False
) -> Module:
    then, otherwise = ("done", "body") if swapped else ("body", "done")
    return read_module(
        LOOP.format(predicate=predicate, flags=flags, first=first, then=then, otherwise=otherwise)
    )


def changed(old: str, new: str) -> Module:
    text = LOOP.format(predicate="slt", flags="nsw", first="add i8 %a, 1", then="body", otherwise="done")
    return read_module(text.replace(old, new))


def ran(module: Module, a: int, b: int) -> tuple[int, int]:
    y = np.full(1, -1, np.int32)
    memory = Memory()
    result = run_function(module, "walk", [memory.map_array(y), a, b], 1, memory=memory)
    assert result.value is not None
    return int(np.ravel(result.value.data)[0]), int(y[0])


@pytest.mark.parametrize(
    ("predicate", "flags", "swapped"),
    [("slt", "nsw", False), ("ult", "nuw", False), ("ne", "", False), ("sge", "", True), ("eq", "", True)],
)
def test_iterations_see_the_same_numbers(predicate: str, flags: str, swapped: bool) -> None:
    before, after = (made(predicate, flags, swapped=swapped) for _ in range(2))
    assert count_ahead(after.functions["walk"]) == 1
    verify_structure(after)
    edges = [0, 1, 2, 100, 126, 127, 128, 129, 200, 254, 255]
    for a, b in product(edges, edges):
        assert ran(after, a, b) == ran(before, a, b), (a, b)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 100), (0, 127), (127, 127), (128, 255), (5, 2)])
def test_flags_that_stay_hold(a: int, b: int) -> None:
    before, after = made("slt", "nuw nsw"), made("slt", "nuw nsw")
    assert count_ahead(after.functions["walk"]) == 1
    assert "add nuw nsw i8 %first" in write_module(after)
    assert ran(after, a, b) == ran(before, a, b)


def test_a_step_that_may_wrap_one_way_leaves_no_flags() -> None:
    module = made("slt", "nsw")
    count_ahead(module.functions["walk"])
    assert "add i8 %first" in write_module(module)


@pytest.mark.parametrize(
    "module",
    [
        made(first="load i8, ptr %y"),
        made(first="add i8 %a, %b", flags="nsw", predicate="sle"),
        changed("%i, 1\n", "%i, 2\n"),
        changed("[ %first", "[ %a"),
    ],
    ids=["loaded", "to the bound itself", "by twos", "from a parameter"],
)
def test_other_loops_stay(module: Module) -> None:
    before = write_module(module)
    assert count_ahead(module.functions["walk"]) == 0
    assert write_module(module) == before


@weft.jit
def count_in_parts(data, counts):
    parts = counts.shape[0]
    length = (data.size + parts - 1) // parts
    for part in weft.prange(parts):
        for i in range(length * part, min(length * (part + 1), data.size)):
            counts[part, data[i]] += 1


@cuda.jit(width=1)
def count_parts(data, counts):
    part = cuda.grid(1)
    length = (data.size + 7) // 8
    if part < 8:
        for i in range(length * part, min(length * (part + 1), data.size)):
            counts[part, data[i]] += 1


@pytest.mark.spread
@pytest.mark.parametrize("size", [0, 1, 7, 8, 64, 1003])
@pytest.mark.parametrize("count", [count_in_parts, count_parts[1, 8]], ids=["loop", "kernel"])
def test_parts_of_an_array_are_counted(count, size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    counts = np.zeros((8, 256), np.int32)
    count(data, counts)
    np.testing.assert_array_equal(counts.sum(axis=0), np.bincount(data, minlength=256))


def test_increments_are_unrolled() -> None:
    texts = []
    for without in ((), ("counts-ahead",)):
        compiled = weft.jit(count_in_parts.py_func, without=without)
        compiled(np.zeros(100, np.uint8), np.zeros((8, 256), np.int32))
        (text,) = compiled.inspect_llvm().values()
        texts.append(text.count("load i8"))
    unrolled, before = texts
    # The loop is written out eight times, and so are no versions that hardly run.
    assert unrolled >= before + 7
