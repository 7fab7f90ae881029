"""Conditions of loops branch where they are known."""

import numpy as np
import pytest

from weft import cuda, opencl
from weft.frontend.cuda_c.clang import compile_source
from weft.frontend.cuda_c.options import parse_options
from weft.frontend.device.conditions import branch_early

CONDITIONS = (
    "k < n && s < b",
    "k < n && !(s < b && k == 3) && s != 5",
    "k < n && (s < b || k == 2)",
    "k < 4 || (k < n && s < b)",
    "k < n && s < b && k != 6",
)
BODIES = (
    "for (; {};) {{ s += x[k]; k++; }}",
    "while ({}) {{ s += x[k]; k++; }}",
    "do {{ s += x[k]; k++; }} while ({});",
)
VALUES = "int q = k < n && s < b; x[i] = q && k < 3 ? s : k; if ((k < n || s == 3) && s < 8) x[i] += 1;"


def kernel(condition: str, body: str) -> str:
    loop = body.format(condition)
    return f"(int *x, int n, int b) {{ int i = 0, k = 0, s = 0; {loop} {VALUES} x[9] = s; x[10] = k; }}"


def in_python(condition: str, body: str, x: np.ndarray, n: int, b: int) -> np.ndarray:
    holds = eval(
        f"lambda k, s: {condition}".replace("&&", "and").replace("||", "or").replace("!(", "not ("),
        {"n": n, "b": b},
    )
    x, k, s = x.copy(), 0, 0
    going = body.startswith("do") or holds(k, s)
    while going:
        s, k = s + int(x[k]), k + 1
        going = holds(k, s)
    q = k < n and s < b
    x[0] = s if q and k < 3 else k
    x[0] += (k < n or s == 3) and s < 8
    x[9], x[10] = s, k
    return x


@pytest.mark.parametrize("condition", CONDITIONS)
def test_loops_end_where_the_source_says_so(condition):
    start = np.array([1, 2, 1, 0, 3, 1, 2, 1, 0, 0, 0, 0], np.int32)
    for body in BODIES:
        program = opencl.Program(
            "__kernel void f" + kernel(condition, body).replace("int *x", "__global int *x")
        )
        module = cuda.Module('extern "C" __global__ void f' + kernel(condition, body))
        for n, b in ((5, 4), (7, 100), (0, 3), (8, 6)):
            wanted = in_python(condition, body, start, n, b)
            found = start.copy(), start.copy()
            program.kernel("f")((1,), (1,), found[0], n, b)
            module.f[1, 1](found[1], n, b)
            assert [list(x) for x in found] == [list(wanted)] * 2, (body, n, b)


@pytest.mark.parametrize("body", BODIES[:2])
def test_no_condition_of_a_loop_is_joined_by_constants(body):
    text = compile_source(
        'extern "C" __global__ void f' + kernel(CONDITIONS[0], body), parse_options(""), "f.cu"
    ).text
    joined = [line for line in text.splitlines() if "= phi i1" in line]
    # The last is that of a value, which stays.
    assert ["[ false" in line for line in joined] == [False, True]
    assert branch_early(text) == text


JOINED = """define void @f(i1 %a, i1 %b) {
entry:
  br i1 %a, label %rhs, label %"end 1"

rhs:
  br label %"end 1"

"end 1":
  %5 = phi i1 [ false, %entry ], [ %b, %rhs ], !dbg !1
  br i1 %5, label %body, label %over
{0}
body:
  br label %over

over:
  {1}ret void
}
"""


def test_conditions_that_are_used_twice_and_targets_with_phis_stay():
    assert "[ false" not in branch_early(JOINED.replace("{0}", "").replace("{1}", ""))
    for text in (
        JOINED.replace("{0}", "").replace("{1}", '%x = phi i1 [ true, %body ], [ %5, %"end 1" ]\n  '),
    ):
        assert branch_early(text) == text
