"""Integer sets against enumeration."""

import itertools
import random

import pytest

from weft.analysis.symbolic.expression import Symbol, as_expression, floor_division, maximum, minimum

pytest.importorskip("islpy", reason="integer sets are isl's (extra 'loops')")

from weft.analysis.symbolic.integer_sets import is_empty, solutions

SYMBOLS = [Symbol(name, k, low=-3, high=3) for k, name in enumerate("xyz")]
x, y, z = map(as_expression, SYMBOLS)


@pytest.mark.parametrize("seed", range(60))
def test_no_solution_is_lost(seed: int) -> None:
    draw = random.Random(seed)
    pool = [x, y, z, floor_division(x + y, 2), floor_division(z, 3), minimum([x, y]), maximum([y, z]), x * y]
    system = []
    for _ in range(draw.randint(2, 5)):
        total = as_expression(draw.randint(-3, 2))
        for term in draw.sample(pool, 2):
            total = total + term * draw.choice((-2, -1, 1, 2))
        system.append(total)
    found = [
        point
        for point in itertools.product(range(-3, 4), repeat=3)
        if all(e.evaluate(dict(zip(SYMBOLS, point, strict=True)).__getitem__) >= 0 for e in system)
    ]
    is_affine = all(len(m) < 2 for e in system for m in e.terms) and not any("m" in str(e) for e in system)
    may, least, most = solutions(system, SYMBOLS[0])
    assert may or not found
    if is_affine:
        assert may == bool(found), system
    for point in found:
        assert least is None or least <= point[0]
        assert most is None or most >= point[0]


def test_divisibility_is_seen() -> None:
    # 6x + 4y is even.
    assert is_empty([6 * x + 4 * y - 3, 3 - 6 * x - 4 * y])
    assert not is_empty([6 * x + 4 * y - 2, 2 - 6 * x - 4 * y])


def test_a_system_that_was_solved_before_is_asked_for_other_symbols() -> None:
    system = [x - 2 * y - 1, y, 4 - x]
    wanted = [(True, 1, 3), (True, 0, 1), (True, None, None)]
    for _ in range(2):
        assert [solutions(system, s) for s in (*SYMBOLS[:2], None)] == wanted
    # The same numbers in other columns, where symbols take each other's places.
    assert [solutions([y - 2 * x - 1, x, 4 - y], s) for s in (*SYMBOLS[:2], None)] == [
        wanted[1],
        wanted[0],
        wanted[2],
    ]
    assert solutions([x - 2 * y - 1, y, 4 - x, y - 2], SYMBOLS[0]) == (False, None, None)


@pytest.mark.parametrize("factor", [3, 1 << 59, 1 << 70])
def test_numbers_may_be_of_any_size(factor: int) -> None:
    x = as_expression(Symbol("x", 1)) * factor
    assert is_empty([x - 1, factor - 1 - x])
    assert not is_empty([x, factor - 1 - x])
    assert not is_empty([x - 1, factor - x])
