"""Lane groups ask for the signs of indices only in rows in which some is negative."""

from typing import Any

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.host import host
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.transform.groups.row_questions import ask_rows

#   A row calls for lane groups of 4; each says on which way it has gone.
ROW = """
define void @row(ptr %out, i64 %first, i64 %end, i64 %a, i64 %b) {{
entry:
  br label %header
header:
  %x = phi i64 [ %first, %entry ], [ %next, %body ]
  %c = icmp slt i64 %x, %end
  br i1 %c, label %body, label %done
body:
  call void @group(ptr %out, i64 %x, i64 %a, i64 %b)
  %next = add nuw nsw i64 %x, {step}
  br label %header
done:
  ret void
}}

define void @group(ptr %out, i64 %x, i64 %a, i64 %b) {attribute} {{
entry:
  %at = sdiv exact i64 %x, {step}
  %p = getelementptr i32, ptr %out, i64 %at
{question}
  br i1 %asked, label %edge, label %inner
edge:
  store i32 1, ptr %p
  br label %end
inner:
  store i32 2, ptr %p
  br label %end
end:
  ret void
}}
"""
TWO = """
  %u = add i64 %x, %a
  %u3 = add i64 %u, 3
  %u.both = or i64 %u, %u3
  %u.asked = icmp slt i64 %u.both, 0
  %u.frozen = freeze i1 %u.asked
  %v0 = shl i64 %x, 1
  %v = sub i64 %b, %v0
  %v.asked = icmp slt i64 %v, 0
  %v.frozen = freeze i1 %v.asked
  %asked = or i1 %u.frozen, %v.frozen
"""


def parsed(question: str = TWO, attribute: str = '"weft.apart"', step: int = 4) -> Module:
    module = read_module(ROW.format(question=question, attribute=attribute, step=step))
    verify(module)
    return module


def ways(module: Module, first: int, end: int, a: int, b: int) -> list[int]:
    memory, out = Memory(), np.zeros(32, np.int32)
    arguments = [memory.map_array(out), first, end, a, b]
    run_function(Program(module), "row", arguments, 1, memory=memory)
    return out.tolist()


LARGEST = (1 << 63) - 1


@pytest.mark.parametrize("behind", [0, 4, 40, -1, -39, LARGEST, -LARGEST])
@pytest.mark.parametrize("a", [0, -4, -41, LARGEST - 3, -LARGEST])
def test_positions_behind_the_number_that_a_loop_counts(behind: int, a: int) -> None:
    """As in loops over ``prange``, which count from 0."""
    moved = f"  %there = add i64 {behind}, %x\n  call void @group(ptr %out, i64 %there"
    text = ROW.format(question=TWO, attribute='"weft.apart"', step=4)
    text = text.replace("  call void @group(ptr %out, i64 %x", moved)
    # Where it is stored is no matter of the position.
    text = text.replace("sdiv exact i64 %x, 4", f"sub i64 %x, {behind}")
    before, module = read_module(text), read_module(text)
    assert ask_rows(module) == 1
    verify(module)
    assert ways(module, 0, 32, a, 1000) == ways(before, 0, 32, a, 1000)


def test_a_sum_that_overflows_at_an_end_does_not_before() -> None:
    question = """
  %u = add nsw i64 %x, %a
  %v = sub i64 %b, %u
  %v.asked = icmp slt i64 %v, 0
  %asked = freeze i1 %v.asked
"""
    before, module = parsed(question), parsed(question)
    assert ask_rows(module) == 1
    found = ways(before, 0, 40, LARGEST - 20, LARGEST - 10)
    assert found[:6] == [2, 2, 2, 1, 1, 1]
    assert ways(module, 0, 40, LARGEST - 20, LARGEST - 10)[:6] == found[:6]


@pytest.mark.parametrize(
    ("first", "end", "a", "b"),
    [
        *[(0, end, a, 1000) for end in (0, 4, 8, 40, 42) for a in (0, -1, -3, -4, -36, -41, 5)],
        *[(4, 44, 0, b) for b in (-1, 7, 8, 40, 79, 80, 81)],
        # Sums that wrap around in the midst of a row, and at its ends.
        *[(0, 40, LARGEST - k, LARGEST) for k in (0, 2, 3, 7, 38, 39, 40)],
        *[(0, 40, 0, k - LARGEST) for k in (-2, 0, 40)],
        # A row that is empty, whose ends are far apart.
        (40, -LARGEST, 0, 0),
    ],
)
def test_groups_go_the_ways_they_went(first: int, end: int, a: int, b: int) -> None:
    before, module = parsed(), parsed()
    assert ask_rows(module) == 1
    verify(module)
    assert ways(module, first, end, a, b) == ways(before, first, end, a, b)


def test_a_group_of_a_row_without_such_numbers_asks_nothing() -> None:
    module = parsed()
    ask_rows(module)
    row, group = write_module(module).split("define void @group")
    assert "icmp slt i64 %u.both" not in row and "i1 %asks" in group.splitlines()[0]
    head = group.split("asked:")[0]
    # What is computed to be asked is computed behind the row's answer.
    assert "%u.both" not in head and "%u3" not in head


UNKNOWN = {
    "other comparison": "  %u = add i64 %x, %a\n  %asked = icmp sgt i64 %u, %b",
    "32 bits": "  %u = trunc i64 %x to i32\n  %asked = icmp slt i32 %u, 0",
    "loaded": "  %u = load i64, ptr %p\n  %asked = icmp slt i64 %u, 0",
    "square": "  %u = mul i64 %x, %x\n  %asked = icmp slt i64 %u, 0",
    "steep": "  %u = shl i64 %x, 40\n  %asked = icmp slt i64 %u, 0",
    "the same": "  %u = sub i64 %a, %b\n  %asked = icmp slt i64 %u, 0",
    "both": "  %n = icmp slt i64 %x, 0\n  %m = icmp slt i64 %a, 0\n  %asked = and i1 %n, %m",
}


@pytest.mark.parametrize("question", UNKNOWN.values(), ids=UNKNOWN)
def test_other_questions_stay(question: str) -> None:
    assert ask_rows(parsed(question)) == 0


def test_only_rows_of_lane_groups_are_asked() -> None:
    assert ask_rows(parsed(attribute="")) == 0
    assert ask_rows(parsed(step=3)) == 0


NAMED = {"x86-64": SSE2, "x86-64-v3": AVX2, "x86-64-v4": AVX512}
LEVELS = [n for n, i in NAMED.items() if host().arch == i.arch and i.features <= host().features] or [
    "native"
]


def flat(x: Any, out: Any, n: int, shift: int) -> None:
    """A stencil at flat indices, of which some may count from the end."""
    i, j, k = cuda.grid(3)
    if 1 <= i < n - 1 and 1 <= j < n - 1 and 1 <= k < n - 1:
        c = (k * n + j) * n + i + shift
        near = x[c - 1] + x[c + 1] + x[c - n] + x[c + n]
        out[c] = x[c] + near + x[c - n * n] + x[c + n * n]


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [5, 19, 37])
def test_stencils_at_flat_indices(n: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CPU", level)
    x = np.random.default_rng(n).random(n**3).astype(np.float32)
    grid, block = (-(-n // 8), n, n), (8, 1, 1)
    # Behind such shifts all places of the first planes, or of all of them, are negative; none is too low.
    kernels = [cuda.jit(flat, **o) for o in ({}, {"without": ("row-questions",)}, {"debug": True})]
    for shift in (0, -n * n, -(n**3) + n * n * (n // 2)):
        found = []
        for kernel in kernels:
            if kernel is kernels[2] and n > 5:
                continue
            out = np.zeros_like(x)
            kernel[grid, block](x, out, n, shift)
            found.append(out)
        for out in found[1:]:
            np.testing.assert_array_equal(out, found[0])


def flat_loop(x: Any, out: Any, n: int, shift: int) -> None:
    """The same along a loop over ``prange``."""
    for at in prange(n * n, n * n * (n - 1)):
        c = at + shift
        near = x[c - 1] + x[c + 1] + x[c - n] + x[c + n]
        out[at] = x[c] + near + x[c - n * n] + x[c + n * n]


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [5, 19])
def test_loops_at_flat_indices(n: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CPU", level)
    found: list[int] = []

    def watched(module: Module) -> int:
        found.append(ask_rows(module))
        return found[-1]

    monkeypatch.setattr("weft.passes.scalar.ask_rows", watched)
    x = np.random.default_rng(n).random(n**3).astype(np.float32)
    compiled = weft.jit(parallel=True)(flat_loop)
    for shift in (0, -n * n, -(n**3) + n * n * (n // 2)):
        c = np.arange(n * n, n * n * (n - 1)) + shift
        near = x[c - 1] + x[c + 1] + x[c - n] + x[c + n]
        out = np.zeros_like(x)
        compiled(x, out, n, shift)
        np.testing.assert_array_equal(out[n * n : n * n * (n - 1)], x[c] + near + x[c - n * n] + x[c + n * n])
    assert sum(found) == 1 or level not in NAMED
