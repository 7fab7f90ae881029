"""What a report ranks: kinds, order, weights of loops, causes."""

import numpy as np
import pytest

from weft import cuda
from weft.errors import SignatureError
from weft.report.model import FindingKind

_HEAD = """
declare i64 @weft.local.id(i32)
declare void @effect(i64)
declare double @llvm.sin.f64(double)
define void @f(ptr align 8 %p, i64 %n) "weft.kernel" {
entry:
  %t = call i64 @weft.local.id(i32 0)
  %c = icmp slt i64 %t, %n
"""


def findings(report_on_text, body: str, compiled: bool = False):
    (function,) = report_on_text(_HEAD + body + "\n}\n", compiled=compiled).functions
    return function.findings


def test_a_kernel_whose_lanes_agree_has_nothing_to_rank(report_on_text) -> None:
    report = report_on_text(_HEAD + "  ret void\n}\n")
    assert report.functions[0].findings == ()
    assert "nothing here costs more because lanes differ" in str(report)


def test_a_loop_around_a_gather_makes_it_ten_times_as_dear(report_on_text) -> None:
    access = """
  %x{0} = mul i64 %t, %t
  %q{0} = getelementptr i64, ptr %p, i64 %x{0}
  %v{0} = load i64, ptr %q{0}
"""
    body = f"""
{access.format(0)}
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
{access.format(1)}
  %next = add i64 %k, 1
  %go = icmp slt i64 %next, %n
  br i1 %go, label %loop, label %end
end:
  ret void
"""
    first, second = findings(report_on_text, body)
    assert first.kind is second.kind is FindingKind.GATHER
    assert first.cycles == 10 * second.cycles
    assert (first.line, second.line) == (21, 13)
    assert first.because[0].startswith("`%q1`, line 20 is computed from")
    assert "the thread's index" in first.because[-1]


def test_calls_for_a_part_of_the_lanes_count_but_vector_math_does_not(report_on_text) -> None:
    body = """
  br i1 %c, label %then, label %end
then:
  call void @effect(i64 1)
  %s = call double @llvm.sin.f64(double 1.0)
  br label %end
end:
  call void @effect(i64 2)
  ret void
"""
    found = findings(report_on_text, body)
    calls = [f for f in found if f.kind is FindingKind.CALL]
    assert [(f.line, f.message) for f in calls] == [(12, "effect is called for a part of the lanes only")]
    assert "branch at line 10 is divergent" in calls[0].because[0]
    assert {f.kind for f in found} == {FindingKind.CALL, FindingKind.DIVERGENT_BRANCH}


def test_the_branch_that_leaves_a_divergent_loop_is_no_finding_of_its_own(report_on_text) -> None:
    body = """
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %k, 1
  %go = icmp slt i64 %next, %t
  br i1 %go, label %loop, label %end
end:
  ret void
"""
    (found,) = findings(report_on_text, body)
    assert found.kind is FindingKind.DIVERGENT_LOOP
    assert found.because[-1].endswith("the thread's index in its group along x, line 7")


def test_atomics_at_one_address_and_at_many(report_on_text) -> None:
    body = """
  %a = atomicrmw add ptr %p, i64 1 monotonic
  %q = getelementptr i64, ptr %p, i64 %t
  %b = atomicrmw add ptr %q, i64 1 monotonic
  ret void
"""
    one, many = sorted(findings(report_on_text, body, compiled=True), key=lambda finding: finding.line)
    assert one.kind is many.kind is FindingKind.ATOMIC
    assert one.message.endswith("all at one address")
    assert one.because == ()
    assert many.because


@cuda.jit
def halve(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] /= 2


def test_a_kernel_reports_on_the_signatures_it_has_or_is_given() -> None:
    fresh = cuda.jit(halve.py_func)
    with pytest.raises(SignatureError, match="has not been compiled"):
        fresh.report()
    assert "float64[::1]" in str(fresh.report("void(float64[::1])"))
    fresh[1, 8](np.ones(8, np.float32))
    report = fresh.report(width=4)
    assert "lane group of 4 lanes" in str(report)
    assert [a["form"] for a in report.to_dict()["functions"][0]["accesses"]] == ["contiguous", "contiguous"]
    scattered = fresh.report(args="T")
    assert {a["form"] for a in scattered.to_dict()["functions"][0]["accesses"]} == {"gather", "scatter"}
    assert "<table>" in report._repr_html_()
