"""What is proved of expressions holds for all integers that the facts allow."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.analysis.symbolic.equations import satisfies, solve
from weft.analysis.symbolic.expression import (
    Expression,
    Symbol,
    as_expression,
    floor_division,
    maximum,
    minimum,
    remainder,
)
from weft.analysis.symbolic.extent import extent
from weft.analysis.symbolic.facts import Facts, Monotonicity
from weft.analysis.symbolic.numeric_bounds import numeric_bound

N, M = Symbol("n", 1, low=-4, high=4), Symbol("m", 2, low=-4, high=4)
ROW, COLUMN = Symbol("i", 10, loop=1, low=0, high=5), Symbol("j", 11, loop=1, low=0, high=5)
n, m, i, j = map(as_expression, (N, M, ROW, COLUMN))


def linear(draw: random.Random, symbols: tuple[Symbol, ...]) -> Expression:
    total = as_expression(draw.randint(-4, 4))
    for symbol in symbols:
        total = total + as_expression(symbol) * draw.choice((-2, -1, 0, 0, 1, 1, 2, 3))
    return total


def expression(draw: random.Random) -> Expression:
    e = linear(draw, (N, M, ROW, COLUMN))
    kind = draw.randrange(7)
    if kind == 0:
        return e + i * n
    if kind == 1:
        return e + floor_division(linear(draw, (ROW, COLUMN, N)), draw.choice((2, 3, 4)))
    if kind == 2:
        return e - remainder(linear(draw, (ROW, COLUMN)), draw.choice((2, 4))) * 2
    if kind == 3:
        return e + minimum([linear(draw, (ROW, N)), linear(draw, (COLUMN, M))])
    if kind == 4:
        return e - maximum([linear(draw, (ROW, N)), linear(draw, (COLUMN, M))])
    if kind == 5:
        return e + i * i * draw.choice((-1, 1)) + j * n
    return e


def points(facts: Facts) -> list[dict[Symbol, int]]:
    found = []
    for values in itertools.product(range(-4, 5, 2), range(-4, 5, 2), range(6), range(6)):
        point = dict(zip((N, M, ROW, COLUMN), values, strict=True))
        if all(f.evaluate(point.__getitem__) >= 0 for f in facts.inequalities):
            found.append(point)
    return found


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9))
def test_proofs_and_extents_hold_at_every_point(seed: int) -> None:
    draw = random.Random(seed)
    facts = Facts(
        draw.choice(
            (n - 1 - i, m - 1 - j, n - i - j, 2 * n - 3 * i, i - j, n - m, linear(draw, (N, M, ROW, COLUMN)))
        )
        for _ in range(draw.randint(1, 4))
    )
    allowed = points(facts)
    for _ in range(4):
        e = expression(draw)
        values = [e.evaluate(p.__getitem__) for p in allowed]
        if facts.is_nonnegative(e):
            assert all(v >= 0 for v in values), (str(e), facts.inequalities)
        signs = {(v > 0) - (v < 0) for v in values}
        assert signs <= facts.sign(e)
        simple = facts.simplified(e)
        assert [simple.evaluate(p.__getitem__) for p in allowed] == values
        bounds = extent(e, lambda s: s.loop is not None, facts)
        for point, value in zip(allowed, values, strict=True):
            if bounds.low is not None:
                assert bounds.low.evaluate(point.__getitem__) <= value, (
                    str(e),
                    str(bounds),
                    facts.inequalities,
                )
            if bounds.high is not None:
                assert bounds.high.evaluate(point.__getitem__) >= value, (
                    str(e),
                    str(bounds),
                    facts.inequalities,
                )
        way = facts.monotonicity(e, ROW)
        for point, value in zip(allowed, values, strict=True):
            for step in range(1, 5):
                moved = {**point, ROW: point[ROW] + step}
                if moved in allowed:
                    other = e.evaluate(moved.__getitem__)
                    assert way is not Monotonicity.INCREASING or other >= value
                    assert way is not Monotonicity.DECREASING or other <= value
                    assert way is not Monotonicity.CONSTANT or other == value


def test_a_linear_index_is_compared_by_substitution() -> None:
    rows = Facts([n - 1 - i, n - 1 - j])
    d = as_expression(Symbol("d", 12, low=1))
    other = as_expression(Symbol("j2", 13, low=0))
    # Row i + d begins behind row i.
    assert rows.is_positive(n * d + other - j)
    assert not rows.is_positive(n * d + other - 2 * j)
    assert str(extent(4 * n * i + 4 * j, lambda s: s.loop is not None, rows)) == "[0, 4*n*n - 4]"


def test_monotonicity_of_several() -> None:
    unit = Facts([n - 1])
    assert unit.monotonicity(n * i + j, ROW) is Monotonicity.INCREASING
    assert Facts().monotonicity(n * i + j, ROW) is Monotonicity.UNKNOWN
    assert unit.monotonicity_by_set(n * i + j, (ROW, COLUMN)) is Monotonicity.INCREASING
    assert unit.monotonicity_by_set(n * i - j, (ROW, COLUMN)) is Monotonicity.NONE
    assert unit.monotonicity_by_set(n * i, (ROW, COLUMN)) is Monotonicity.INCREASING


def test_one_less_than_a_positive_number_is_not_negative() -> None:
    # Juravle, §7.2: signs alone lose this.
    assert Facts([n - 1]).sign(n - 1) == {0, 1}


def test_the_trip_count_of_the_strided_example() -> None:
    # §6.1: 100 rounds of for (i = -n; i < n; i += 4). The thesis finds 200 only.
    trips = floor_division(2 * n + 3, 4)
    assert solve([trips - 100], [N]) == [{N: 199}, {N: 200}]


def test_systems_of_equations() -> None:
    # Table 7.1, and a product that becomes linear.
    assert solve([n + m - 3, n - m - 1], [N, M]) == [{N: 2, M: 1}]
    assert solve([n * m - 12, n - 3], [N, M]) == [{N: 3, M: 4}]
    assert solve([2 * n - 3], [N]) == []
    assert solve([n + m - 3, n + m - 4], [N, M]) == []
    equations = [floor_division(n + m, 2) - 4, n - m]
    assert all(satisfies(equations, s) for s in solve(equations, [N, M]))


def test_bounds_of_floors_in_floors_look_at_each_once() -> None:
    value = n
    for k in range(60):
        value = floor_division(maximum([value, m + k]) + i, 2)
    low, high = (numeric_bound(value, upper=upper) for upper in (False, True))
    assert low is not None and high is not None and low <= high <= 64
