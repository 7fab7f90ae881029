"""Numbers of which only the low half is extended have 32 bits, and functions return what they returned."""

import itertools

import numpy as np
import pytest

from transform.chain import returned
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.types import I64
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.low_halves import halve_numbers

EXTENDED = {
    "by its sign": "  %top = shl i64 {n}, 32\n  %r = ashr exact i64 %top, 32",
    "by its sign, fourfold": "  %top = shl i64 {n}, 32\n  %r = ashr exact i64 %top, 30",
    "by zeros": "  %r = and i64 {n}, 4294967295",
    "by zeros, fourfold": "  %top = shl i64 {n}, 32\n  %r = lshr i64 %top, 30",
}
NUMBERS = {
    "sum": "  %n = add i64 %a, %b",
    "product": "  %wide = zext i32 %w to i64\n  %m = mul i64 %a, %wide\n  %n = add i64 %m, 4294967303",
    "shift": "  %s = shl i64 %a, 3\n  %n = sub i64 %s, %b",
    "extended before": "  %low = and i64 %a, 4294967295\n  %n = add i64 %low, %b",
}


def parsed(body: str) -> Function:
    module = read_module(f"define i64 @f(i64 %a, i64 %b, i32 %w) {{\n{body}\n  ret i64 %r\n}}\n")
    verify(module)
    return next(module.definitions())


SOME = [0, 1, -1, 7, (1 << 31) - 1, 1 << 31, (1 << 32) - 5, 1 << 40, -(1 << 33) + 9]
PAIRS = np.array(list(itertools.product(SOME, SOME)), np.int64)
ARGUMENTS = [PAIRS[:, 0], PAIRS[:, 1], np.resize(np.array([0, 3, -1, 40], np.int32), len(PAIRS))]


def results(function: Function) -> object:
    return returned("f", ARGUMENTS, len(PAIRS))(function.module, "FR")


@pytest.mark.parametrize("extended", EXTENDED)
@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_extended_has_32_bits(number: str, extended: str) -> None:
    function = parsed(NUMBERS[number] + "\n" + EXTENDED[extended].format(n="%n"))
    before = results(function)
    assert halve_numbers(function) > 0
    verify(function.module)
    assert not any(i.op in ("add", "sub", "mul") and i.type == I64 for i in function.instructions())
    assert results(function) == before


COUNTER = """
entry:
  br label %head
head:
  %i.wide = phi i64 [ %a, %entry ], [ %next, %body ]
  %count = phi i32 [ 0, %entry ], [ %more, %body ]
  %i = trunc i64 %i.wide to i32
  %stays = icmp sgt i32 %w, %i
  %few = icmp ult i32 %count, 5
  %both = and i1 %stays, %few
  br i1 %both, label %body, label %exit
body:
  %more = add i32 %count, 1
  %top = shl i64 %i.wide, 32
  %own = ashr exact i64 %top, 32
  %step = and i64 %b, 4294967295
  %next = add nsw i64 %own, %step
  br label %head
exit:
  %short = trunc i64 %i.wide to i16
  %r = sext i16 %short to i64
"""


def test_a_counter_that_goes_around_a_loop_has_32_bits() -> None:
    function = parsed(COUNTER)
    before = results(function)
    assert halve_numbers(function) == 2
    verify(function.module)
    assert "phi i64" not in write_module(function.module)
    assert results(function) == before


@pytest.mark.parametrize(
    "body",
    [
        # All bits of the sum are used, too.
        "  %n = add i64 %a, %b\n  %low = and i64 %n, 4294967295\n  %r = xor i64 %low, %n",
        # Its high half comes down.
        "  %n = add i64 %a, %b\n  %m = lshr i64 %n, 1\n  %r = and i64 %m, 4294967295",
        "  %n = add i64 %a, %b\n  %top = shl i64 %n, 31\n  %r = ashr i64 %top, 31",
        # Nothing is extended.
        "  %n = add i64 %a, %b\n  %low = trunc i64 %n to i8\n  %r = zext i8 %low to i64",
    ],
)
def test_others_stay(body: str) -> None:
    function = parsed(body)
    before = write_module(function.module)
    assert halve_numbers(function) == 0
    assert write_module(function.module) == before


def test_a_number_that_is_its_low_half_is_used_as_it_is() -> None:
    text = """
define i64 @f(i64 range(i64 0, 1000) %a, i64 range(i64 0, 1000) %b) {
  %n = mul nuw nsw i64 %a, %b
  %top = shl i64 %n, 32
  %r = ashr exact i64 %top, 32
  ret i64 %r
}
"""
    module = read_module(text)
    assert halve_numbers(module.functions["f"]) == 1
    verify(module)
    assert "ret i64 %n" in write_module(module)
