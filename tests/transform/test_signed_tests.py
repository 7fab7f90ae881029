"""Comparisons that say that both numbers have the same sign are signed ones, and mean what they meant."""

import pytest

from weft.interp import run_function
from weft.ir.reader import read_module
from weft.transform.loops.signed_tests import sign_tests

TEXT = """
define i1 @compare(i8 %a, i8 %b) {{
  %c = icmp {flags}{predicate} i8 %a, %b
  ret i1 %c
}}
"""


@pytest.mark.parametrize("predicate", ["ult", "ule", "ugt", "uge"])
def test_orders_are_the_same(predicate: str) -> None:
    module, made = (read_module(TEXT.format(flags="samesign ", predicate=predicate)) for _ in range(2))
    assert sign_tests(made.functions["compare"]) == 1
    compared = next(i for i in made.functions["compare"].instructions() if i.op == "icmp")
    assert compared.predicate == f"s{predicate[1:]}" and "samesign" in compared.flags
    for a in range(-128, 128, 5):
        for b in (v for v in range(-128, 128, 3) if (v < 0) == (a < 0)):
            values = [run_function(m, "compare", [a, b], 1).value.data[0] for m in (module, made)]
            assert values[0] == values[1], (a, b)


@pytest.mark.parametrize(("flags", "predicate"), [("", "ult"), ("samesign ", "eq"), ("samesign ", "slt")])
def test_others_stay(flags: str, predicate: str) -> None:
    made = read_module(TEXT.format(flags=flags, predicate=predicate))
    assert sign_tests(made.functions["compare"]) == 0
