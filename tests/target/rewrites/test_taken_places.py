"""Places that are taken from counters: where the counter is is computed before it is accessed (`taken_places`)."""

import re

import numpy as np
import pytest

import weft
from codegen.machine_code import spec_of
from steps import at_most
from weft import cuda
from weft.machine.targets import AVX2, AVX512, NEON, SSE2, Isa
from weft.target.machine import emit_assembly
from weft.target.passes import FINAL
from weft.target.rewrites.taken_places import with_taken_places

TAKE = """\
define void @f(ptr %counts, ptr %result, ptr %keys, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %key = getelementptr i32, ptr %keys, i64 %k
  %x = load i32, ptr %key, align 4
  %digit = and i32 %x, 15
  %wide = zext i32 %digit to i64
  %at = getelementptr i32, ptr %counts, i64 %wide
  %place = load i32, ptr %at, align 4
  %more = add i32 %place, 1
  store i32 %more, ptr %at, align 4
  %there = sext i32 %place to i64
  %to = getelementptr i32, ptr %result, i64 %there
  store i32 %x, ptr %to, align 4
  %next = add nuw nsw i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %out, label %loop
out:
  ret void
}
"""


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
def test_the_address_of_a_counter_is_hidden(isa: Isa) -> None:
    text = with_taken_places(TAKE, isa)
    assert '%weft.place.at = call ptr asm "", "=r,0"(ptr %at)' in text
    assert "load i32, ptr %weft.place.at," in text and "store i32 %more, ptr %weft.place.at," in text
    assert with_taken_places(TAKE, NEON) == TAKE
    spec = spec_of(isa)
    if spec.isa is isa:
        code = emit_assembly(text, spec, FINAL)
        loads = r"mov(?:slq|l)\t\(%\w+\), "
        assert re.search(loads, code) and not re.search(loads, emit_assembly(TAKE, spec, FINAL))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%there = sext i32 %place", "%there = sext i32 %digit"),  # the place is not asked for
        ("store i32 %more, ptr %at", "store i32 %more, ptr %counts"),  # it is not counted on
        ("store i32 %x, ptr %to", "%y = load i32, ptr %to"),  # nothing is put there
        ("ptr %counts, i64 %wide", "ptr %counts, i64 3"),  # it is one counter
    ],
)
def test_other_loads_and_stores_stay(old: str, new: str) -> None:
    text = TAKE.replace(old, new)
    assert with_taken_places(text, AVX2) == text != TAKE


def taking(counters: int) -> str:
    """`TAKE` with so many counters in one block, each taken twice."""
    begin, end = TAKE.index("  %at = "), TAKE.index("  %next = ")
    once = TAKE[begin:end]
    names = ("at", "place", "more", "there", "to")
    takes = []
    for k in range(counters):
        for turn, text in enumerate((once, once.split("\n", 1)[1])):
            for name in names:
                text = re.sub(rf"%{name}\b", f"%{name}.{k}" + f".{turn}" * (name != "at"), text)
            takes.append(text)
    return TAKE[:begin] + "".join(takes) + TAKE[end:]


def test_a_counter_that_is_taken_twice_is_hidden_once() -> None:
    text = with_taken_places(taking(2), AVX2)
    assert text.count("= call ptr asm") == 2 and "ptr %at.0," not in text
    assert len(re.findall(r"ptr %weft\.place\.at\.[01],", text)) == 8
    spec = spec_of(AVX2)
    if spec.isa is AVX2:
        assert emit_assembly(text, spec, FINAL)


def test_lines_are_looked_at_once_for_all_counters() -> None:
    text = taking(100)
    with at_most(20 * text.count("\n")):
        assert with_taken_places(text, AVX2).count("= call ptr asm") == 100


@cuda.jit
def put_in_order(keys, counts, result):
    chunk = cuda.grid(1)
    if chunk < counts.shape[0]:
        for k in range(64 * chunk, min(64 * chunk + 64, keys.size)):
            digit = keys[k] & np.uint32(7)
            place = counts[chunk, digit]
            counts[chunk, digit] = place + 1
            result[place] = keys[k]


@weft.jit
def put_in_order_in_a_loop(keys, counts, result):
    for chunk in weft.prange(counts.shape[0]):
        for k in range(64 * chunk, min(64 * chunk + 64, keys.size)):
            digit = keys[k] & np.uint32(7)
            place = counts[chunk, digit]
            counts[chunk, digit] = place + 1
            result[place] = keys[k]


@pytest.mark.parametrize("put", [put_in_order[2, 3], put_in_order_in_a_loop], ids=["kernel", "loop"])
def test_keys_are_put_in_order(put) -> None:
    keys = np.random.default_rng(3).integers(0, 1000, 300, np.uint32)
    digits = keys & 7
    counted = np.array([[(digits[64 * c : 64 * c + 64] == d).sum() for d in range(8)] for c in range(5)])
    before = np.concatenate([[0], np.cumsum(counted.T.ravel())])[:-1].reshape(8, 5).T
    result = np.zeros_like(keys)
    # The first chunk's places are counted from the end.
    counts = before.astype(np.int32).copy()
    counts[0] -= keys.size
    put(keys, counts, result)
    assert (result == keys[np.argsort(digits, kind="stable")]).all()
