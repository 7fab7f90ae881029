"""Loops of iterations by themselves that look places up, and divide where a comparison says so."""

import numpy as np
import pytest

import weft
from weft import prange
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import is_scalar
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.transform.loops.alone import prepare_alone


def forces(places, neighbours, counts, reach, found):
    for i in prange(places.shape[0]):
        x, y = places[i, 0], places[i, 1]
        total = 0.0
        for k in range(counts[i]):
            j = neighbours[i, k]
            dx = x - places[j, 0]
            dy = y - places[j, 1]
            squared = dx * dx + dy * dy
            if squared < reach:
                total += 1.0 / squared
        found[i] = total


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_pairs_within_reach(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody foresees which pairs are, so LLVM runs several at once where it has registers enough, and no masks."""
    if chosen().arch != "x86_64" or "avx2" not in chosen().features:
        pytest.skip("this machine does not have that level")
    monkeypatch.setenv("WEFT_CPU", level)
    rng = np.random.default_rng(3)
    places = rng.random((300, 2))
    # Some count from the end.
    neighbours = rng.integers(-300, 300, (300, 40)).astype(np.int32)
    neighbours[neighbours % 300 == np.arange(300)[:, None]] += 1
    counts = rng.integers(0, 41, 300).astype(np.int32)
    found = np.zeros(300)
    compiled = weft.jit(forces, fastmath=True, width=1)
    compiled(places, neighbours, counts, 0.3, found)
    squared = ((places[:, None] - places[neighbours]) ** 2).sum(axis=2)
    seen = (squared < 0.3) & (np.arange(40) < counts[:, None])
    np.testing.assert_allclose(found, np.where(seen, 1 / squared, 0).sum(axis=1), rtol=1e-9)


PAIRS = """
define double @pairs(ptr %places, ptr %neighbours, i64 %size, i64 %count, double %reach) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %latch ]
  %total = phi double [ 0.0, %entry ], [ %next, %latch ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %n.at = getelementptr i32, ptr %neighbours, i64 %k
  %n = load i32, ptr %n.at
  %j = sext i32 %n to i64
  %negative = icmp slt i64 %j, 0
  %added = select i1 %negative, i64 %size, i64 0
  %index = add i64 %j, %added
  %at = getelementptr double, ptr %places, i64 %index
  %x = load double, ptr %at
  %near = fcmp fast COMPARED
  br i1 %near, label %hit, label %latch
hit:
  %part = OPERATION
  %sum = fadd fast double %total, %part
  br label %latch
latch:
  %next = phi double [ %sum, %hit ], [ %total, %body ]
  %k1 = add i64 %k, 1
  br label %head
done:
  %result = phi double [ %total, %head ]
  ret double %result
}
"""
NEAR, DIVIDED = "olt double %x, %reach", "fdiv fast double 1.0, %x"


@pytest.mark.parametrize(
    ("isa", "compared", "operation", "left"),
    [
        (AVX2, NEAR, DIVIDED, True),
        (AVX2, NEAR, "fmul fast double 2.0, %x", False),
        (SSE2, NEAR, DIVIDED, False),
        (AVX512, NEAR, DIVIDED, False),
    ],
)
def test_what_is_left_to_llvm(isa: Isa, compared: str, operation: str, left: bool) -> None:
    module = read_module(PAIRS.replace("COMPARED", compared).replace("OPERATION", operation))
    function = module.functions["pairs"]
    prepare_alone(function, isa)
    verify(module)
    view = cfg_of(function)
    latches = [view.blocks[latch] for loop in loop_forest(view.cfg).loops for latch in loop.latches]
    # Of what is left there is a copy for where indices are negative.
    assert all(is_scalar(b.terminator) for b in latches) == (not left)
