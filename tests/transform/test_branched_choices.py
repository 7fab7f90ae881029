"""Where a thread looks next, if it waits long to know that, is a branch; in short walks it is none."""

import math

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda
from weft.costs.long_choices import latency_alone
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.transform.loops.branched_choices import mark_long_choices, mark_short_walks

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


WRITTEN_WITHOUT_BRANCHES = """  %side = select i1 %far, i64 2, i64 1
  %next = {op} i64 {operands}
"""


@pytest.mark.parametrize(
    ("op", "operands", "ways"),
    [
        ("add", "%side, %twice", ("add i64 2, %twice", "add i64 1, %twice")),
        ("add", "%twice, %side", ("add i64 %twice, 2", "add i64 %twice, 1")),
        ("sub", "%twice, %side", ("sub i64 %twice, 2", "sub i64 %twice, 1")),
        ("sub", "%side, %twice", ("sub i64 2, %twice", "sub i64 1, %twice")),
    ],
)
def test_a_choice_between_constants_that_is_added_becomes_one_between_sums(op, operands, ways) -> None:
    begin = DESCENT.index("  %left")
    end = DESCENT.index("  br label %head", begin)
    module = read_module(
        DESCENT[:begin] + WRITTEN_WITHOUT_BRANCHES.format(op=op, operands=operands) + DESCENT[end:]
    )
    assert mark_long_choices(module.functions["f"], AVX2) == 1
    verify(module)
    text = write_module(module)
    (line,) = (line for line in text.splitlines() if "select" in line)
    assert "!prof" in line
    assert all(f"= {way}\n" in text for way in ways)


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


def descend_by_sums(points, radii, queries, found):
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
            node = 2 * node + cuda.selp(distance > radii[node], 2, 1)
        found[i] = nearest


@pytest.mark.parametrize("width", [1, None])
def test_trees_are_descended_by_sums(width: int | None) -> None:
    rng = np.random.default_rng(3)
    points, queries = rng.integers(0, 9, (200, 9)) / 1.0, rng.integers(0, 9, (100, 9)) / 1.0
    radii = rng.random(200) * 9
    found, wanted = np.zeros(100), np.zeros(100)
    cuda.jit(descend_by_sums, width=width)[4, 32](points, radii, queries, found)
    descend(points, radii, queries, wanted)
    assert np.allclose(found, wanted)


FEW_ROUNDS = """
define i64 @f(ptr %table, i8 %x, i64 %n) {
entry:
  br label %outer
outer:
  %t = phi i64 [ 0, %entry ], [ %t1, %after ]
  %sum = phi i64 [ 0, %entry ], [ %sum1, %after ]
  %again = icmp slt i64 %t, %n
  br i1 %again, label %before, label %done
before:
  br label %head
head:
  %node = phi i64 [ 0, %before ], [ %next, %body ]
  %k = phi i64 [ 0, %before ], [ %k1, %body ]
  %more = icmp ult i64 %k, 6
  br i1 %more, label %body, label %after
body:
  %at = getelementptr i8, ptr %table, i64 %node
  %p = load i8, ptr %at
  %far = icmp ugt i8 %p, %x
  %twice = shl i64 %node, 1
  %left = add i64 %twice, 1
  %right = add i64 %twice, 2
  %next = select i1 %far, i64 %right, i64 %left
  %k1 = add nuw nsw i64 %k, 1
  br label %head
after:
  %leaf = phi i64 [ %node, %head ]
  %sum1 = add i64 %sum, %leaf
  %t1 = add nsw i64 %t, 1
  br label %outer
done:
  %result = phi i64 [ %sum, %outer ]
  ret i64 %result
}
"""


#   entry ──> outer <───────────────── after
#              ├──> before ──> head <──> body
#              └──> done        └──> after
@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512])
def test_choices_of_walks_of_few_rounds_are_said_to_be_unforeseen(isa) -> None:
    module = read_module(FEW_ROUNDS)
    assert mark_short_walks(module.functions["f"], isa) == 1
    assert mark_long_choices(module.functions["f"], isa) == 0
    verify(module)
    (line,) = (line for line in write_module(module).splitlines() if "select" in line)
    assert "!unpredictable" in line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ult i64 %k, 6", "ult i64 %k, 600"),  # the processor does not see so far ahead
        ("ult i64 %k, 6", "ult i64 %k, %n"),  # nobody knows how far
        ("[ 0, %before ], [ %next", "[ %sum, %before ], [ %next"),  # the walk before has to end first
        ("ptr %table, i64 %node", "ptr %table, i64 %k"),  # it does not say where to look
    ],
)
def test_choices_of_other_walks_are_left_to_llvm(old: str, new: str) -> None:
    text = FEW_ROUNDS.replace(old, new)
    assert text != FEW_ROUNDS
    assert mark_short_walks(read_module(text).functions["f"], AVX2) == 0


def forest(feature, threshold, leaf, rows, out):
    for i in weft.prange(out.size):
        total = np.float32(0)
        for t in range(feature.shape[0]):
            node = 0
            for _ in range(6):
                node = 2 * node + 1 if rows[i, feature[t, node]] < threshold[t, node] else 2 * node + 2
            total += leaf[t, node - 63]
        out[i] = total


def forest_kernel(feature, threshold, leaf, rows, out):
    i = cuda.grid(1)
    if i < out.size:
        total = np.float32(0)
        for t in range(feature.shape[0]):
            node = 0
            for _ in range(6):
                node = 2 * node + 1 if rows[i, feature[t, node]] < threshold[t, node] else 2 * node + 2
            total += leaf[t, node - 63]
        out[i] = total


@pytest.mark.parametrize(("form", "width"), pairs(["loop", "kernel"], [1, 8, None]))
def test_forests_are_descended_as_the_source_says(form: str, width: int | None) -> None:
    rng = np.random.default_rng(3)
    feature, threshold = (rng.integers(0, m, (9, 63)).astype(np.uint8) for m in (5, 256))
    leaf, rows = (
        rng.integers(0, 99, (9, 64)).astype(np.float32),
        rng.integers(0, 256, (100, 5)).astype(np.uint8),
    )
    found, wanted = np.zeros(100, np.float32), np.zeros(100, np.float32)
    if form == "loop":
        weft.jit(forest, width=width)(feature, threshold, leaf, rows, found)
    else:
        cuda.jit(forest_kernel, width=width)[4, 32](feature, threshold, leaf, rows, found)
    forest(feature, threshold, leaf, rows, wanted)
    assert (found == wanted).all()


def test_lanes_run_along_the_outer_loop_where_both_gather() -> None:
    rng = np.random.default_rng(3)
    feature, threshold = (rng.integers(0, m, (9, 63)).astype(np.uint8) for m in (5, 256))
    leaf, rows = rng.random((9, 64)).astype(np.float32), rng.integers(0, 256, (100, 5)).astype(np.uint8)
    compiled = weft.jit(forest, fastmath=True)
    compiled(feature, threshold, leaf, rows, np.zeros(100, np.float32))
    assert not any("share the loop around it" in remark.message for remark in compiled.remarks)


@pytest.mark.parametrize(("divisor", "most"), [("2", 3.0), ("10", 5.0)])
def test_a_division_by_a_constant_is_no_division(divisor: str, most: float) -> None:
    """It takes shifts and a product: a search that halves by ``/ 2`` waits no longer than one that shifts."""
    text = f"define i32 @f(i32 %x) {{\nentry:\n  %half = sdiv i32 %x, {divisor}\n  ret i32 %half\n}}"
    (half, _) = read_module(text).functions["f"].entry.instructions
    assert latency_alone(half, AVX2) <= most
    by_itself = text.replace(f"%x, {divisor}", "%x, %x")
    (quotient, _) = read_module(by_itself).functions["f"].entry.instructions
    assert latency_alone(quotient, AVX2) > 5.0
