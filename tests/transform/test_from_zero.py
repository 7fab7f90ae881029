"""Loops that count up from a number that is not negative do not ask for the sign of their counter."""

from itertools import pairwise

import numpy as np
import pytest

import weft
from weft import cuda
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
