"""Expressions against enumeration, and against sympy as a second derivation."""

import random

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.analysis.symbolic.expression import (
    Expression,
    Floor,
    Symbol,
    as_expression,
    floor_division,
    maximum,
    minimum,
    remainder,
)

X, Y, Z = (Symbol(name, rank) for rank, name in enumerate("xyz"))
SYMBOLS = (X, Y, Z)


def build(draw: random.Random, depth: int) -> tuple[Expression, str]:
    """A random expression, and Python's for it."""
    kind = draw.randrange(9) if depth else draw.randrange(2)
    if kind == 0:
        symbol = draw.choice(SYMBOLS)
        return as_expression(symbol), symbol.name
    if kind == 1:
        number = draw.randint(-6, 6)
        return as_expression(number), f"({number})"
    a, s = build(draw, depth - 1)
    b, t = build(draw, depth - 1)
    number = draw.choice((2, 3, 4, 6))
    match kind:
        case 2 | 3:
            return a + b, f"({s} + {t})"
        case 4:
            return a - b, f"({s} - {t})"
        case 5:
            return a * b, f"({s} * {t})"
        case 6:
            return floor_division(a, number), f"({s} // {number})"
        case 7:
            return remainder(a, number), f"({s} % {number})"
        case _:
            name = draw.choice(("min", "max"))
            return (minimum if name == "min" else maximum)([a, b]), f"{name}({s}, {t})"


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_expressions_are_what_integers_give(seed: int) -> None:
    draw = random.Random(seed)
    expression, text = build(draw, 4)
    for _ in range(8):
        values = {s.name: draw.randint(-9, 9) for s in SYMBOLS}
        wanted = eval(text, {"min": min, "max": max}, values)
        assert expression.evaluate(lambda s, v=values: v[s.name]) == wanted, text
        shown = str(expression).replace("floor(", "fl(").replace(" / ", " // ")
        assert eval(shown, {"min": min, "max": max, "fl": int}, values) == wanted, shown


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_polynomials_are_those_of_sympy(seed: int) -> None:
    draw = random.Random(seed)

    def polynomial(depth: int) -> tuple[Expression, sympy.Expr]:
        if not depth:
            symbol = draw.choice(SYMBOLS)
            number = draw.randint(-3, 3)
            return as_expression(symbol) * number + 1, sympy.Symbol(symbol.name) * number + 1
        (a, s), (b, t) = polynomial(depth - 1), polynomial(depth - 1)
        return (a * b, s * t) if draw.random() < 0.5 else (a - b, s - t)

    ours, theirs = polynomial(3)
    assert sympy.expand(sympy.sympify(str(ours)) - theirs) == 0
    assert len(ours.terms) == len(sympy.Poly(theirs, *sympy.symbols("x y z")).terms()) or ours.constant == 0


def test_halves_of_an_odd_number_are_no_whole() -> None:
    # Juravle, §7.4: over the rationals n/2 + n/2 is n.
    half = floor_division(as_expression(X), 2)
    assert str(half + half) == "2*floor(x / 2)"
    assert (half + half).evaluate(lambda _: 7) == 6


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (floor_division(4 * as_expression(X) + 5, 4), "x + 1"),
        (floor_division(2 * as_expression(X) + 3, 4), "floor((x + 1) / 2)"),
        (floor_division(floor_division(as_expression(X), 3), 5), "floor(x / 15)"),
        (remainder(8 * as_expression(X) + 13, 8), "5"),
        (minimum([as_expression(X) + 3, as_expression(X) - 1, as_expression(Y)]), "min(x - 1, y)"),
        (maximum([maximum([as_expression(X), as_expression(Y)]), as_expression(X)]), "max(x, y)"),
        (floor_division(as_expression(X) * as_expression(Y) * 6, as_expression(Y) * 3), "2*x"),
    ],
)
def test_normal_forms(expression: Expression, text: str) -> None:
    assert str(expression) == text


def test_division_by_a_symbol_stays() -> None:
    made = floor_division(as_expression(X) + 1, as_expression(Y))
    assert [type(a) for a in made.atoms()] == [Floor]
    assert made.evaluate(lambda s: 17 if s is X else 4) == 4
