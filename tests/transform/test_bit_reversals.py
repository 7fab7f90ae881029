"""Loops that turn around bits are one instruction, and functions return what they returned."""

import numpy as np
import pytest

import weft
from transform.chain import returned
from weft import cuda, prange
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.bit_reversals import reverse_bits

#   entry          What is counted is asked before a bit is moved.
#     |
#   head <---+
#    |  \    |
#   out  body
HEAD = """
define i64 @f({number} %x, i64 %s) {{
entry:
  br label %head
head:
  %v = phi {number} [ %x, %entry ], [ %w, %body ]
  %r = phi i64 [ %s, %entry ], [ %m, %body ]
  %k = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %k, {bits}
  br i1 %more, label %body, label %out
body:
  %b = and {number} %v, 1
  %z = {cast}
  %up = shl i64 %r, 1
  %m = {join} i64 {operands}
  %w = {shift} {number} %v, 1
  %next = add nsw i32 %k, 1
  br label %head
out:
  %rest = {cast.rest}
  %both = mul i64 %rest, 3
  %all = add i64 %r, %both
  %count = sext i32 %k to i64
  %result = xor i64 %all, %count
  ret i64 %result
}}
"""
#   entry
#     |
#   body <-+       It is asked behind that.
#    |  \__|
#   out
LAST = """
define i64 @f(i32 %x, i64 %s) {
entry:
  br label %body
body:
  %r = phi i64 [ %s, %entry ], [ %m, %body ]
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %wide = zext i32 %x to i64
  %w = lshr i64 %wide, %k
  %b = and i64 %w, 1
  %up = shl i64 %r, 1
  %m = or i64 %up, %b
  %next = add nsw i64 %k, 1
  %more = icmp ult i64 %next, 32
  br i1 %more, label %body, label %out
out:
  %result = add i64 %m, %next
  ret i64 %result
}
"""
NUMBERS = [0, 1, 2, 3, 7, 12, 255, 65536, (1 << 31) - 1, -1, -2, -(1 << 31)]


def turned(text: str, number: type = np.int32) -> bool:
    """Whether the loop is gone, and what is returned the same."""
    module = read_module(text)
    verify(module)
    x, s = np.array(NUMBERS).astype(number), np.arange(len(NUMBERS), dtype=np.int64) * 5 - 9
    before = returned("f", [x, s], len(x))(module, "FR")
    changed = reverse_bits(module.functions["f"]) > 0
    verify(module)
    np.testing.assert_equal(returned("f", [x, s], len(x))(module, "FR"), before)
    assert changed == ("llvm.bitreverse" in write_module(module))
    return changed


def head(
    number: str = "i32", bits: int = 32, join: str = "or", shift: str = "lshr", *, swapped: bool = False
) -> str:
    wide = "add i64 {0}, 0" if number == "i64" else f"zext {number} {{0}} to i64"
    text = HEAD.replace("{cast.rest}", wide.format("%v")).replace("%z = {cast}", "%z = " + wide.format("%b"))
    if number == "i64":
        text = text.replace("  %z = add i64 %b, 0\n", "").replace("{operands}", "%up, %b")
    operands = "%z, %up" if swapped else "%up, %z"
    return text.format(number=number, bits=bits, join=join, shift=shift, operands=operands)


@pytest.mark.parametrize("bits", [4, 7, 8, 16, 31, 32])
@pytest.mark.parametrize("shift", ["lshr", "ashr"])
def test_the_last_bits_of_a_number(bits: int, shift: str) -> None:
    assert turned(head(bits=bits, shift=shift))


@pytest.mark.parametrize(("number", "bits"), [("i8", 8), ("i16", 11), ("i64", 10), ("i64", 33), ("i64", 64)])
def test_numbers_of_other_lengths(number: str, bits: int) -> None:
    kinds = {"i8": np.int8, "i16": np.int16, "i64": np.int64}
    assert turned(head(number, bits), kinds[number])


def test_bits_that_are_added() -> None:
    assert turned(head(join="add", swapped=True))
    assert turned(head(join="xor"))


def test_bits_that_are_looked_at_where_they_are() -> None:
    assert turned(LAST)
    assert turned(LAST.replace("zext i32 %x", "sext i32 %x"))
    assert turned(LAST.replace("%next, 32", "%next, 20").replace("lshr", "ashr"))


def test_results_that_are_shorter() -> None:
    text = LAST.replace("i64 %s", "i8 %s").replace("define i64", "define i8")
    text = text.replace("%r = phi i64", "%r = phi i8").replace(
        "%up = shl i64 %r", "%short = trunc i64 %b to i8\n  %up = shl i8 %r"
    )
    text = (
        text.replace("%m = or i64 %up, %b", "%m = or i8 %up, %short")
        .replace("add i64 %m, %next", "add i8 %m, 1")
        .replace("ret i64", "ret i8")
    )
    module = read_module(text)
    x, s = np.array(NUMBERS, np.int32), np.arange(len(NUMBERS), dtype=np.int8)
    before = returned("f", [x, s], len(x))(module, "FR")
    assert reverse_bits(module.functions["f"]) == 1
    verify(module)
    np.testing.assert_equal(returned("f", [x, s], len(x))(module, "FR"), before)


@pytest.mark.parametrize(
    "text",
    [
        head(bits=33),
        head(bits=3),
        head(bits=16, join="and"),
        head().replace("shl i64 %r, 1", "shl i64 %r, 2"),
        head().replace("lshr i32 %v, 1", "lshr i32 %v, 2"),
        head().replace("and i32 %v, 1", "and i32 %v, 3"),
        LAST.replace("[ 0, %entry ]", "[ 1, %entry ]"),
        LAST.replace("add i64 %m, %next", "add i64 %m, %r"),
        LAST.replace("add i64 %m, %next", "add i64 %m, %up"),
        LAST.replace("%next, 32", "%next, %s"),
    ],
    ids=["too many", "few", "no sum", "two up", "two down", "two bits", "not the first", "the last but one",
         "part of it", "any number"],
)  # fmt: skip
def test_other_loops_are_left(text: str) -> None:
    module = read_module(text)
    assert reverse_bits(module.functions["f"]) == 0


def one_by_one(x, out):
    for i in prange(x.size):
        v = x[i]
        r = np.uint32(0)
        for _ in range(32):
            r = (r << np.uint32(1)) | (v & np.uint32(1))
            v >>= np.uint32(1)
        out[i] = r


def in_place(x, out):
    i = cuda.grid(1)
    if i < x.size:
        r = 0
        for k in range(32):
            r = 2 * r + ((x[i] >> k) & 1)
        out[i] = r


@pytest.mark.parametrize("cpu", ["x86-64-v4", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("door", ["kernel", "loop"])
def test_doors(door: str, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    x = np.random.default_rng(3).integers(0, 1 << 32, 333, dtype=np.uint32)
    out = np.zeros_like(x)
    if door == "kernel":
        compiled = cuda.jit(in_place)
        compiled[3, 128](x, out)
    else:
        compiled = weft.jit(one_by_one)
        compiled(x, out)
    assert out.tolist() == [int(f"{int(v):032b}"[::-1], 2) for v in x]
