"""Floats that become places are expected to fit; all others become what they became before."""

import math

import numpy as np
import pytest

import weft
from weft import prange
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, NEON
from weft.transform.numbers.likely_conversions import expect_indices

LOOP = """
define void @looked_up(ptr %x, ptr %found, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %exit
body:
  %from = getelementptr float, ptr %x, i64 %i
  %number = load float, ptr %from
  %k = call i64 @llvm.fptosi.sat.i64.f32(float %number)
  %masked = and i64 %k, 7
  %to = getelementptr i64, ptr %found, i64 %masked
  store i64 %k, ptr %to
  %next = add nuw nsw i64 %i, 1
  br label %head
exit:
  ret void
}
declare i64 @llvm.fptosi.sat.i64.f32(float)
"""
EDGES = [0.0, -0.0, 1.9, -1.9, 1e10, -1e10, 2.0**63, -(2.0**63), 1e30, -1e30, math.inf, -math.inf, math.nan]


def ran(module, number: float) -> list[int]:
    memory, found = Memory(), np.full(8, -7, np.int64)
    x = np.array([number], np.float32)
    run_function(module, "looked_up", [memory.map_array(x), memory.map_array(found), 1], 1, memory=memory)
    return found.tolist()


def test_what_does_not_fit_is_brought_to_the_ends() -> None:
    before, after = read_module(LOOP), read_module(LOOP)
    assert expect_indices(after.functions["looked_up"], AVX2) == 1
    verify_structure(after)
    text = write_module(after)
    assert "fptosi float" in text and "branch_weights" in text
    for number in EDGES:
        assert ran(after, number) == ran(before, number), number


COUNTS = LOOP.replace(
    "  store i64 %k, ptr %to",
    "  %bin = getelementptr i64, ptr %to, i64 0\n"
    "  %old = load i64, ptr %bin\n"
    "  %new = add i64 %old, %k\n"
    "  store i64 %new, ptr %bin",
)
"""What is at the place is read and written: no vectors are made of that."""


def test_bins_are_expected_with_vectors_of_64_bit_integers_too() -> None:
    before, after = read_module(COUNTS), read_module(COUNTS)
    assert expect_indices(after.functions["looked_up"], AVX512) == 1
    verify_structure(after)
    for number in EDGES:
        assert ran(after, number) == ran(before, number), number


@pytest.mark.parametrize(
    ("text", "isa"),
    [
        (LOOP, AVX512),
        (LOOP, NEON),
        (LOOP.replace("i64 %masked", "i64 %i"), AVX2),
        (
            LOOP.replace("br label %head\nexit", "br label %exit\nexit").replace(", [ %next, %body ]", ""),
            AVX2,
        ),
    ],
    ids=["AVX-512", "NEON", "no place", "no loop"],
)
def test_others_stay(text: str, isa) -> None:
    module = read_module(text)
    before = write_module(module)
    assert expect_indices(module.functions["looked_up"], isa) == 0
    assert write_module(module) == before


def counted(a, counts, bins):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            counts[i, int(a[i, j] * bins)] += 1


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type", [np.float32, np.float64])
def test_histograms(level: str, type, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(8).random((5, 400)).astype(type)
    a[:, ::7] *= -1
    compiled, got, wanted = weft.jit(counted, fastmath=True), np.zeros((5, 64), int), np.zeros((5, 64), int)
    compiled(a, got, 64)
    counted(a, wanted, 64)
    assert np.array_equal(got, wanted)


def clamped(a, table, out):
    for i in range(a.size):
        out[i] = table[min(max(int(a[i]), 0), table.size - 1)]


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_places_that_are_clamped(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a, table = np.array(EDGES * 5), np.arange(100.0)
    out = np.zeros(a.size)
    weft.jit(clamped)(a, table, out)
    assert out.tolist()[: len(EDGES)] == [0, 0, 1, 0, 99, 0, 99, 0, 99, 0, 99, 0, 0]
