"""Histograms in order have a version with four banks of counters, where what they read lies elsewhere."""

import os
import random

import numpy as np
import pytest

import weft
from pairs import pairs
from weft.interp import Memory, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.counter_banks import PER_COUNTER, bank_counters

LOOP = """
define i64 @count(ptr %h, ptr %x, i64 %n, {type} %w) {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %latch ]
  %more = icmp {predicate} i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %from = getelementptr i8, ptr %x, i64 %k
  %value = load i8, ptr %from
  %which = and i8 %value, {mask}
  %wide = zext i8 %which to i64
  %negative = icmp slt i8 %value, {least}
  br i1 %negative, label %latch, label %update
update:
  %place = getelementptr {type}, ptr %h, i64 %wide
  %old = load {type}, ptr %place
  %new = {op} {type} %old, %w
  store {type} %new, ptr %place
  br label %latch
latch:
  %next = add nuw nsw i64 %k, 1
  br label %head
done:
  %last = phi i64 [ %k, %head ]
  ret i64 %last
}}
"""
PARTS = {"type": "i32", "predicate": "ult", "mask": "3", "least": "-128", "op": "add"}


def made(**parts: str) -> Module:
    return read_module(LOOP.format(**{**PARTS, **parts}))


def ran(module: Module, h: np.ndarray, x: np.ndarray, begin: int, n: int, w: int) -> int:
    """Run it on counters and on bytes from a place on, which may be in the counters."""
    memory = Memory()
    at = memory.map_array(h)
    where = at if x is h else memory.map_array(x)
    result = run_function(module, "count", [at, where + begin, n, w], 1, memory=memory)
    assert result.value is not None
    return int(np.ravel(result.value.data)[0])


@pytest.mark.parametrize(
    ("op", "least", "counter"),
    pairs(["add", "sub", "add nsw"], ["-128", "0"], [("i32", "slt"), ("i64", "ult"), ("i32", "ne")]),
)
def test_counters_are_the_same(op: str, least: str, counter: tuple[str, str]) -> None:
    type, predicate = counter
    parts = {"op": op, "least": least, "type": type, "predicate": predicate}
    before, after = made(**parts), made(**parts)
    assert bank_counters(after.functions["count"]) == 1
    verify_structure(after)
    x = np.random.default_rng(3).integers(0, 256, 200).astype(np.uint8)
    for n in (0, 1, 4 * PER_COUNTER, 4 * PER_COUNTER + 1, 131, 200):
        one, other = (np.arange(6, dtype=f"i{int(type[1:]) // 8}") for _ in range(2))
        assert ran(before, one, x, 0, n, 3) == ran(after, other, x, 0, n, 3)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("begin", [0, 4, 12, 15, 16, 40])
def test_bytes_among_the_counters_are_read_as_they_change(begin: int) -> None:
    before, after = made(), made()
    bank_counters(after.functions["count"])
    given = np.random.default_rng(begin).integers(0, 1 << 30, 60).astype(np.int32)
    one, other = given.copy(), given.copy()
    ran(before, one, one, begin, 190, 5)
    ran(after, other, other, begin, 190, 5)
    np.testing.assert_array_equal(one, other)


def test_counters_that_stay_are_not_written_behind_the_last() -> None:
    """Of an array with two counters no third is touched."""
    after = made()
    bank_counters(after.functions["count"])
    counters = np.zeros(2, np.int32)
    ran(after, counters, np.tile(np.array([0, 1], np.uint8), 100), 0, 200, 1)
    assert counters.tolist() == [100, 100]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("and i8 %value, 3", "add i8 %value, 3"),
        ("add i32 %old, %w", "mul i32 %old, %w"),
        ("store i32 %new", "store volatile i32 %new"),
        ("i64 [ 0, %entry ]", "i64 [ 1, %entry ]"),
        ("  br label %latch\nlatch", "  store i32 %old, ptr %x\n  br label %latch\nlatch"),
        ("  br label %latch\nlatch", "  store i32 0, ptr %x\n  br label %latch\nlatch"),
        ("getelementptr i8, ptr %x, i64 %k", "getelementptr i8, ptr %x, i64 %odd"),
    ],
    ids=["any index", "products", "volatile", "from 1", "what was there", "two stores", "strides"],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = LOOP.format(**PARTS).replace(old, new)
    if "%odd" in new:
        text = text.replace("  %from", "  %odd = mul i64 %k, %n\n  %from")
    if old.startswith("and"):
        text = text.replace("zext i8", "sext i8")
    module = read_module(text)
    before = write_module(module)
    assert bank_counters(module.functions["count"]) == 0
    assert write_module(module) == before


def histogram(data, counts):
    for i in range(data.size):
        counts[data[i]] += 1


def of_parts(data, counts):
    parts = counts.shape[0]
    length = (data.size + parts - 1) // parts
    for part in weft.prange(parts):
        for i in range(length * part, min(length * (part + 1), data.size)):
            counts[part, data[i] & 15] += 2


@pytest.mark.spread
@pytest.mark.parametrize("type", [np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("size", [0, 8192, 8193, 20011])
def test_histograms_of_bytes_are_right(type, size: int) -> None:
    count, parts = weft.jit(histogram), weft.jit(of_parts)
    runs = np.repeat(np.arange(size // 50 + 1), 50)[:size].astype(np.uint8)
    for data in (runs, np.random.default_rng(1).integers(0, 256, size).astype(np.uint8)):
        counts, rows = np.zeros(256, type), np.zeros((5, 16), type)
        count(data, counts)
        parts(data, rows)
        np.testing.assert_array_equal(counts, np.bincount(data, minlength=256))
        np.testing.assert_array_equal(rows.sum(axis=0), 2 * np.bincount(data & 15, minlength=16))


@pytest.mark.parametrize("size", [0, 20011, 100_000])
def test_loops_that_all_cores_share_have_banks(size: int) -> None:
    """What each thread does to its copy of the counters stands in the loop, not in a function of its own."""
    count = weft.jit(histogram, parallel="auto")
    for data in (np.repeat(np.arange(size // 50 + 1), 50)[:size].astype(np.uint8), np.zeros(size, np.uint8)):
        counts = np.ones(256, np.int64)
        count(data, counts)
        np.testing.assert_array_equal(counts, 1 + np.bincount(data, minlength=256))
    (code,) = count.inspect_llvm().values()
    assert "alloca [1024 x i64]" in code


def test_counters_that_are_counted_themselves() -> None:
    given = np.random.default_rng(5).integers(0, 1 << 31, 4096).astype(np.int32)
    one, other = given.copy(), given.copy()
    weft.jit(histogram)(one.view(np.uint8), one)
    weft.jit(histogram, without=("counter-banks",))(other.view(np.uint8), other)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(200 if os.environ.get("WEFT_FUZZ") else 8))
def test_random_loops_agree(seed: int) -> None:
    rng = random.Random(f"banks {seed}")
    parts = {
        "type": rng.choice(("i32", "i64")),
        "predicate": rng.choice(("slt", "ult", "ne")),
        "mask": str(rng.choice((0, 1, 2, 3, 4))),
        "least": rng.choice(("-128", "0")),
        "op": rng.choice(("add", "sub")),
    }
    before, after = made(**parts), made(**parts)
    bank_counters(after.functions["count"])
    numbers = np.random.default_rng(seed)
    given = numbers.integers(-(1 << 31), 1 << 31, 64).astype(f"i{int(parts['type'][1:]) // 8}")
    n, begin, w = rng.randrange(200), rng.randrange(40), rng.randrange(-9, 9)
    one, other = given.copy(), given.copy()
    beside = numbers.integers(0, 256, 260).astype(np.uint8)
    overlaps = rng.random() < 0.5
    ran(before, one, one if overlaps else beside, begin, n, w)
    ran(after, other, other if overlaps else beside, begin, n, w)
    np.testing.assert_array_equal(one, other)
