"""Sums along rows whose lengths data say run in strips, and then in lanes under masks (`rows_under_masks`)."""

import itertools

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.loop_metadata import is_masked
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.targets import AVX2, AVX512, SSE4, Isa
from weft.transform.loops.alone import prepare_alone
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.rows_under_masks import STRIP, add_rows_under_masks

#  entry ──> head <──> body          entry ──> long ──> strips <──> body'
#             └─> done                 └──> rest <────────┘
#                                            └──> head <──> body
#                                                  └─> done
SUM = """
define double @f(ptr %starts, ptr %a, double %begin) {
entry:
  %from = load i64, ptr %starts
  %next.start = getelementptr i64, ptr %starts, i64 1
  %to = load i64, ptr %next.start
  br label %head
head:
  %k = phi i64 [ %from, %entry ], [ %next, %body ]
  %total = phi double [ %begin, %entry ], [ %sum, %body ]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %body, label %done
body:
  %place = getelementptr double, ptr %a, i64 %k
  %x = load double, ptr %place
  %sum = fadd fast double %total, %x
  %next = add nsw i64 %k, 1
  br label %head
done:
  %result = phi double [ %total, %head ]
  ret double %result
}
"""
SHORT = SUM.replace("i64", "i32")
SWAPPED = SUM.replace("icmp slt i64 %k, %to", "icmp sle i64 %to, %k").replace(
    "br i1 %more, label %body, label %done", "br i1 %more, label %done, label %body"
)
UNSIGNED = SUM.replace("icmp slt", "icmp ult").replace("add nsw", "add nuw")


def made(text: str, isa: Isa = AVX512) -> tuple[Module, int]:
    module = read_module(text)
    return module, len(add_rows_under_masks(module.functions["f"], isa, lambda loop, view: False))


def total(module: Module, kind: type, first: int, end: int, values: np.ndarray) -> float:
    memory = Memory()
    arguments = [memory.map_array(np.array([first, end], kind)), memory.map_array(values), 0.5]
    return float(run_function(Program(module), "f", arguments, 1, memory=memory).data.view(np.float64)[0])


@pytest.mark.parametrize(
    ("text", "kind"),
    [(SUM, np.int64), (SHORT, np.int32), (SWAPPED, np.int64), (UNSIGNED, np.int64)],
    ids=["64 bits", "32 bits", "the exit first", "without sign"],
)
def test_all_elements_are_added_once(text: str, kind: type) -> None:
    module, count = made(text)
    assert count == 1
    verify(module)
    assert is_loop_closed(module.functions["f"])
    values = np.random.default_rng(3).integers(-99, 99, 4 * STRIP).astype(np.float64)
    for length in (-3, 0, 1, 7, 8, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP - 1, 3 * STRIP):
        end = 5 + length
        assert total(module, kind, 5, end, values) == 0.5 + values[5 : max(end, 5)].sum()


def test_ends_that_are_far_apart() -> None:
    """The distance of an end far below zero from a beginning far above is no length."""
    module, _ = made(SUM)
    values = np.arange(4.0)
    assert total(module, np.int64, (1 << 63) - 1, -(1 << 63), values) == 0.5
    assert total(module, np.int64, 3, -(1 << 63) + 3, values) == 0.5


def test_what_is_left_over_is_marked() -> None:
    for isa, masks in ((AVX512, True), (AVX2, True), (SSE4, False)):
        module = read_module(SUM)
        assert len(prepare_alone(module.functions["f"], isa).masked) == masks
        ends = [block.terminator for block in module.functions["f"].blocks]
        assert sum(map(is_masked, ends)) == masks


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load i64, ptr %next.start", "add i64 %from, 16"),
        ("fadd fast", "fadd"),
        ("ptr %a, i64 %k\n", "ptr %a, i64 %twice\n"),
        ("load double, ptr %place", "load volatile double, ptr %place"),
    ],
    ids=["a known length", "in order", "no neighbours", "volatile"],
)
def test_other_loops_are_left(old: str, new: str) -> None:
    text = SUM.replace("  %place", "  %twice = mul i64 %k, 2\n  %place", 1)
    assert made(text)[1] == 1
    assert old in text
    assert made(text.replace(old, new))[1] == 0


def sums(starts, x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = out[i]
        for k in range(starts[i], starts[i + 1]):
            total += x[k]
        out[i] = total


def sums_in_a_loop(starts, x, out):
    for i in weft.prange(out.size):
        total = out[i]
        for k in range(starts[i], starts[i + 1]):
            total += x[k]
        out[i] = total


def products_in_a_loop(starts, x, out):
    for i in weft.prange(out.size):
        total = out[i]
        for k in range(starts[i], starts[i + 1]):
            total += x[k] * x[k]
        out[i] = total


def greatest_in_a_loop(starts, x, out):
    for i in weft.prange(out.size):
        greatest = out[i]
        for k in range(starts[i], starts[i + 1]):
            greatest = max(greatest, x[k])
        out[i] = greatest


@pytest.mark.spread
@pytest.mark.optimized
@pytest.mark.parametrize("cpu", ["x86-64-v4", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.int16])
@pytest.mark.parametrize(
    ("function", "fold"),
    [
        (sums, np.sum),
        (sums_in_a_loop, np.sum),
        (products_in_a_loop, lambda row: np.sum(row * row)),
        (greatest_in_a_loop, lambda row: max(0, np.max(row, initial=0))),
    ],
    ids=["kernel", "loop", "products", "extrema"],
)
def test_rows(cpu: str, kind: type, function, fold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    random = np.random.default_rng(11)
    lengths = np.concatenate((random.integers(0, 30, 40), random.integers(50, 300, 20)))
    starts = np.concatenate(([0], np.cumsum(lengths)))
    starts[7] -= starts[7] - starts[6]
    x, out = random.integers(-9, 9, starts[-1]).astype(kind), np.zeros(60, kind)
    # The array ends with the last row: nothing behind it is there to be read.
    if function is sums:
        compiled = cuda.jit(function, fastmath=True, width=1)
        compiled[2, 32](starts, x, out)
    else:
        compiled = weft.jit(function, fastmath=True, width=1)
        compiled(starts, x, out)
    assert out.tolist() == [fold(x[a:b]) for a, b in itertools.pairwise(starts)]
    if cpu == "x86-64-v4" and kind is np.float64:
        assert "llvm.masked.load.v8f64" in next(iter(compiled.inspect_llvm().values()))
