"""Indices that a loop looks up are asked for their signs before it (`asked_ahead`)."""

import re

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.asked_ahead import ask_ahead
from weft.transform.loops.close_loops import is_loop_closed

#  entry ──> head <──> body          entry ──> signs <──> sign          (the least index)
#             └─> done                          └─> asked ──> chosen ──> head <──> body
#                                                   └─> other ──> head' <──> body' (asks)
SUM = """
define i64 @f(ptr %list, i64 %from, i64 %to, ptr %a, i64 %n) {
entry:
  br label %head
head:
  %k = phi i64 [ %from, %entry ], [ %next, %body ]
  %total = phi i64 [ 0, %entry ], [ %sum, %body ]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i32, ptr %list, i64 %k
  %j = load i32, ptr %at
  %wide = sext i32 %j to i64
  %negative = icmp slt i32 %j, 0
  %back = select i1 %negative, i64 %n, i64 0
  %index = add i64 %wide, %back
  %place = getelementptr i64, ptr %a, i64 %index
  %x = load i64, ptr %place
  %thrice = mul i64 %total, 3
  %sum = add i64 %thrice, %x
  %next = add nsw i64 %k, 1
  br label %head
done:
  %result = phi i64 [ %total, %head ]
  ret i64 %result
}
"""
VALUES = (1, 20, 300, 4000, 50000)


def made(text: str = SUM) -> tuple[Module, int]:
    module = read_module(text)
    return module, ask_ahead(module.functions["f"], lambda loop, view: True)


def run(module: Module, indices: list[int], begin: int, end: int) -> int:
    memory, values, array = Memory(), np.array(VALUES), np.array(indices, np.int32)
    arguments = [memory.map_array(array), begin, end, memory.map_array(values), len(values)]
    return int(run_function(Program(module), "f", arguments, 1, memory=memory).data[0])


def test_one_of_two_versions_does_not_ask() -> None:
    module, count = made()
    assert count == 1
    verify(module)
    assert is_loop_closed(module.functions["f"])
    text = write_module(module)
    assert len(re.findall(r"icmp slt i32 %j\S*, 0", text)) == 1
    assert text.count("freeze") == 1
    assert ask_ahead(module.functions["f"], lambda loop, view: False) == 0


@pytest.mark.parametrize(
    "text", [SUM, SUM.replace("slt i32 %j", "slt i64 %wide")], ids=["32 bits", "64 bits"]
)
@pytest.mark.parametrize("span", [(0, 6), (2, 5), (3, 3), (5, 1)])
def test_indices_count_from_the_end_where_one_is_negative(text: str, span: tuple[int, int]) -> None:
    plain = read_module(text)
    module, count = made(text)
    assert count == 1
    for indices in ([0, 4, 2, 2, 1, 3], [0, 4, -1, 2, 1, 3], [-5, -4, -3, -2, -1, 0], [1, 1, 1, 1, 1, -2]):
        assert run(module, indices, *span) == run(plain, indices, *span)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%sum = add", "store i64 %x, ptr %place\n  %sum = add"),  # it may write what it looks up
        ("ptr %list, i64 %k", "ptr %list, i64 %total"),  # it looks up where to look up
        ("%negative = icmp slt i32 %j, 0", "%negative = icmp slt i64 %k, 0"),  # no index is looked up
        ("load i32", "load volatile i32"),
        ("slt i64 %k, %to", "sgt i64 %k, %to"),
    ],
)
def test_other_loops_have_one_version(old: str, new: str) -> None:
    text = SUM.replace(old, new)
    if "sgt" in new:
        text = text.replace("add nsw i64 %k, 1", "add nsw i64 %k, -1")
    assert text != SUM
    assert made(text)[1] == 0


def test_what_only_some_iterations_look_up_is_not_read_ahead() -> None:
    text = SUM.replace(
        "body:\n", "body:\n  %odd = trunc i64 %k to i1\n  br i1 %odd, label %use, label %join\nuse:\n"
    )
    text = text.replace(
        "  %next =", "  br label %join\njoin:\n  %kept = phi i64 [ %sum, %use ], [ %total, %body ]\n  %next ="
    )
    text = text.replace("[ %next, %body ]", "[ %next, %join ]").replace("[ %sum, %body ]", "[ %kept, %join ]")
    assert made(text)[1] == 0


def pulls(position, neighbours, counts, pull, far):
    i = cuda.grid(1)
    if i < position.size:
        total = 0.0
        for k in range(counts[i]):
            d = position[i] - position[neighbours[i, k]]
            square = d * d
            if square < far:
                total += d / (square + 1.0)
        pull[i] = total


def pulls_in_a_loop(position, neighbours, counts, pull, far):
    for i in weft.prange(position.size):
        total = 0.0
        for k in range(counts[i]):
            d = position[i] - position[neighbours[i, k]]
            square = d * d
            if square < far:
                total += d / (square + 1.0)
        pull[i] = total


@pytest.mark.spread
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("door", ["kernel", "loop"])
@pytest.mark.parametrize("least", [0, -40], ids=["from the begin", "from both ends"])
def test_sums_over_neighbours(cpu: str, door: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    random = np.random.default_rng(11)
    position, counts = random.normal(size=40), random.integers(0, 20, 40).astype(np.int32)
    neighbours = random.integers(least, 40, (40, 20)).astype(np.int32)
    pull = np.zeros(40)
    if door == "kernel":
        cuda.jit(pulls, fastmath=True, width=1)[2, 32](position, neighbours, counts, pull, 2.0)
    else:
        weft.jit(pulls_in_a_loop, fastmath=True, width=1)(position, neighbours, counts, pull, 2.0)
    d = position[:, None] - position[neighbours]
    used = (d * d < 2.0) & (np.arange(20) < counts[:, None])
    np.testing.assert_allclose(pull, np.where(used, d / (d * d + 1), 0).sum(1), rtol=1e-12, atol=1e-12)
