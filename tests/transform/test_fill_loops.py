"""Loops that fill become one memset, others stay, and memory holds what it held (`fill_loops`)."""

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.fill_loops import fill_at_once


def test_a_kernel_in_cuda_cpp_fills_runs_that_are_looked_up_in_each_iteration() -> None:
    """Its bound may be loaded before the loop, and that printf is no function of the library is no matter."""
    module = cuda.Module(
        'extern "C" __global__ void fill(const char *__restrict__ x, const int *__restrict__ at, char *__restrict__ y)'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = at[i]; k < at[i + 1]; k++) y[k] = x[i]; }"
    )
    values, result = np.arange(4, dtype=np.int8), np.full(20, -1, np.int8)
    module["fill"][1, 4](values, np.array([0, 9, 9, 12, 20], np.int32), result)
    assert list(result) == [0] * 9 + [2] * 3 + [3] * 8
    assert "llvm.memset" in module["fill"].inspect_llvm()


#   entry ──> head <──┐
#              │ └─> body
#             out
LOOP = """
define void @f(ptr %rows, i64 %row) {{
entry:
  %own = alloca [64 x i32]
  br label %head
head:
  %k = phi i32 [ {start}, %entry ], [ %next, %body ]
  %more = icmp {test}
  br i1 %more, label %body, label %out
body:
  %place = zext nneg i32 %k to i64
  %first = shl i64 %row, 6
  %begin = getelementptr i32, ptr {base}, i64 {row}
  %p = getelementptr i32, ptr %begin, i64 {index}
  store i32 {value}, ptr %p, align 4
  %next = add nuw nsw i32 %k, {step}
  br label %head
out:
  ret void
}}
"""
FILL = {
    "start": 3,
    "test": "ult i32 %k, 60",
    "base": "%rows",
    "row": "%first",
    "index": "%place",
    "value": 0,
    "step": 1,
}


def run(module: Module, rows: np.ndarray, row: int) -> None:
    memory = Memory()
    run_function(Program(module), "f", [memory.map_array(rows), np.array([row])], 1, memory=memory)


@pytest.mark.parametrize(
    ("changes", "filled"),
    [
        ({}, 57 * 4),
        ({"test": "slt i32 %k, 60", "value": 0x5A5A5A5A}, 57 * 4),
        ({"test": "ne i32 %k, 60"}, 57 * 4),
        ({"test": "ule i32 %k, 60"}, 58 * 4),
        ({"value": 1}, None),
        ({"step": 2}, None),
        ({"index": "%row"}, None),
        ({"base": "%own", "row": 0}, None),
        ({"test": "ult i32 %k, 10"}, None),
    ],
)
def test_a_row_is_filled_at_once(changes: dict[str, object], filled: int | None) -> None:
    text = LOOP.format(**FILL | changes)
    module = read_module(text)
    assert fill_at_once(module, module.functions["f"]) == (filled is not None)
    verify(module)
    calls = [i for i in module.functions["f"].instructions() if i.op == "call"]
    assert [call.args[2].value for call in calls] == ([filled] if filled else [])
    memory = []
    for program in (read_module(text), module):
        rows = np.arange(4 * 64, dtype=np.int32)
        run(program, rows, 2)
        memory.append(rows)
    np.testing.assert_array_equal(*memory)


def test_a_loop_that_is_tested_at_its_end_and_one_that_does_more() -> None:
    bottom = """
define void @f(ptr %rows, i64 %row) {
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = getelementptr double, ptr %rows, i64 %k
  store double 0.0, ptr %p, align 8
  %next = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %body, label %out
out:
  ret void
}
"""
    module = read_module(bottom)
    assert fill_at_once(module, module.functions["f"]) == 1
    rows = np.ones(20)
    run(module, rows, 0)
    assert (rows == [0] * 16 + [1] * 4).all()
    busy = bottom.replace("  %next =", "  store volatile i64 %k, ptr %rows\n  %next =")
    module = read_module(busy)
    assert fill_at_once(module, module.functions["f"]) == 0


@cuda.jit
def runs(values, starts, result):
    i = cuda.grid(1)
    if i < values.size:
        for k in range(starts[i], starts[i + 1]):
            result[k] = values[i]


@weft.jit
def runs_in_a_loop(values, starts, result):
    for i in weft.prange(values.size):
        for k in range(starts[i], starts[i + 1]):
            result[k] = values[i]


@pytest.mark.parametrize("fill", [runs[3, 4], runs_in_a_loop], ids=["kernel", "loop"])
def test_runs_whose_length_is_loaded_are_filled_at_once(fill) -> None:
    starts = np.array([0, 3, 3, 20, 21, 60], np.int32)
    values, result = np.arange(5, 10, dtype=np.uint8), np.zeros(64, np.uint8)
    fill(values, starts, result)
    assert (result[:60] == np.repeat(values, np.diff(starts))).all() and not result[60:].any()


@pytest.mark.parametrize("fill", [runs[1, 1], runs_in_a_loop], ids=["kernel", "loop"])
def test_runs_that_begin_before_the_array_count_from_its_end(fill) -> None:
    result = np.zeros(16, np.uint8)
    fill(np.full(1, 7, np.uint8), np.array([-3, 4], np.int32), result)
    assert result.nonzero()[0].tolist() == [0, 1, 2, 3, 13, 14, 15]


def test_what_is_stored_may_be_stored_over_itself() -> None:
    memory = np.arange(1, 41, dtype=np.uint8)
    runs[1, 1](memory[8:9], np.array([2, 30], np.int32), memory)
    assert (memory[2:30] == 9).all() and memory[1] == 2 and memory[30] == 31


@cuda.jit
def fill_from(place, starts, result):
    i = cuda.grid(1)
    if i < starts.size - 1:
        for k in range(starts[i], starts[i + 1]):
            result[place[0] + k] = 5


def test_where_a_run_goes_may_be_stored_over_by_it() -> None:
    """The byte that says where to store is among those that are stored."""
    memory = np.zeros(32, np.uint8)
    memory[3] = 1
    wanted = memory.copy()
    for k in range(1, 6):
        wanted[wanted[3] + k] = 5
    fill_from[1, 1](memory[3:4], np.array([1, 6], np.int32), memory)
    assert (memory == wanted).all()


def test_a_kernel_that_fills_runs_calls_memset() -> None:
    runs[1, 1](np.ones(1, np.uint8), np.array([0, 9], np.int32), np.zeros(9, np.uint8))
    assert "llvm.memset" in next(iter(runs.inspect_llvm().values()))


#   entry ──> head <──┐
#              │ └─> body
#             out
RUN = """
define i64 @{name}(ptr %p, i64 %start, i64 %count, i8 %x) {attributes} {{
entry:
  %from = trunc i64 %start to i32
  %end = trunc i64 %count to i32
  br label %head
head:
  %k = phi {type} [ {first}, %entry ], [ %next, %body ]
  %n = phi i64 [ %start, %entry ], [ %n.next, %body ]
  %more = icmp {test} {type} %k, {bound}
  br i1 %more, label %body, label %out
body:
  %wide = {extend} i32 %from to i64
  {index}
  %q = getelementptr i8, ptr %p, i64 {at}
  store i8 %x, ptr %q, align 1
  %next = add {type} %k, 1
  %n.next = add i64 %n, 1
  br label %head
out:
  %left = phi i64 [ %n, %head ]
  ret i64 %left
}}
"""
LONG = {
    "name": "f", "attributes": "", "type": "i64", "first": "%start", "bound": "%count", "test": "slt",
    "extend": "sext", "index": "", "at": "%k",
}  # fmt: skip
INT = {"type": "i32", "first": "%from", "bound": "%end", "at": "%i"}
SIGNED, UNSIGNED = (INT | {"index": f"%i = {op} i32 %k to i64"} for op in ("sext", "zext"))


def filled(text: str, start: int, count: int) -> list[tuple[int, list[int]]]:
    """What a function returns and leaves in memory as it is; how many runs are filled at once; and the same then."""
    results: list[tuple[int, list[int]]] = []
    for at_once in (False, True):
        module = read_module(text)
        name = next(f.name for f in module.definitions())
        if at_once:
            results.append((fill_at_once(module, module.functions[name]), []))
            verify(module)
        array, memory = np.zeros(64, np.uint8), Memory()
        place = memory.map_array(array) + np.uint64(20)
        arguments = [place, *(np.array([n]) for n in (start, count, 7))]
        outcome = run_function(Program(module), name, arguments, 1, memory=memory)
        results.append((int(outcome.value.data[0]), array.tolist()))
    return results


@pytest.mark.spread
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"test": "ne"},
        {"test": "ult"},
        {"at": "%n"},
        SIGNED,
        UNSIGNED | {"test": "ult"},
    ],
)
@pytest.mark.parametrize(("start", "count"), [(0, 0), (0, 1), (3, 20), (9, 9), (5, 3), (-4, 6), (-9, -2)])
def test_runs_without_a_question_are_filled_and_what_is_counted_goes_on(
    changes: dict[str, str], start: int, count: int
) -> None:
    test = (LONG | changes)["test"]
    if (test == "ne" and start > count) or (test == "ult" and (start < 0 <= count or start > count)):
        pytest.skip("it would fill all there is")
    if (LONG | changes)["extend"] and changes.get("index", "").count("zext") and start < 0:
        pytest.skip("these places are far away")
    before, made, behind = filled(RUN.format_map(LONG | changes), start, count)
    assert made[0] == 1 and before == behind


@pytest.mark.parametrize(
    "changes",
    [
        UNSIGNED,  # from a negative number it goes from the end of 32 bits to the begin
        SIGNED | {"test": "ult"},  # from the largest signed number it goes to the smallest
        SIGNED | {"test": "ne"},
        {"name": "memset"},
        {"attributes": '"no-builtins"'},
        {"attributes": '"no-builtin-memset"'},
        {"index": "store volatile i8 %x, ptr %p"},
    ],
)
def test_runs_that_wrap_around_and_the_library_itself_stay(changes: dict[str, str]) -> None:
    module = read_module(RUN.format_map(LONG | changes))
    function = next(iter(module.definitions()))
    assert fill_at_once(module, function) == 0


def test_segments_are_not_filled() -> None:
    text = RUN.format_map(LONG).replace("ptr %p, i64 %start", "ptr addrspace(257) %p, i64 %start")
    text = text.replace("getelementptr i8, ptr %p", "getelementptr i8, ptr addrspace(257) %p")
    module = read_module(text.replace("ptr %q", "ptr addrspace(257) %q"))
    assert fill_at_once(module, module.functions["f"]) == 0
