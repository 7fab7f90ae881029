"""Where a thread looks next, if it waits long to know that, is a branch (`branched_choices`)."""

import math

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.transform.loops.branched_choices import mark_long_choices

#   entry ──> head <──> body
#              └─> done
DESCENT = """
declare double @llvm.sqrt.f64(double)
define i64 @f(ptr %points, double %x, double %r, i64 %n) {
entry:
  br label %head
head:
  %node = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %node, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr double, ptr %points, i64 %node
  %p = load double, ptr %at
  %step = fsub double %p, %x
  %square = fmul double %step, %step
  %distance = call double @llvm.sqrt.f64(double %square)
  %far = fcmp ogt double %distance, %r
  %twice = shl i64 %node, 1
  %left = add i64 %twice, 1
  %right = add i64 %twice, 2
  %next = select i1 %far, i64 %right, i64 %left
  br label %head
done:
  %last = phi i64 [ %node, %head ]
  ret i64 %last
}
"""


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512])
def test_a_choice_behind_long_arithmetic_is_marked(isa) -> None:
    module = read_module(DESCENT)
    assert mark_long_choices(module.functions["f"], isa) == 1
    verify(module)
    (line,) = (line for line in write_module(module).splitlines() if "select" in line)
    assert "!prof" in line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fcmp ogt double %distance", "fcmp ogt double %p"),  # it is soon known
        ("fcmp ogt double %distance, %r", "fcmp ogt double %x, %r"),  # what is loaded does not decide
        ("ptr %points, i64 %node", "ptr %points, i64 %n"),  # nothing is looked up by it
        ("i64 %right, i64 %left", "i64 2, i64 1"),  # a number is computed of it without a choice
    ],
)
def test_other_choices_are_not(old: str, new: str) -> None:
    text = DESCENT.replace(old, new)
    assert text != DESCENT
    assert mark_long_choices(read_module(text).functions["f"], AVX2) == 0


def descend(points, radii, queries, found):
    for i in weft.prange(found.size):
        node = 0
        nearest = 1e9
        while node < points.shape[0]:
            squared = 0.0
            for d in range(points.shape[1]):
                step = points[node, d] - queries[i, d]
                squared += step * step
            distance = math.sqrt(squared)
            nearest = min(nearest, distance)
            node = 2 * node + 2 if distance > radii[node] else 2 * node + 1
        found[i] = nearest


def descend_kernel(points, radii, queries, found):
    i = cuda.grid(1)
    if i < found.size:
        node = 0
        nearest = 1e9
        while node < points.shape[0]:
            squared = 0.0
            for d in range(points.shape[1]):
                step = points[node, d] - queries[i, d]
                squared += step * step
            distance = math.sqrt(squared)
            nearest = min(nearest, distance)
            node = 2 * node + 2 if distance > radii[node] else 2 * node + 1
        found[i] = nearest


@pytest.mark.parametrize(("form", "width", "columns"), pairs(["loop", "kernel"], [1, None], [1, 2, 9]))
def test_trees_are_descended_as_the_source_says(form: str, width: int | None, columns: int) -> None:
    rng = np.random.default_rng(columns)
    points, queries = rng.integers(0, 9, (200, columns)) / 1.0, rng.integers(0, 9, (100, columns)) / 1.0
    radii = rng.random(200) * 3 * math.sqrt(columns)
    found, wanted = np.zeros(100), np.zeros(100)
    if form == "loop":
        weft.jit(descend, width=width)(points, radii, queries, found)
    else:
        cuda.jit(descend_kernel, width=width)[4, 32](points, radii, queries, found)
    descend(points, radii, queries, wanted)
    assert np.allclose(found, wanted)
