"""Costs are those of the code that is compiled, for every door."""

from __future__ import annotations

import re

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.cuda.c.module import Module
from weft.opencl import Program
from weft.report.model import FindingKind


def _line(report, text: str):
    """The line of the report that has the text."""
    return next(line for f in report.functions for e in f.excerpts for line in e.lines if text in line.text)


def _kinds(report) -> list[FindingKind]:
    return [finding.kind for finding in report.functions[0].findings]


@cuda.jit("void(float32, float32[::1], float32[::1])")
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i >= y.size:
        return
    y[i] = a * x[i] + y[i]


def test_a_guard_that_is_the_bound_of_a_row_costs_nothing() -> None:
    report = saxpy.report()
    guard = _line(report, "if i >= y.size")
    assert guard.control == "bound" and guard.share < 0.01
    assert _kinds(report) == []
    assert _line(report, "a * x[i]").share > 0.5


def test_what_other_assumptions_ask_is_estimated_and_said_to_be_so() -> None:
    report = saxpy.report(scope="group")
    assert report.functions[0].cycles is None
    assert "costs are those of the program as it was written: the threads of a work-group" in str(report)
    assert "shapes are given" in saxpy.report(args="U_T").functions[0].compiled


@cuda.jit("void(float32[:, ::1], float32[::1], int64)")
def rows(a, x, w):
    i = cuda.grid(1)
    if i < x.size:
        a[i // w, i % w] = x[i]


def test_an_aligned_version_is_what_most_lane_groups_run() -> None:
    line = _line(rows.report(width=16), "a[i // w")
    assert line.memory == ("contiguous", "contiguous or scatter") or "neighbours" in line.memory


@cuda.jit("void(int32[::1], float32[::1], float32[::1])")
def look_up(index, table, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = table[index[i]]


def test_a_gather_is_told_with_its_causes_and_what_helps() -> None:
    (finding,) = look_up.report().functions[0].findings
    assert finding.kind is FindingKind.GATHER
    assert finding.file == __file__ and finding.column
    assert "loaded at an address that depends on `i`" in finding.because[1]
    assert finding.hint.startswith("sort or bin")


@cuda.jit("void(float32[::1], int64)")
def values(x, n):
    i = cuda.grid(1)
    if i < x.size:
        a = x[i]
        if a > 0:
            a = -a
        x[i] = a


def test_a_branch_that_only_chooses_is_none() -> None:
    report = values.report()
    assert _line(report, "if a > 0").control == "select"
    assert FindingKind.DIVERGENT_BRANCH not in _kinds(report)


@weft.jit("void(float32[::1], float32[::1], int32[::1], int64)")
def chosen(y, x, index, n):
    for i in weft.prange(n):
        y[i] = x[index[i]]


@weft.jit("float64(float64[::1])")
def total(x):
    t = 0.0
    for i in range(x.size):
        t += x[i]
    return t


def test_functions_with_parallel_loops_report_on_their_bodies() -> None:
    report = chosen.report()
    assert report.functions[0].name.startswith("chosen, the loop of line")
    assert FindingKind.GATHER in _kinds(report)
    assert "iterations at a time" in report.functions[0].compiled
    assert "gather" in " ".join(_line(report, "x[index[i]]").memory)


@cuda.jit
def norms(points, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        for d in range(points.shape[1]):
            total += points[i, d] * points[i, d]
        out[i] = total


def norms_in_order(points, out):
    for i in prange(out.size):
        total = 0.0
        for d in range(points.shape[1]):
            total += points[i, d] * points[i, d]
        out[i] = total


def test_code_for_short_rows_is_in_the_report() -> None:
    """What runs is the version for rows of 3: it has other lanes than the general code."""
    points, out = np.random.default_rng(1).random((1000, 3)), np.zeros(1000)
    loop = weft.jit(norms_in_order)
    loop(points, out)
    norms[8, 128](points, out)
    for function in (loop, norms):
        parts = str(function.report()).split(" where points.shape[1] is 3\n")
        assert len(parts) == 2
        remarks = [str(r) for r in function.remarks if "at a time" in r.message]
        lanes = re.search(r"runs (\d+) (?:iterations|threads) at a time", parts[1])[1]
        assert f"lane group of {lanes} lanes" in parts[1].splitlines()[0]
        assert any(f"runs {lanes} " in remark for remark in remarks)


def test_functions_in_one_report_keep_their_lanes() -> None:
    @weft.jit("void(uint8[::1], float64[::1])")
    def both(a, b):
        for i in prange(a.size):
            a[i] = a[i] * a[i]
        for i in prange(b.size):
            b[i] = b[i] + 1

    first, second = (line for line in str(both.report()).splitlines() if "lane group of" in line)
    told = re.findall(r"runs (\d+) iterations", str(both.report()))
    assert [f"lane group of {n} lanes" in line for n, line in zip(told, (first, second), strict=True)] == [
        True,
        True,
    ]
    assert told[0] != told[1]


def test_a_function_without_a_parallel_loop_runs_one_at_a_time() -> None:
    report = total.report()
    assert "one at a time" in str(report)
    assert _kinds(report) == []
    with pytest.raises(weft.errors.SignatureError, match="has not been compiled"):
        weft.jit(total.py_func).report()


CL = """
__kernel void spread(__global const int* index, __global const float* x, __global float* y) {
  int i = get_global_id(0);
  y[index[i]] = x[i];
}
"""


def test_opencl_c() -> None:
    report = Program(CL).kernel("spread").report()
    assert _kinds(report) == [FindingKind.SCATTER]
    assert "scatter" in " ".join(_line(report, "y[index[i]]").memory)


CU = """
__global__ void halves(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 0.1 + y[i];
}
"""


def test_cuda_c_and_its_64_bit_floats() -> None:
    report = Module(CU).kernel("halves").report()
    assert FindingKind.WIDE in _kinds(report)
    assert "32-bit floats" in report.functions[0].findings[0].hint


def test_a_function_in_llvm_ir_with_given_shapes(report_on_text) -> None:
    text = """define float @f(ptr %p, i64 %i) {
  %q = getelementptr float, ptr %p, i64 %i
  %v = load float, ptr %q, align 4
  ret float %v
}
"""
    near = report_on_text(text, args="U_S1n").functions[0]
    assert near.findings == () and near.cycles is not None
    far = report_on_text(text, args="U_T").functions[0]
    assert [f.kind for f in far.findings] == [FindingKind.GATHER]
    assert far.excerpts[0].lines[2].memory == ("gather",)
    assert far.cycles > near.cycles


@cuda.jit("void(int32[::1], int32[::1])")
def divided(x, d):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] // d[i]


def test_whole_divisions_are_told() -> None:
    assert FindingKind.DIVISION in _kinds(divided.report())


@cuda.jit
def counted(x):
    x[cuda.grid(1)] = np.float32(1)


def test_json_has_cycles_of_lines() -> None:
    (function,) = counted.report("void(float32[::1])").to_dict()["functions"]
    assert function["cycles"] > 0
    assert sum(line["cycles"] for line in function["lines"]) <= function["cycles"]
