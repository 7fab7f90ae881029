"""Loops along rows whose lengths data say choose what they add, and do not branch."""

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.targets import AVX2, SSE4, Isa
from weft.transform.loops.chosen_terms import choose_terms
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.rows_under_masks import STRIP, add_rows_under_masks

#  head ──> body ──> other ──> near          head <──> body
#    ^        └────────┴─────────┴──> latch
COUNT = """
define i64 @f(ptr %starts, ptr %a, i64 %i, i64 %begin) {
entry:
  %from = load i64, ptr %starts
  %next.start = getelementptr i64, ptr %starts, i64 1
  %to = load i64, ptr %next.start
  %own.place = getelementptr float, ptr %a, i64 %i
  %own = load float, ptr %own.place
  br label %head
head:
  %k = phi i64 [ %from, %entry ], [ %next, %latch ]
  %total = phi i64 [ %begin, %entry ], [ %sum, %latch ]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %body, label %done
body:
  %same = icmp eq i64 %k, %i
  br i1 %same, label %latch, label %other
other:
  %place = getelementptr float, ptr %a, i64 %k
  %x = load float, ptr %place
  %d = fsub float %x, %own
  %is.near = fcmp olt float %d, 2.0
  br i1 %is.near, label %near, label %latch
near:
  %one.more = add i64 %total, 3
  br label %latch
latch:
  %sum = phi i64 [ %one.more, %near ], [ %total, %other ], [ %total, %body ]
  %next = add nsw i64 %k, 1
  br label %head
done:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}
"""
CHOSEN = (
    COUNT.replace("br i1 %is.near, label %near, label %latch", "br label %near")
    .replace(
        "%one.more = add i64 %total, 3",
        "%with = add i64 %total, 3\n  %one.more = select i1 %is.near, i64 %with, i64 %total",
    )
    .replace("[ %total, %other ], ", "")
)


def made(text: str, isa: Isa = AVX2) -> tuple[Module, int]:
    module = read_module(text)
    verify(module)
    count = choose_terms(module.functions["f"], isa, lambda loop, view: False)
    verify(module)
    assert is_loop_closed(module.functions["f"])
    return module, count


def counted(module: Module, first: int, end: int, i: int, values: np.ndarray) -> int:
    memory = Memory()
    arguments = [memory.map_array(np.array([first, end])), memory.map_array(values), i, 7]
    return int(run_function(Program(module), "f", arguments, 1, memory=memory).data.view(np.int64)[0])


@pytest.mark.parametrize("text", [COUNT, CHOSEN], ids=["ways", "a choice"])
def test_a_count_is_what_it_was(text: str) -> None:
    before, (after, count) = read_module(text), made(text)
    assert count == 1
    function = after.functions["f"]
    assert len(function.blocks) == 4
    assert len(add_rows_under_masks(function, AVX2, lambda loop, view: False)) == 1
    verify(after)
    values = np.random.default_rng(3).integers(0, 6, 4 * STRIP).astype(np.float32)
    for length in (-2, 0, 1, 7, 9, STRIP + 3, 3 * STRIP):
        for i in (0, 4, 5, 6, 5 + length - 1, 5 + STRIP, 4 * STRIP - 1):
            if 0 <= i < values.size:
                end = 5 + length
                assert counted(after, 5, end, i, values) == counted(before, 5, end, i, values)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("getelementptr float, ptr %a, i64 %i\n", "getelementptr float, ptr %a, i64 %begin\n"),
        ("icmp eq i64 %k, %i", "icmp slt i64 %k, %i"),
        ("%x = load float", "%x = load volatile float"),
        ("%to = load i64, ptr %next.start", "%to = add i64 %from, 16"),
        ("%one.more = add i64 %total, 3", "%one.more = mul i64 %total, 3"),
        ("%one.more = add", "store i64 %total, ptr %starts\n  %one.more = add"),
        ("[ %total, %body ]", "[ 0, %body ]"),
        ("ptr %a, i64 %k", "ptr %a, i64 %total"),
        ("ptr %own.place\n", "ptr %own.place\n  call void @may_free(ptr %a)\n"),
    ],
    ids=[
        "elsewhere",
        "before",
        "volatile",
        "a known length",
        "a product",
        "a store",
        "begins anew",
        "by the count",
        "freed",
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    assert old in COUNT
    assert made("declare void @may_free(ptr)\n" + COUNT.replace(old, new))[1] == 0


def test_without_masked_accesses_they_stay() -> None:
    assert made(COUNT, SSE4)[1] == 0


def near(x, y, starts, cells, reach, i):
    count, weight = 0, np.float32(0)
    cell = cells[i]
    for j in range(starts[cell], starts[cell + 1]):
        dx, dy = x[j] - x[i], y[j] - y[i]
        if j != i and dx * dx + dy * dy < reach:
            count += 1
            weight += np.float32(1) + dx
    return count, weight


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_pairs_within_a_radius(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    near_in_lanes, near_in_loops = cuda.jit(device=True)(near), weft.jit(near)

    @weft.jit(fastmath=True, width=1)
    def loop(x, y, starts, cells, reach, counts, weights):
        for i in prange(counts.size):
            counts[i], weights[i] = near_in_loops(x, y, starts, cells, reach, i)

    @cuda.jit(fastmath=True)
    def kernel(x, y, starts, cells, reach, counts, weights):
        i = cuda.grid(1)
        if i < counts.size:
            counts[i], weights[i] = near_in_lanes(x, y, starts, cells, reach, i)

    rng = np.random.default_rng(4)
    cells = np.sort(rng.integers(0, 12, 200)).astype(np.int32)
    cells[60:150] = 5
    cells.sort()
    starts = np.searchsorted(cells, np.arange(13)).astype(np.int32)
    x, y = rng.random((2, 200)).astype(np.float32)
    wanted = [near(x, y, starts, cells, np.float32(0.3), i) for i in range(200)]
    for run in (loop, kernel[2, 128]):
        counts, weights = np.zeros(200, np.int32), np.zeros(200, np.float32)
        run(x, y, starts, cells, np.float32(0.3), counts, weights)
        assert counts.tolist() == [count for count, _ in wanted]
        assert np.allclose(weights, [weight for _, weight in wanted], rtol=1e-3, atol=1e-3)
