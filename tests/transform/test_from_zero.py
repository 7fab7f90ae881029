"""Loops that count up from a number that is not negative do not ask for the sign of their counter."""

from itertools import pairwise

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.from_zero import count_from_zero

SUM = """
define i64 @f(ptr %a, i64 %n, i64 %from, i64 %to) {
entry:
  br label %head
head:
  %k = phi i64 [ %from, %entry ], [ %next, %body ]
  %total = phi i64 [ 0, %entry ], [ %sum, %body ]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %body, label %done
body:
  %negative = icmp slt i64 %k, 0
  %back = select i1 %negative, i64 %n, i64 0
  %index = add i64 %k, %back
  %at = getelementptr i64, ptr %a, i64 %index
  %x = load i64, ptr %at
  %sum = add i64 %total, %x
  %next = add nsw i64 %k, 1
  br label %head
done:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}
"""


def test_one_of_two_versions_does_not_ask() -> None:
    module = read_module(SUM)
    assert count_from_zero(module.functions["f"]) == 1
    verify_structure(module)
    text = write_module(module)
    assert "icmp sge i64 %from, 0" in text
    assert text.count("icmp slt i64 %k") == 3  # two bounds, one sign
    assert text.count("select") == 1


@pytest.mark.parametrize("start", ["0", "%to"])
def test_a_counter_that_is_known_or_goes_down_has_one_version(start: str) -> None:
    text = SUM.replace("%from, %entry", f"{start}, %entry")
    if start == "%to":
        text = text.replace("add nsw i64 %k, 1", "add nsw i64 %k, -1").replace(
            "slt i64 %k, %to", "sgt i64 %k, -9"
        )
    assert count_from_zero(read_module(text).functions["f"]) == 0


MOVED = SUM.replace("i64 %from, i64 %to", "i32 %d, i32 %to").replace("slt i64 %k, %to", "slt i64 %k, %wide")
MOVED = MOVED.replace("%from, %entry", "0, %entry").replace(
    "entry:\n", "entry:\n  %by = sext i32 %d to i64\n  %wide = sext i32 %to to i64\n"
)
MOVED = MOVED.replace("body:\n", "body:\n  %moved = add i64 %k, %by\n").replace(
    "slt i64 %k, 0", "slt i64 %moved, 0"
)
MOVED = MOVED.replace("add i64 %k, %back", "add i64 %moved, %back")


def total(text: str, transformed: bool, d: int, to: int) -> int:
    module, memory = read_module(text), Memory()
    if transformed:
        assert count_from_zero(module.functions["f"]) == 1
        verify_structure(module)
    numbers = np.array([1, 10, 100, 1000, 10000])
    arguments = [memory.map_array(numbers), len(numbers), d & 0xFFFFFFFF, to & 0xFFFFFFFF]
    return int(run_function(Program(module), "f", arguments, 1, memory=memory).data[0])


@pytest.mark.parametrize("arguments", [(0, 5), (2, 3), (-3, 5), (-5, 2), (4, 0), (-1, -1), (-(2**31), 0)])
@pytest.mark.parametrize("text", [MOVED, MOVED.replace("add i64 %k, %by", "sub i64 %k, %by")], ids=["+", "-"])
def test_what_is_added_to_the_counter_is_asked_for_once(text: str, arguments: tuple[int, int]) -> None:
    d, to = arguments
    if "sub i64 %k" in text:
        d, to = max(min(-d, 5), -5), to if -d <= 0 else min(to, 3)
    assert total(text, False, d, to) == total(text, True, d, to)


def test_one_version_does_not_ask_for_the_sign_of_sums() -> None:
    module = read_module(MOVED)
    assert count_from_zero(module.functions["f"]) == 1
    text = write_module(module)
    assert text.count("icmp slt i64 %moved") == 1 and text.count("select") == 1
    assert "freeze" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%moved = add i64 %k, %by", "%moved = add i64 %x0, %by"),  # it is no sum with the counter
        ("%moved = add i64 %k, %by", "%moved = sub i64 %by, %k"),  # it falls
    ],
)
def test_other_sums_are_asked_each_time(old: str, new: str) -> None:
    text = MOVED.replace(old, new)
    if "%x0" in new:
        text = text.replace("%moved = add", "%x0 = load i64, ptr %a\n  %moved = add")
    assert count_from_zero(read_module(text).functions["f"]) == 0


WRAPPING = SUM.replace("i64 %from, i64 %to", "i64 %d, i64 %e, i64 %from, i64 %to")
WRAPPING = WRAPPING.replace("body:\n", "body:\n  %ahead = add i64 %k, %d\n  %moved = sub i64 %ahead, %e\n")
WRAPPING = WRAPPING.replace("slt i64 %k, 0", "slt i64 %moved, 0").replace(
    "add i64 %k, %back", "add i64 %moved, %back"
)


@pytest.mark.parametrize("start", [0, 5, -2, 2**62, 2**63 - 6, -(2**63)])
def test_sums_may_wrap_around_on_the_way(start: int) -> None:
    module, plain = read_module(WRAPPING), read_module(WRAPPING)
    assert count_from_zero(module.functions["f"]) == 1
    verify_structure(module)
    numbers = np.array([1, 10, 100, 1000, 10000])
    for far in (0, 1, -1, 2**61, 2**62, 2**63 - 1, -(2**63), -(2**62)):
        for first in (0, 2, -1, -3, -5):
            count = min(5 - first if first >= 0 else -first, 3)
            # k + d - e is first and what follows.
            sums = (first - start + far) % 2**64, far % 2**64, start % 2**64, (start + count) % 2**64
            got: list[int] = []
            for each in (module, plain):
                memory = Memory()
                arguments = [memory.map_array(numbers), 5, *sums]
                got.append(int(run_function(Program(each), "f", arguments, 1, memory=memory).data[0]))
            assert got == [numbers[first:][:count].sum()] * 2


def test_a_sum_that_may_wrap_around_is_asked_once() -> None:
    module = read_module(WRAPPING)
    assert count_from_zero(module.functions["f"]) == 1
    text = write_module(module)
    assert text.count("icmp ult") == 2 and text.count("icmp slt i64 %moved") == 1
    # In 32 bits it would be extended each time.
    narrow = WRAPPING.replace("sub i64 %ahead, %e", "sext i32 %short to i64").replace(
        "%moved = sext", "%short = trunc i64 %ahead to i32\n  %moved = sext"
    )
    assert count_from_zero(read_module(narrow).functions["f"]) == 0


def test_sums_that_only_some_iterations_ask_for_are_asked_there() -> None:
    text = MOVED.replace(
        "  %negative", "  %odd = trunc i64 %k to i1\n  br i1 %odd, label %use, label %skip\nuse:\n  %negative"
    )
    text = text.replace("  %next =", "  br label %skip\nskip:\n  %next =").replace(
        "[ %sum, %body ]", "[ %kept, %skip ]"
    )
    text = text.replace("skip:\n", "skip:\n  %kept = phi i64 [ %sum, %use ], [ %total, %body ]\n")
    text = text.replace("[ %next, %body ]", "[ %next, %skip ]")
    assert count_from_zero(read_module(text).functions["f"]) == 0


FOUND = SUM.replace(
    "  %sum =", "  %big = icmp sgt i64 %x, 500\n  br i1 %big, label %left, label %rest\nrest:\n  %sum ="
)
FOUND = (
    FOUND.replace("%sum, %body", "%sum, %rest")
    .replace("%next, %body", "%next, %rest")
    .replace("done:\n", "left:\n  %until = phi i64 [ %total, %body ]\n  ret i64 %until\ndone:\n")
)


@pytest.mark.parametrize("start", [0, 1, 4, -5, -1, -2])
@pytest.mark.parametrize("end", [-2, 0, 3, 5])
def test_loops_that_may_be_left_early_have_two_versions(start: int, end: int) -> None:
    results: list[int] = []
    for transformed in (False, True):
        module, memory = read_module(FOUND), Memory()
        if transformed:
            assert count_from_zero(module.functions["f"]) == 1
            verify_structure(module)
            assert write_module(module).count("select") == 1
        numbers = np.array([1, 10, 100, 1000, 10000])
        arguments = [memory.map_array(numbers), len(numbers), np.array([start]), np.array([end])]
        results.append(int(run_function(Program(module), "f", arguments, 1, memory=memory).data[0]))
    assert results[0] == results[1]


def test_what_is_used_behind_a_loop_goes_through_phis_of_its_exits() -> None:
    text = FOUND.replace("  %until = phi i64 [ %total, %body ]\n  ret i64 %until", "  ret i64 %total")
    assert count_from_zero(read_module(text).functions["f"]) == 0


@cuda.jit
def product(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@weft.jit
def product_in_a_loop(starts, columns, values, x, y):
    for row in weft.prange(y.size):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@pytest.mark.parametrize("multiply", [product[2, 4], product_in_a_loop], ids=["kernel", "loop"])
@pytest.mark.parametrize("before", [0, -3])
def test_rows_that_begin_before_the_array_count_from_its_end(multiply, before: int) -> None:
    starts = np.array([before, 4, 4, 9, 12], np.int32)
    columns = np.array([0, 2, -1, 1, 3, -4, 0, 0, 2, 1, 1, 3], np.int32)
    values, x, y = np.arange(1.0, 13.0), np.array([1.0, 10.0, 100.0, 1000.0]), np.zeros(4)
    multiply(starts, columns, values, x, y)
    wanted = [sum(values[k] * x[columns[k]] for k in range(a, b)) for a, b in pairwise(starts)]
    assert y.tolist() == wanted


@pytest.mark.optimized
def test_counters_of_threads_by_themselves_have_the_width_of_addresses() -> None:
    loop = weft.jit(product_in_a_loop.py_func)
    kernel = cuda.jit(product.py_func)
    starts, columns = np.arange(101, dtype=np.int32), np.zeros(100, np.int32)
    arguments = starts, columns, np.ones(100), np.ones(4), np.zeros(100)
    loop(*arguments)
    kernel[4, 32](*arguments)
    for compiled in (loop, kernel):
        assert any(remark.kind == "lane-by-lane" for remark in compiled.remarks)
        (text,) = compiled.inspect_llvm().values()
        assert "phi i32" not in text
