"""Counts of 64 bits are counted in 32 and flushed now and then, with the same results."""

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.interp import Memory, run_function
from weft.ir import Module, Value
from weft.ir.reader import read_module
from weft.ir.types import I64
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers import flushed_counts
from weft.transform.numbers.flushed_counts import flush_counts

ADDED = {
    "one": "%more = add nsw i64 %n, 1\n  %n1 = select i1 %hit, i64 %more, i64 %n",
    "less one": "%n1 = sub i64 %n, %one",
    "a byte": "%n1 = add i64 %byte, %n",
    "a sum of two": "%n0 = add i64 %byte, %n\n  %n1 = add i64 %n0, %one",
}
"""What a round adds to %n."""
LEFT = {
    "once": "%more = add nsw i64 %n, 1\n  %n1 = select i1 %hit, i64 0, i64 %more",
    "what is unknown": "%n1 = add i64 %n, %start",
    "what it is": "%n1 = add i64 %n, %n",
    "much": "%n1 = add i64 %n, 3000000",
    "nothing": "%n1 = select i1 %hit, i64 %n, i64 %n",
}


def program(added: str, rounds: str = "%rounds", use: str = "") -> str:
    """Threads count from a number of their own, in as many rounds as lanes are told."""
    return f"""
define void @k(ptr %out, i64 %tid.x, i64 %rounds) "weft.kernel" {{
entry:
  %at = getelementptr i64, ptr %out, i64 %tid.x
  %start = load i64, ptr %at
  %few = and i64 %start, 7
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %body ]
  %n = phi i64 [ %start, %entry ], [ %n1, %body ]
  %again = icmp slt i64 %i, {rounds}
  br i1 %again, label %body, label %done
body:
  %mixed = mul i64 %i, 2654435761
  %x = add i64 %mixed, %start
  %low = trunc i64 %x to i8
  %byte = zext i8 %low to i64
  %hit = icmp ult i8 %low, 77
  %one = zext i1 %hit to i64
  {added}
  {use}
  %i1 = add i64 %i, 1
  br label %head
done:
  %end = phi i64 [ %n, %head ]
  store i64 %end, ptr %at
  ret void
}}
"""


def flushed(text: str) -> tuple[Module, int]:
    module = read_module(text)
    kernel = module.functions["k"]
    domain = domain_named("product", (8,))
    shapes: dict[Value, Shape] = {kernel.args[1]: domain.strided(1, 64, 8)}
    count = flush_counts(kernel, analyze_divergence(kernel, domain=domain, initial=shapes, width=8))
    verify(module)
    return module, count


def results(module: Module, rounds: int) -> list[int]:
    memory = Memory()
    out = np.array([0, 5, -3, 1 << 31, (1 << 31) - 2, -(1 << 31), 1 << 62, -(1 << 63)], np.int64)
    address = memory.map_array(out, "out")
    run_function(module, "k", [address, np.arange(8), rounds], 8, memory=memory)
    return out.tolist()


@pytest.mark.spread
@pytest.mark.parametrize("every", [1, 2, 30])
@pytest.mark.parametrize("added", ADDED)
def test_results_are_the_same(added: str, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flushed_counts, "MOST_ROUNDS", every)
    monkeypatch.setattr(flushed_counts, "LEAST_ROUNDS", 0)
    text = program(ADDED[added])
    before, (module, count) = read_module(text), flushed(text)
    assert count == 1
    for rounds in (0, 1, 2, 3, 4, 5, 30):
        assert results(module, rounds) == results(before, rounds)


def test_a_flush_is_seldom() -> None:
    text = write_module(flushed(program(ADDED["one"]))[0])
    assert f", {(1 << 30) - 1}" in text
    assert f", {(1 << 23) - 1}" in write_module(flushed(program(ADDED["a byte"]))[0])


@pytest.mark.parametrize("left", LEFT)
def test_what_is_no_count_stays(left: str) -> None:
    assert flushed(program(LEFT[left]))[1] == 0


def test_what_fits_is_left_to_narrowing() -> None:
    text = program(ADDED["one"], rounds="300").replace("%start, %entry", "%few, %entry")
    assert flushed(text)[1] == 0


def test_what_a_loop_uses_stays() -> None:
    assert flushed(program(ADDED["one"], use="store i64 %n1, ptr %at"))[1] == 0


def test_loops_that_threads_leave_one_by_one_stay() -> None:
    assert flushed(program(ADDED["one"], rounds="%few"))[1] == 0


def test_ways_that_meet_are_one_count() -> None:
    text = """
define void @k(ptr %out, i64 %tid.x, i64 %rounds) "weft.kernel" {
entry:
  %at = getelementptr i64, ptr %out, i64 %tid.x
  %start = load i64, ptr %at
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  %n = phi i64 [ %start, %entry ], [ %n1, %latch ]
  %x = xor i64 %i, %start
  %odd = trunc i64 %x to i1
  br i1 %odd, label %one, label %latch
one:
  %more = add nsw i64 %n, 1
  br label %latch
latch:
  %n1 = phi i64 [ %n, %head ], [ %more, %one ]
  %i1 = add i64 %i, 1
  %again = icmp slt i64 %i1, %rounds
  br i1 %again, label %head, label %done
done:
  %end = phi i64 [ %n1, %latch ]
  store i64 %end, ptr %at
  ret void
}
"""
    before, (module, count) = read_module(text), flushed(text)
    assert count == 1
    assert not [i for i in module.functions["k"].instructions() if i.name == "more" and i.type == I64]
    for rounds in (1, 2, 9):
        assert results(module, rounds) == results(before, rounds)


def inside(rounds, x, out):
    for i in prange(x.size):
        state, hits = x[i], 5
        for _ in range(rounds * rounds):
            state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
            if state > np.uint32(1 << 30):
                hits += 1
            if state < np.uint32(1 << 20):
                hits -= 3
        out[i] = hits


def kernel(rounds, x, out):
    i = cuda.grid(1)
    if i < x.size:
        state, hits = x[i], 5
        for _ in range(rounds * rounds):
            state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
            if state > np.uint32(1 << 30):
                hits += 1
            if state < np.uint32(1 << 20):
                hits -= 3
        out[i] = hits


def counted(rounds: int, x: np.ndarray) -> np.ndarray:
    state, hits = x.copy(), np.full(x.size, 5, np.int64)
    for _ in range(rounds * rounds):
        state = state * np.uint32(1664525) + np.uint32(1013904223)
        hits += state > 1 << 30
        hits -= 3 * (state < 1 << 20)
    return hits


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_programs_count_as_before(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CHECK", "1")
    monkeypatch.setattr(flushed_counts, "MOST_ROUNDS", 2)
    monkeypatch.setattr(flushed_counts, "LEAST_ROUNDS", 0)
    x = np.random.default_rng(1).integers(0, 1 << 32, 20).astype(np.uint32)
    loop, threads = weft.jit(width=8)(inside), cuda.jit(width=8)(kernel)
    for rounds in (1, 5):
        out = np.zeros((2, x.size), np.int64)
        loop(rounds, x, out[0])
        threads[2, 16](rounds, x, out[1])
        np.testing.assert_array_equal(out, [counted(rounds, x)] * 2)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_lanes_count_in_32_bits(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    x = np.zeros(100, np.uint32)
    compiled = weft.jit(width=8)(inside)
    compiled.compile((weft.int64, weft.uint32[::1], weft.int64[::1]))
    (text,) = compiled.inspect_llvm().values()
    counting = [line for line in text.split("\n") if "hits" in line and " phi <" in line]
    assert any("<8 x i32>" in line for line in counting), x
