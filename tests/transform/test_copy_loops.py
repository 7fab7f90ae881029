"""Loops that copy a run have a version that is one copy, and memory holds what it held (`copy_loops`)."""

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.copy_loops import copy_at_once

COPY = """
define void @f(ptr %a, ptr %b, i64 %n, i64 %from, i64 %to, i64 %count) {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp {test}
  br i1 %more, label %body, label %out
body:
  %i = add nsw i64 %k, %from
  %i.low = icmp slt i64 %i, 0
  %i.more = select i1 %i.low, i64 %n, i64 0
  %p = getelementptr {type}, ptr %a, i64 %i
  %p.at = getelementptr {type}, ptr %p, i64 %i.more
  %x = load {loaded}, ptr %p.at, align 1
  %j = add nsw i64 {index}, %to
  %j.low = icmp slt i64 %j, 0
  %j.more = select i1 %j.low, i64 %n, i64 0
  %q = getelementptr {type}, ptr %b, i64 %j
  %q.at = getelementptr {type}, ptr %q, i64 %j.more
  {change}
  store {loaded} {value}, ptr %q.at, align 1
  %next = add nuw nsw i64 %k, 1
  br label %head
out:
  ret void
}}
"""
BYTES = {
    "test": "slt i64 %k, %count", "type": "i8", "loaded": "i8", "index": "%k", "change": "", "value": "%x"
}  # fmt: skip


def test_a_version_of_a_loop_that_copies_is_one_copy() -> None:
    for type in ("i8", "i16", "i32", "i64", "float", "double"):
        module = read_module(COPY.format_map(BYTES | {"type": type, "loaded": type}))
        assert copy_at_once(module, module.functions["f"]) == 1
        verify(module)
        (call,) = (i for i in module.functions["f"].instructions() if i.op == "call")
        assert (call.callee_name or "").startswith("llvm.memmove.")


@pytest.mark.parametrize(
    "changes",
    [
        {"test": "sle i64 %k, %count"},
        {"type": "i16"},
        {"index": "%from"},
        {"change": "%y = xor i8 %x, 1", "value": "%y"},
        {"change": "store volatile i64 %k, ptr %a"},
        {"loaded": "i1", "type": "i1"},
    ],
)
def test_loops_that_do_more_stay(changes: dict[str, str]) -> None:
    module = read_module(COPY.format_map(BYTES | changes))
    assert copy_at_once(module, module.functions["f"]) == 0


def test_loops_that_fill_a_run_are_left_for_that() -> None:
    text = COPY.format_map(BYTES).replace("%i = add nsw i64 %k, %from", "%i = add nsw i64 %count, %from")
    module = read_module(text)
    assert copy_at_once(module, module.functions["f"]) == 0
    assert not any("chosen" in block.name for block in module.functions["f"].blocks)


@pytest.mark.spread
@pytest.mark.parametrize("type", ["i8", "i32"])
@pytest.mark.parametrize("count", [0, -4, 1, 5, 12])
@pytest.mark.parametrize(("start", "to"), [(3, 20), (3, 3), (3, 4), (3, 7), (9, 3), (9, 8), (-5, 9), (2, -6)])
def test_memory_holds_what_it_held(type: str, count: int, start: int, to: int) -> None:
    text = COPY.format_map(BYTES | {"type": type, "loaded": type})
    results: list[np.ndarray] = []
    for changed in (False, True):
        module = read_module(text)
        assert not changed or copy_at_once(module, module.functions["f"]) == 1
        array = np.arange(40, dtype=np.uint8 if type == "i8" else np.uint32)
        memory = Memory()
        place = memory.map_array(array)
        arguments = [place, place, *(np.array([n]) for n in (array.size, start, to, count))]
        run_function(Program(module), "f", arguments, 1, memory=memory)
        results.append(array)
    assert (results[0] == results[1]).all()


def _copied(source, first, starts, result):
    expected = result.copy()
    for i in range(first.size):
        for k in range(starts[i + 1] - starts[i]):
            expected[starts[i] + k] = source[first[i] + k]
    return expected


@cuda.jit
def copies(source, first, starts, result):
    i = cuda.grid(1)
    if i < first.size:
        begin = starts[i]
        for k in range(starts[i + 1] - begin):
            result[begin + k] = source[first[i] + k]


@cuda.jit
def copies_from(source, first, starts, result):
    i = cuda.grid(1)
    if i < first.size:
        moved = first[i] - starts[i]
        for k in range(starts[i], starts[i + 1]):
            result[k] = source[moved + k]


@weft.jit
def copies_in_a_loop(source, first, starts, result):
    for i in weft.prange(first.size):
        begin = starts[i]
        of = first[i]
        for k in range(starts[i + 1] - begin):
            result[begin + k] = source[of + k]


@pytest.mark.spread
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize(
    "copy",
    [copies[2, 32], copies_from[2, 32], copies_in_a_loop, cuda.jit(copies.py_func, width=8)[2, 32]],
    ids=["kernel", "moved", "loop", "lanes"],
)
def test_runs_of_all_lengths_are_copied(copy, dtype: type) -> None:
    lengths = np.arange(60)[::-1]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    source = np.arange(200).astype(dtype)
    first = (np.arange(60) * 2).astype(np.int32)
    result = np.full(starts[-1] + 8, 77, dtype)
    expected = _copied(source, first, starts, result)
    copy(source, first, starts, result)
    assert (result == expected).all()


@pytest.mark.spread
@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 3, 7])
@pytest.mark.parametrize("copy", [copies[1, 1], copies_in_a_loop], ids=["kernel", "loop"])
def test_a_run_may_be_copied_onto_itself(copy, shift: int) -> None:
    array = np.arange(60, dtype=np.uint8)
    starts, first = np.array([20, 45], np.int32), np.array([20 + shift], np.int32)
    expected = array.copy()
    for k in range(25):
        expected[20 + k] = expected[20 + shift + k]
    copy(array, first, starts, array)
    assert (array == expected).all()


@pytest.mark.parametrize("copy", [copies[1, 1], copies_from[1, 1], copies_in_a_loop], ids=["k", "f", "l"])
def test_runs_that_begin_before_an_array_count_from_its_end(copy) -> None:
    source, result = np.arange(20, dtype=np.uint8), np.zeros(20, np.uint8)
    copy(source, np.array([-4], np.int32), np.array([2, 9], np.int32), result)
    assert result[2:9].tolist() == [16, 17, 18, 19, 0, 1, 2]


#   entry ──> outer <──────────────┐
#              │ └─> head <──┐     │
#             out    │ └─> body    │
#                    └────────> latch
RUNS = """
define i64 @{name}(ptr {apart} %a, ptr {apart} %b, ptr {apart} %c, i64 %n) {attributes} {{
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %pos = phi i64 [ 0, %entry ], [ %pos.out, %latch ]
  %again = icmp slt i64 %i, %n
  br i1 %again, label %begin, label %out
begin:
  %at.length = getelementptr i32, ptr %c, i64 {which}
  %length = load i32, ptr %at.length, align 4
  br label %head
head:
  %k = phi i32 [ 0, %begin ], [ %next, %body ]
  %to = phi i64 [ %pos, %begin ], [ %to.next, %body ]
  %more = icmp {test} i32 %k, %length
  br i1 %more, label %body, label %latch
body:
  %wide = sext i32 %k to i64
  %p = getelementptr i16, ptr %a, i64 %wide
  %x = load i16, ptr %p, align 2
  %q = getelementptr i16, ptr %b, i64 %to
  store i16 %x, ptr %q, align 2
  %next = add i32 %k, 1
  %to.next = add i64 %to, 1
  br label %head
latch:
  %pos.out = phi i64 [ %to, %head ]
  %i.next = add i64 %i, 1
  br label %outer
out:
  ret i64 %pos
}}
"""
ROW = {"name": "f", "apart": "", "attributes": "", "which": "%i", "test": "slt"}


@pytest.mark.parametrize("apart", ["", "noalias"])
@pytest.mark.parametrize("lengths", [[0, 3, 1], [5], [2, -1, 4]])
@pytest.mark.parametrize("shift", [0, 1, 2, 5, 40])
def test_runs_that_are_looked_up_are_copied_and_what_is_counted_goes_on(
    apart: str, lengths: list[int], shift: int
) -> None:
    if apart and shift < 40:
        pytest.skip("these overlap")
    results: list[tuple[int, list[int]]] = []
    for changed in (False, True):
        module = read_module(RUNS.format_map(ROW | {"apart": apart}))
        assert not changed or copy_at_once(module, module.functions["f"]) == 1
        verify(module)
        array, counts, memory = np.arange(90, dtype=np.int16), np.array(lengths, np.int32), Memory()
        place = memory.map_array(array)
        arguments = [place, place + np.uint64(2 * shift), memory.map_array(counts), np.array([counts.size])]
        outcome = run_function(Program(module), "f", arguments, 1, memory=memory)
        results.append((int(outcome.value.data[0]), array.tolist()))
        blocks = {block.name for block in module.functions["f"].blocks}
    assert results[0] == results[1] and ("head.chosen" in blocks) != bool(apart)


@pytest.mark.parametrize(
    "changes",
    [
        {"which": "3"},  # a row
        {"test": "ult"},  # from the largest signed number it goes to the smallest
        {"name": "memmove"},
        {"attributes": '"no-builtin-memmove"'},
    ],
)
def test_rows_and_the_library_itself_stay(changes: dict[str, str]) -> None:
    module = read_module(RUNS.format_map(ROW | changes))
    assert copy_at_once(module, next(iter(module.definitions()))) == 0
