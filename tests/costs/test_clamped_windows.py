"""Loops over windows that only edges cut off: lane groups hardly wait there for their last thread."""

import numpy as np
import pytest

from weft import cuda
from weft.costs.clamped_windows import is_clamped_window
from weft.cuda.build import lower
from weft.frontend.python.typeof import typeof
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.machine.targets import AVX512
from weft.options import CompileOptions, Timings
from weft.target.machine import TargetSpec


def loop(first: str, last: str, counted: int = 64) -> bool:
    goes = "%goes = icmp slt i64 %k, %last"
    if counted == 32:
        goes = "%wide = sext i32 %k to i64\n  %goes = icmp slt i64 %wide, %last"
    start = "%first" if counted == 64 else first
    module = read_module(f"""
define void @f(i32 %c, i32 %d, i32 %n, ptr %p) {{
entry:
  %before = add i32 %c, -1
  %behind = add nsw i32 %c, 2
  %low = call i32 @llvm.smax.i32(i32 %before, i32 0)
  %high = call i32 @llvm.smin.i32(i32 %n, i32 %behind)
  %is_less = icmp slt i32 %behind, %n
  %chosen = select i1 %is_less, i32 %behind, i32 %n
  %far = add nsw i32 %c, 2048
  %other = call i32 @llvm.smin.i32(i32 %n, i32 %d)
  %first = sext i32 {first} to i64
  %last = sext i32 {last} to i64
  br label %head
head:
  %k = phi i{counted} [ {start}, %entry ], [ %next, %body ]
  {goes}
  br i1 %goes, label %body, label %exit
body:
  %place = getelementptr i8, ptr %p, i{counted} %k
  store i8 0, ptr %place
  %next = add nsw i{counted} %k, 1
  br label %head
exit:
  ret void
}}
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
""")
    view = cfg_of(module.functions["f"])
    return is_clamped_window(loop_forest(view.cfg).loops[0], view)


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("%low", "%high", True),
        ("%low", "%chosen", True),
        ("%before", "%high", True),
        ("%c", "%behind", True),
        ("%low", "%n", False),
        ("%low", "%other", False),
        ("0", "%high", False),
        ("%c", "%far", False),
        ("%behind", "%c", False),
    ],
)
def test_windows_are_told_from_other_loops(first: str, last: str, found: bool) -> None:
    assert loop(first, last) == found


def test_windows_may_be_counted_in_32_bits_and_compared_in_64() -> None:
    assert loop("%low", "%high", 32)
    assert not loop("%low", "%n", 32)


@cuda.jit(fastmath=True)
def neighbours(x, y, cells, n, reach, out):
    i = cuda.grid(1)
    if i < out.size:
        a, b, total = x[i], y[i], np.float32(0)
        column, row = np.int32(a), np.int32(b)
        for v in range(max(row - 1, 0), min(row + 2, n)):
            for u in range(max(column - 1, 0), min(column + 2, n)):
                cell = v * n + u
                for j in range(cells[cell], cells[cell + 1]):
                    dx, dy = a - x[j], b - y[j]
                    left = reach - dx * dx - dy * dy
                    if left > np.float32(0):
                        total += left * left * left
        out[i] = total


def test_particles_in_cells_have_lanes() -> None:
    count, n = 500, 8
    rng = np.random.default_rng(7)
    x, y = (rng.random((2, count)) * n).astype(np.float32).clip(0, 7.99)
    cells = x.astype(int) + n * y.astype(int)
    order = np.argsort(cells, kind="stable")
    x, y, begins = x[order], y[order], np.searchsorted(cells[order], np.arange(n * n + 1)).astype(np.int32)
    out = np.zeros(count, np.float32)
    neighbours[4, 128](x, y, begins, np.int32(n), np.float32(1), out)
    left = 1 - (x[:, None] - x) ** 2 - (y[:, None] - y) ** 2
    np.testing.assert_allclose(out, (left.clip(0) ** 3).sum(axis=1), rtol=1e-4)
    types = tuple(typeof(a) for a in (x, y, begins, np.int32(n), np.float32(1), out))
    options, spec = CompileOptions(fastmath=True), TargetSpec.of_isa(AVX512)
    made = lower(neighbours.py_func, types, options, Timings(), spec)[0]
    assert not any("runs thread after thread" in remark.message for remark in made.remarks)
