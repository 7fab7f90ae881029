"""Loops in lanes whose vectors fill the registers are marked for LLVM, and no others."""

import re

import numpy as np
import pytest

import weft
from weft import prange
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.transform.loops.rolled_loops import keep_rolled

LOOP = """
define void @sum(ptr %x, i64 %n, <{n} x float> %by, float %each) {{
entry:
  {each}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %total = phi <{n} x float> [ zeroinitializer, %entry ], [ %more, %loop ]
  %at = getelementptr float, ptr %x, i64 %i
  %read = load <{n} x float>, ptr %at, align 4
  %part = fmul <{n} x float> %read, {factor}
  %more = fadd <{n} x float> %total, %part
  %i1 = add i64 %i, {n}
  %again = icmp slt i64 %i1, %n
  br i1 %again, label %loop, label %done
done:
  store <{n} x float> %more, ptr %x, align 4
  ret void
}}
"""
MARK = "llvm.loop.unroll.runtime.disable"


def marked(lanes: int, isa: Isa, *, shared: bool = False) -> tuple[Module, int]:
    each = f"%one = insertelement <{lanes} x float> poison, float %each, i64 0\n"
    each += f"  %all = shufflevector <{lanes} x float> %one, <{lanes} x float> poison, <{lanes} x i32> zeroinitializer"
    module = read_module(
        LOOP.format(n=lanes, each=each if shared else "", factor="%all" if shared else "%by")
    )
    count = keep_rolled(module.functions["sum"], isa)
    verify(module)
    return module, count


@pytest.mark.parametrize(
    ("lanes", "isa"),
    [(64, AVX2), (128, AVX2), (32, SSE2), (256, AVX512)],
    ids=lambda v: str(getattr(v, "name", v)),
)
def test_what_fills_the_registers_is_marked(lanes: int, isa: Isa) -> None:
    module, count = marked(lanes, isa)
    assert count == 1
    assert MARK in write_module(module)


@pytest.mark.parametrize(("lanes", "isa"), [(32, AVX2), (16, SSE2), (128, AVX512)])
def test_what_leaves_some_is_not(lanes: int, isa: Isa) -> None:
    module, count = marked(lanes, isa)
    assert count == 0
    assert MARK not in write_module(module)


def test_what_lanes_share_is_one_register() -> None:
    assert marked(64, AVX2, shared=True)[1] == 0
    assert marked(128, AVX2, shared=True)[1] == 1


def nearest(points, centres, found):
    for i in prange(points.shape[0]):
        best, least = 0, np.float32(3e38)
        for c in range(centres.shape[0]):
            across, up = points[i, 0] - centres[c, 0], points[i, 1] - centres[c, 1]
            square = across * across + up * up
            if square < least:
                least, best = square, c
        found[i] = best


def near(x, y, reach, counts):
    for i in prange(x.shape[0]):
        count = 0
        for j in range(x.shape[0]):
            across, up = x[i] - x[j], y[i] - y[j]
            if across * across + up * up <= reach:
                count += 1
        counts[i] = count


@pytest.mark.parametrize(("width", "marks"), [(32, True), (16, False)])
def test_numbers_for_all_lanes_have_registers(
    width: int, marks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """13 of 16 registers are full before a round begins, which gives two numbers to all lanes."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    x, y = np.random.default_rng(1).random((2, 70), np.float32)
    counts = np.zeros(70, np.int32)
    compiled = weft.jit(width=width)(near)
    compiled(x, y, np.float32(0.1), counts)
    wanted = ((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2 <= np.float32(0.1)).sum(axis=1)
    np.testing.assert_array_equal(counts, wanted)
    (text,) = compiled.inspect_llvm().values()
    assert bool(re.search(MARK, text)) == marks


@pytest.mark.parametrize("without", [(), ("rolled-loops",)])
def test_a_search_of_the_nearest(without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    rng = np.random.default_rng(1)
    points, centres = rng.random((700, 2), np.float32), rng.random((9, 2), np.float32)
    found = np.zeros(700, np.int32)
    compiled = weft.jit(width=32, without=without)(nearest)
    compiled(points, centres, found)
    squares = ((points[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares[np.arange(700), found], squares.min(axis=1), rtol=1e-5)
    (text,) = compiled.inspect_llvm().values()
    assert bool(re.search(MARK, text)) == (not without)
