"""Points at which facts hold: they refute nothing that is so."""

import random

from symbolic.test_facts import COLUMN, ROW, M, N, expression, linear
from weft.analysis.symbolic.atoms import Symbol
from weft.analysis.symbolic.expression import as_expression, floor_division
from weft.analysis.symbolic.facts import Facts, _Question
from weft.analysis.symbolic.models import is_negative_at, points, value_at


def test_points_fulfil_all() -> None:
    draw = random.Random(3)
    found = 0
    for _ in range(300):
        facts = [linear(draw, (N, M, ROW, COLUMN)) for _ in range(draw.randint(1, 5))]
        system = Facts(facts).inequalities
        for point in points(system):
            found += 1
            assert all(value_at(e, point) >= 0 for e in facts if e.constant is None)
            for symbol, value in point.items():
                assert symbol.low is None or symbol.low <= value
                assert symbol.high is None or value <= symbol.high
    assert found > 200


def test_what_is_proved_is_not_refuted() -> None:
    draw = random.Random(4)
    proved = refuted = 0
    for _ in range(600):
        facts = Facts(linear(draw, (N, M, ROW, COLUMN)) for _ in range(draw.randint(0, 4)))
        value = expression(draw)
        holds = _Question(facts).nonnegative(value, frozenset())
        is_negative = is_negative_at(value, points(facts.inequalities))
        assert not (holds and is_negative)
        proved += holds
        refuted += is_negative
    assert proved > 20 and refuted > 100


def test_loops_have_points() -> None:
    # for i in 0..n, for j in i + 1..n: a parameter of any sign, and counters that hang on it.
    n = Symbol("n", 1, low=-(2**31), high=2**31 - 1)
    i, j = Symbol("i", 10, loop=1, low=0), Symbol("j", 20, loop=1, low=0)
    room = as_expression(n) - as_expression(i) - 1
    found = points([room, room - as_expression(j) - 1])
    assert found
    facts = Facts([room, room - as_expression(j) - 1])
    assert facts.is_nonnegative(as_expression(n) - 2)
    assert not facts.is_nonnegative(as_expression(n) - 9)
    assert not facts.is_nonnegative(floor_division(as_expression(n), 4) - as_expression(i))
