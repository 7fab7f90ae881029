"""Comparisons that say that both numbers have the same sign are signed ones, and mean what they meant."""

import pytest

from weft.interp import run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.transform.loops.signed_tests import sign_tests

TEXT = """
define i8 @steps(i8 %a, i8 %b) {{
entry:
  br label %head
head:
  %i = phi i8 [ %a, %entry ], [ %next, %body ]
  %c = icmp {flags}{predicate} i8 %i, %b
  br i1 %c, label %body, label %done
body:
  %next = add {wraps} i8 %i, {step}
  br label %head
done:
  ret i8 %i
}}

define i8 @least(i8 %a, i8 %b) {{
  %c = icmp {flags}{predicate} i8 %a, %b
  %s = select i1 %c, i8 %a, i8 %b
  ret i8 %s
}}
"""


def made(flags: str, predicate: str, step: int = 1) -> Module:
    wraps = "nuw nsw" if predicate[1] == "l" else ""
    return read_module(TEXT.format(flags=flags, predicate=predicate, wraps=wraps, step=step))


@pytest.mark.parametrize("predicate", ["ult", "ule"])
def test_orders_are_the_same(predicate: str) -> None:
    before, after = (made("samesign ", predicate) for _ in range(2))
    assert sign_tests(after.functions["steps"]) == 1
    compared = next(i for i in after.functions["steps"].instructions() if i.op == "icmp")
    assert compared.predicate == f"s{predicate[1:]}"
    assert "samesign" in compared.flags
    for a in range(0, 127, 9):
        for b in range(0, 127, 6):
            values = [run_function(m, "steps", [a, b], 1).value.data[0] for m in (before, after)]
            assert values[0] == values[1], (a, b)


@pytest.mark.parametrize(
    ("flags", "predicate", "step"),
    [("", "ult", 1), ("samesign ", "ne", 1), ("samesign ", "slt", 1), ("samesign ", "ult", 4)],
)
def test_others_stay(flags: str, predicate: str, step: int) -> None:
    assert sign_tests(made(flags, predicate, step).functions["steps"]) == 0


def test_minima_stay() -> None:
    assert sign_tests(made("samesign ", "ult").functions["least"]) == 0
