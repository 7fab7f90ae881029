"""What asks for the sign of a number whose sign ranges know becomes a constant."""

import pytest

from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.known_numbers import replace_known_numbers

BY_COMPARISON = "%negative = icmp slt i64 %low, 0\n  %w = select i1 %negative, i64 %n, i64 0\n"
BY_SHIFT = "%sign = lshr i64 %low, 53\n  %w = and i64 %sign, 1024\n"


def program(asks: str, low: str = "sub i64 %twice, %within") -> str:
    return f"""
define i64 @f(i64 range(i64 0, 1024) %t, i64 %n) {{
  %within = and i64 %t, %n
  %twice = shl nuw nsw i64 %t, 1
  %low = {low}
  {asks}
  %index = add i64 %low, %w
  ret i64 %index
}}
"""


@pytest.mark.parametrize("asks", [BY_COMPARISON, BY_SHIFT])
def test_an_index_that_is_not_negative_is_not_asked(asks: str) -> None:
    module = read_module(program(asks))
    assert replace_known_numbers(module.functions["f"]) > 0
    verify(module)
    text = write_module(module)
    assert "icmp" not in text and "lshr" not in text and "select" not in text


@pytest.mark.parametrize("asks", [BY_COMPARISON, BY_SHIFT])
def test_a_number_of_unknown_sign_is_asked(asks: str) -> None:
    module = read_module(program(asks, "sub i64 %within, %twice"))
    before = write_module(module)
    assert replace_known_numbers(module.functions["f"]) == 0
    assert write_module(module) == before


def test_a_mask_leaves_the_sign_of_large_numbers_alone() -> None:
    # The shift has more bits of a number that is not small, which the mask takes away.
    module = read_module(program(BY_SHIFT, "lshr i64 %n, 3"))
    assert replace_known_numbers(module.functions["f"]) == 1
    verify(module)
    assert "and i64 %sign" not in write_module(module)
    module = read_module(program(BY_SHIFT.replace("1024", "1536"), "lshr i64 %n, 3"))
    assert replace_known_numbers(module.functions["f"]) == 0


def test_a_known_negative_number_is_wrapped_always() -> None:
    module = read_module(program(BY_COMPARISON, "or i64 %t, -1024"))
    assert replace_known_numbers(module.functions["f"]) == 1
    verify(module)
    assert "add i64 %low, %n" in write_module(module)


@pytest.mark.parametrize("asks", [BY_COMPARISON, BY_SHIFT])
@pytest.mark.parametrize(("guard", "asked"), [("sge", False), ("sgt", False), ("sle", True), ("ne", True)])
def test_a_difference_of_what_is_compared_is_not_asked(asks: str, guard: str, asked: bool) -> None:
    """What scans read: ``shared[t - distance] if t >= distance``."""
    module = read_module(f"""
define i64 @f(i64 range(i64 0, 1024) %t, i64 range(i64 1, 512) %d, i64 %n) {{
entry:
  %distance = add i64 %d, 1
  %is_there = icmp {guard} i64 %t, %distance
  br i1 %is_there, label %then, label %else
then:
  %low = sub i64 %t, %distance
  {asks}
  %index = add i64 %low, %w
  ret i64 %index
else:
  ret i64 0
}}
""")
    assert (replace_known_numbers(module.functions["f"]) == 0) == asked
    verify(module)
