"""Addresses of 32-bit indices get a place of 64 bits, behind all else that is added up."""

import numpy as np
import pytest

from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.numbers.wide_addresses import widen_addresses

PLACES = 64


def program(index: str) -> str:
    return f"""
define void @f(ptr %a, i32 %m, i32 %n, i64 %t) {{
entry:
  %j = trunc nsw i64 %t to i32
  {index}
  %p = getelementptr inbounds float, ptr %a, i64 %w
  store float 1.0, ptr %p
  ret void
}}
"""


def stored(module, m, n, t):
    memory = Memory()
    out = np.zeros(PLACES, np.float32)
    address = memory.map_array(out, "out")
    run_function(module, "f", [address, m, n, t], 1, memory=memory)
    return np.flatnonzero(out)


@pytest.mark.parametrize(
    "index",
    [
        "%i = add nsw i32 %m, %j\n %w = sext i32 %i to i64",
        "%k = add nsw i32 %j, -1\n %i = add nsw i32 %k, %m\n %w = sext i32 %i to i64",
        "%k = add nsw i32 %m, %n\n %i = add nsw i32 %j, %k\n %w = sext i32 %i to i64",
        "%i = add nuw nsw i32 %m, %j\n %w = zext nneg i32 %i to i64",
        "%w = sext i32 %j to i64",
    ],
)
def test_the_place_is_the_same_and_no_sum_of_32_bits_is_left(index):
    before, after = read_module(program(index)), read_module(program(index))
    assert widen_addresses(after.functions["f"]) == 1
    verify(after)
    ops = [i.op for i in after.functions["f"].instructions()]
    assert "trunc" not in ops
    assert not [i for i in after.functions["f"].instructions() if i.op == "add" and str(i.type) == "i32"]
    for m, n, t in ((7, 3, 5), (20, 0, 1), (9, 11, 30)):
        assert list(stored(after, m, n, t)) == list(stored(before, m, n, t))
    if "zext" not in index:
        assert list(stored(after, 21, -2, 4)) == list(stored(before, 21, -2, 4))


@pytest.mark.parametrize(
    "index",
    [
        pytest.param("%i = add i32 %m, %j\n %w = sext i32 %i to i64", id="sum that may wrap"),
        pytest.param("%i = add nuw i32 %m, %j\n %w = zext i32 %i to i64", id="unsigned"),
        pytest.param("%k = trunc i64 %t to i32\n %w = sext i32 %k to i64", id="bits may be lost"),
        pytest.param("%i = add nsw i32 %m, %n\n %w = sext i32 %i to i64", id="no place of 64 bits"),
    ],
)
def test_other_addresses_stay(index):
    assert widen_addresses(read_module(program(index)).functions["f"]) == 0
