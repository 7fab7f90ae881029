"""Conditional stores along rows become stores of what is new or was there, where masked stores are slow or missing."""

from typing import Any

import numpy as np
import pytest

import weft
from weft import prange
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.machine.targets import AVX512, SSE2
from weft.transform.loops.written_back import write_back

LOOP = """
define void @clip(ptr %d, ptr %s, double %most, i64 %n) "weft.writable" {
entry:
  br label %head
head:
  %j = phi i64 [ 0, %entry ], [ %next, %latch ]
  %more = icmp ult i64 %j, %n
  br i1 %more, label %body, label %exit
body:
  %place = getelementptr double, ptr %d, i64 %j
  %old = load double, ptr %place
  %test = fcmp olt double %most, %old
  br i1 %test, label %then, label %latch
then:
  %new = fadd double %most, 1.0
  store double %new, ptr %place
  br label %latch
latch:
  %next = add nuw nsw i64 %j, 1
  br label %head
exit:
  ret void
}
"""


def test_a_row_is_written_whole() -> None:
    module = read_module(LOOP)
    assert write_back(module.functions["clip"], SSE2) == 1
    verify_structure(module)
    text = write_module(module)
    assert "select i1 %test, double %new, double %old" in text
    assert text.index("store double") < text.index("then:")


def test_the_other_way_of_the_branch_stores_what_is_new_too() -> None:
    module = read_module(LOOP.replace("label %then, label %latch", "label %latch, label %then"))
    assert write_back(module.functions["clip"], SSE2) == 1
    assert "select i1 %test, double %old, double %new" in write_module(module)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Whether the place can be written is not known.
        (' "weft.writable"', ""),
        # All iterations store to one place.
        ("ptr %d, i64 %j", "ptr %d, i64 3"),
        # The place is another one than what was read.
        ("store double %new, ptr %place", "store double %new, ptr %s"),
        # A neighbour is read, which would wait.
        ("%test = fcmp", "%near = getelementptr i8, ptr %place, i64 -8\n  %v = load double, ptr %near\n  %test = fcmp"),
        # One element of the array is read, which the store may change.
        ("%test = fcmp", "%one = getelementptr double, ptr %d, i64 %n\n  %v = load double, ptr %one\n  %test = fcmp"),
        # What was read may be overwritten before.
        ("%test = fcmp", "store double 1.0, ptr %s\n  %test = fcmp"),
        # Not for threads that do not get there.
        ("%new = fadd double %most, 1.0", "%new = load double, ptr %s"),
        # An order of memory is asked for.
        ("%test = fcmp", "fence seq_cst\n  %test = fcmp"),
        ("store double", "store volatile double"),
        ("%old = load double", "%old = load volatile double"),
    ],
)  # fmt: skip
def test_other_stores_stay(old: str, new: str) -> None:
    module = read_module(LOOP.replace(old, new))
    before = write_module(module)
    assert write_back(module.functions["clip"], SSE2) == 0
    assert write_module(module) == before


def test_cores_that_mask_stores_well_keep_them() -> None:
    module = read_module(LOOP)
    assert write_back(module.functions["clip"], AVX512) == 0


def shortest_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in prange(n):
            first = d[i, k]
            for j in range(n):
                total = first + d[k, j]
                if total < d[i, j]:
                    d[i, j] = total


def clipped(a, most):
    for i in range(a.size):
        if a[i] > most:
            a[i] = most


def kept_even(a, most):
    for i in range(a.size):
        if a[i] % 2 == 0:
            pass
        else:
            a[i] = most


def grown(a, most):
    """What is stored is read by the next iteration."""
    for i in range(1, a.size):
        if a[i] < a[i - 1]:
            a[i] = a[i - 1] // 2 + most


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type", [np.float32, np.float64, np.int64, np.uint8])
def test_results_are_those_of_python(level: str, type: Any, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    draw = np.random.default_rng(5)
    for function in (clipped, kept_even, grown):
        compiled = weft.jit(function)
        for size in (0, 1, 7, 100):
            got = draw.integers(0, 50, size).astype(type)
            wanted = got.copy()
            compiled(got, type(20))
            function(wanted, type(20))
            assert np.array_equal(got, wanted)


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("fastmath", [False, True])
def test_paths_are_shortest(level: str, fastmath: bool, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    got = np.random.default_rng(6).integers(1, 99, (37, 37)) * 1.0
    wanted = got.copy()
    weft.jit(shortest_paths, fastmath=fastmath)(got)
    shortest_paths(wanted)
    assert np.array_equal(got, wanted)


def test_nans_and_what_was_there_stay_bit_by_bit() -> None:
    a = np.frombuffer(np.arange(1, 65, dtype=np.uint64).tobytes(), np.float64).copy()
    a.view(np.uint64)[::3] |= 0x7FF4 << 48
    wanted = a.view(np.uint64).copy()
    weft.jit(clipped)(a, 1.0)
    assert np.array_equal(a.view(np.uint64), wanted)
