"""Loops through small arrays of a thread's own are written out where all places are numbers then; others stay."""

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.analysis.loops.followed_rounds import FollowedRounds, Known
from weft.analysis.loops.own_arrays import own_arrays
from weft.analysis.memory.alias import locate
from weft.graph.loops import loop_forest
from weft.ir import Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.target.machine import TargetSpec
from weft.transform.loops.chosen_elements import choose_elements
from weft.transform.loops.write_out_arrays import write_out_arrays

NARROW = TargetSpec.chosen().isa.vector_bits < 256
MESSAGE = "the small arrays that it runs through are values then"


def stages(x, out, n):
    """Steps that double, and loops whose bounds they are: a Walsh transform."""
    i = cuda.grid(1)
    a = cuda.local.array(8, np.int64)
    for k in range(8):
        a[((k & 1) << 2) | (k & 2) | ((k & 4) >> 2)] = x[i, k]
    m = 1
    while m < 8:
        for k in range(0, 8, 2 * m):
            for j in range(m):
                u, v = a[k + j], a[k + j + m]
                a[k + j], a[k + j + m] = u + v, u - v
        m *= 2
    for k in range(8):
        out[i, k] = a[k]


def triangle(x, out, n):
    """Bounds that an outer loop counts, one of them of no rounds, and a branch that numbers decide."""
    i = cuda.grid(1)
    a = cuda.local.array((4, 4), np.int64)
    for y in range(4):
        for c in range(4):
            a[y, c] = x[i, (y + c) % 8]
    for k in range(3, -1, -1):
        for y in range(k + 1, 4):
            if (y + k) % 2 == 1:
                a[y, k] -= 3 * a[k, y]
            else:
                a[k, k] += a[y, y]
    for k in range(8):
        out[i, k] = a[k // 2, k % 4]


def sorted_by_exchanges(x, out, n):
    """Data decide what is exchanged, not where."""
    i = cuda.grid(1)
    a = cuda.local.array(8, np.int64)
    for k in range(8):
        a[k] = x[i, k]
    for r in range(8):
        for k in range(r % 2, 7, 2):
            if a[k] > a[k + 1]:
                a[k], a[k + 1] = a[k + 1], a[k]
    for k in range(8):
        out[i, k] = a[k]


def left_early(x, out, n):
    """Data decide when the loop is left, and there are only single loops."""
    i = cuda.grid(1)
    a = cuda.local.array(4, np.int64)
    for k in range(4):
        a[k] = x[i, k]
    last = 0
    for k in range(4):
        last = k
        if a[k] > 40:
            break
        a[3 - k] += a[k]
    for k in range(8):
        out[i, k] = a[k % 4] + last


def rounds_of_data(x, out, n):
    """The loop around has rounds that data decide; what is inside is a single loop."""
    i = cuda.grid(1)
    a = cuda.local.array(4, np.int64)
    for k in range(4):
        a[k] = x[i, k]
    while a[0] < 60:
        for k in range(4):
            a[k] += 1 + a[(k + 1) % 4] % 3
    for k in range(8):
        out[i, k] = a[k % 4]


def looked_up(x, out, n):
    """A place that is looked up stays in memory, and so does the array."""
    i = cuda.grid(1)
    a = cuda.local.array(8, np.int64)
    for k in range(8):
        a[k] = 0
    for k in range(8):
        a[x[i, k] & 7] += k
    for k in range(8):
        out[i, k] = a[k]


def long(x, out, n):
    """Too much code."""
    i = cuda.grid(1)
    a = cuda.local.array(16, np.int64)
    for k in range(16):
        a[k] = x[i, k % 8]
    for r in range(40):
        for k in range(16):
            a[k] += a[(k + r) % 16] ^ (a[(k + 3) % 16] >> 1)
    for k in range(8):
        out[i, k] = a[k] + a[k + 8]


def unknown(x, out, n):
    """Nobody knows how many rounds there are."""
    i = cuda.grid(1)
    a = cuda.local.array(8, np.int64)
    for k in range(8):
        a[k] = 0
    for k in range(n):
        a[k & 7] += x[i, k & 7]
    for k in range(8):
        out[i, k] = a[k]


@pytest.mark.skipif(NARROW, reason="registers hold two elements")
@pytest.mark.parametrize(
    ("program", "written"),
    [
        (stages, True),
        (triangle, True),
        (sorted_by_exchanges, True),
        (left_early, False),
        (rounds_of_data, False),
        (looked_up, False),
        (unknown, False),
    ],
)
def test_loops_are_written_out_where_places_are_numbers_then(program, written: bool) -> None:
    x = np.random.default_rng(3).integers(-50, 50, (37, 8))
    wanted = np.zeros_like(x)
    cuda.jit(program, debug=True)[1, 37](x, wanted, 21)
    for options in ({}, {"width": 4}, {"width": 1}):
        kernel, out = cuda.jit(program, **options), np.zeros_like(x)
        kernel[1, 37](x, out, 21)
        assert (out == wanted).all()
        assert any(MESSAGE in r.message for r in kernel.remarks) == written
    kernel, out = cuda.jit(program, without=("own-arrays",)), np.zeros_like(x)
    kernel[1, 37](x, out, 21)
    assert (out == wanted).all()
    assert not any(MESSAGE in r.message for r in kernel.remarks)


@pytest.mark.skipif(NARROW, reason="registers hold two elements")
def test_what_would_be_too_long_stays() -> None:
    x = np.random.default_rng(3).integers(-50, 50, (37, 8))
    out, wanted = np.zeros_like(x), np.zeros_like(x)
    kernel = cuda.jit(long)
    kernel[1, 37](x, out, 21)
    cuda.jit(long, debug=True)[1, 37](x, wanted, 21)
    assert (out == wanted).all()
    assert not any(MESSAGE in r.message for r in kernel.remarks)


@weft.jit
def transforms(x, out):
    for i in prange(x.shape[0]):
        a = np.empty(8)
        for k in range(8):
            a[k] = x[i, k]
        m = 4
        while m > 0:
            for k in range(0, 8, 2 * m):
                for j in range(m):
                    u, v = a[k + j], a[k + j + m]
                    a[k + j], a[k + j + m] = u + v, u - v
            m //= 2
        for k in range(8):
            out[i, k] = a[k]


@pytest.mark.skipif(NARROW, reason="registers hold two elements")
def test_loops_of_an_iteration_are_written_out() -> None:
    x = np.random.default_rng(3).integers(-50, 50, (37, 8)).astype(float)
    out = np.zeros_like(x)
    transforms(x, out)
    bits = np.array([[bin(a & b).count("1") for b in range(8)] for a in range(8)])
    assert (out == x @ np.where(bits % 2, -1.0, 1.0)).all()
    assert any(MESSAGE in r.message for r in transforms.remarks)


def pivots(x, out, n):
    """Rows are exchanged at an index of each lane's own, which is one of few."""
    i = cuda.grid(1)
    a = cuda.local.array((3, 3), np.int64)
    for y in range(3):
        for c in range(3):
            a[y, c] = x[i, (3 * y + c) % 8]
    for k in range(3):
        p = k
        for y in range(k + 1, 3):
            if abs(a[y, k]) > abs(a[p, k]):
                p = y
        if p != k:
            for c in range(3):
                a[k, c], a[p, c] = a[p, c], a[k, c]
        for y in range(k + 1, 3):
            for c in range(k, 3):
                a[y, c] -= a[k, c] * (y + 1)
    for k in range(8):
        out[i, k] = a[k // 3, k % 3]


def least_first(x, out, n):
    """The place of the lesser element of each pair, to which more is added."""
    i = cuda.grid(1)
    a = cuda.local.array(8, np.int8)
    for k in range(8):
        a[k] = x[i, k]
    for r in range(4):
        p = r
        if a[r + 4] < a[r]:
            p = r + 4
        a[p] += a[7 - r] - 3
    for k in range(8):
        out[i, k] = a[k]


def too_many(x, out, n):
    """One of sixteen places."""
    i = cuda.grid(1)
    a = cuda.local.array(16, np.int64)
    for k in range(16):
        a[k] = x[i, k % 8] + k
    for r in range(3):
        p = 0
        for k in range(1, 16):
            if a[k] > a[p]:
                p = k
        a[p] -= 20 + r
    for k in range(8):
        out[i, k] = a[k] - a[k + 8]


@pytest.mark.skipif(NARROW, reason="registers hold two elements")
@pytest.mark.parametrize(("program", "chosen"), [(pivots, True), (least_first, True), (too_many, False)])
def test_elements_at_few_places_are_chosen(program, chosen: bool) -> None:
    x = np.random.default_rng(3).integers(-50, 50, (37, 8))
    wanted = np.zeros_like(x)
    cuda.jit(program, debug=True)[1, 37](x, wanted, 21)
    for options in ({}, {"width": 4}, {"width": 1}, {"without": ("own-arrays",)}):
        kernel, out = cuda.jit(program, **options), np.zeros_like(x)
        kernel[1, 37](x, out, 21)
        assert (out == wanted).all()
        assert any(MESSAGE in r.message for r in kernel.remarks) == (chosen and "without" not in options)


MATRICES = """
target datalayout = "e-p:64:64"
define i64 @f(i1 %c, i64 %x) {
entry:
  %a = alloca [4 x i64], align 8
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, 4
  br i1 %more, label %body, label %exit
body:
  %at = getelementptr i64, ptr %a, i64 %k
  store i64 %x, ptr %at, align 8
  %next = add i64 %k, 1
  br label %head
exit:
  %p = select i1 %c, i64 1, i64 NUMBER
  %there = getelementptr i64, ptr %a, i64 %p
  %v = load i64, ptr %there, align 8
  ret i64 %v
}
"""


@pytest.mark.parametrize(("number", "chosen"), [("2", True), ("4", False), ("-1", False), ("%x", False)])
def test_places_outside_of_an_array_are_left_as_they_are(number: str, chosen: bool) -> None:
    function = read_module(MATRICES.replace("NUMBER", number)).functions["f"]
    choose_elements(function, own_arrays(function), set(function.blocks))
    load = next(i for i in function.instructions() if i.op == "load")
    assert (load.pointer.name != "there") == chosen


def test_loops_are_written_out_to_places_that_are_numbers() -> None:
    function = read_module(MATRICES.replace("NUMBER", "2")).functions["f"]
    # What is behind the loop is at a place that changes: nothing would be a value.
    assert not write_out_arrays(function)
    function = read_module(ITERATIONS.replace("MADE", "")).functions["f"]
    (asked,) = write_out_arrays(function)
    assert asked.op == "br"
    verify(function)
    stores = [i for i in function.instructions() if i.op == "store" and i.pointer.name.startswith("at")]
    places = [locate(i.pointer, function.layout) for i in stores]
    assert [(p.offset, dict(p.terms)) for p in places] == [(8 * k, {}) for k in range(4)] * 8
    assert not any(i.is_phi or i.op == "icmp" for i in function.instructions())


ITERATIONS = """
target datalayout = "e-p:64:64"
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
define void @f(ptr %x) {
entry:
  %a = alloca [4 x i64], align 8
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %behind ]
  %again = icmp slt i64 %i, 8
  br i1 %again, label %begin, label %exit
begin:
  MADE
  br label %head
head:
  %k = phi i64 [ 0, %begin ], [ %next, %body ]
  %more = icmp slt i64 %k, 4
  br i1 %more, label %body, label %behind
body:
  %at = getelementptr i64, ptr %a, i64 %k
  store i64 %k, ptr %at, align 8
  %next = add i64 %k, 1
  br label %head
behind:
  %there = getelementptr i64, ptr %a, i64 2
  %v = load i64, ptr %there, align 8
  %to = getelementptr i64, ptr %x, i64 %i
  store i64 %v, ptr %to, align 8
  %i.next = add i64 %i, 1
  br label %outer
exit:
  ret void
}
"""


@pytest.mark.parametrize(("made", "left"), [("call void @llvm.lifetime.start.p0(ptr %a)", 2), ("", 0)])
def test_loops_that_make_the_array_anew_stay(made: str, left: int) -> None:
    function = read_module(ITERATIONS.replace("MADE", made)).functions["f"]
    assert bool(write_out_arrays(function)) == (not left)
    verify(function)
    assert len(loop_forest(cfg_of(function).cfg).loops) == left


def test_what_an_earlier_round_may_leave_with_is_not_known() -> None:
    """Data decide in which round the inner loop is left, and so where the store behind it is."""
    function = read_module(LEFT).functions["f"]
    view = cfg_of(function)
    places: list[object] = []

    def look(i: Instruction, known: Known) -> None:
        if i.op == "store":
            places.append(known.get(i.stored_value))

    loop = loop_forest(view.cfg).loops[0]
    assert FollowedRounds(view, loop_forest(view.cfg), look, 100).follow(loop) == 3
    assert places == [None, None]


LEFT = """
target datalayout = "e-p:64:64"
define void @f(ptr %x, i1 %c) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %behind ]
  %again = icmp slt i64 %i, 2
  br i1 %again, label %begin, label %exit
begin:
  br label %head
head:
  %k = phi i64 [ 0, %begin ], [ %next, %body ]
  %more = icmp slt i64 %k, 4
  br i1 %more, label %body, label %behind
body:
  %next = add i64 %k, 1
  br i1 %c, label %behind, label %head
behind:
  %last = phi i64 [ %k, %head ], [ %k, %body ]
  store i64 %last, ptr %x, align 8
  %i.next = add i64 %i, 1
  br label %outer
exit:
  ret void
}
"""


COPIED = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


@pytest.mark.parametrize(("copy", "is_known"), [("ptr %a, ptr %x, i64 32", 1), ("ptr %a, ptr %x, i64 %i", 0)])
def test_arrays_may_be_copied_to_at_once(copy: str, is_known: int) -> None:
    made = f"call void @llvm.memcpy.p0.p0.i64({copy}, i1 false)"
    function = read_module(ITERATIONS.replace("MADE", made) + COPIED).functions["f"]
    assert len(own_arrays(function)) == is_known
    assert len(write_out_arrays(function)) == is_known
    verify(function)
