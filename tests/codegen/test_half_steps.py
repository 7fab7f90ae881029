"""Structures are taken apart, and put together, by shuffles of halves of registers (`half_steps`)."""

import pytest

from pairs import pairs
from weft.codegen.widen.half_steps import MOST_BITS, Kind, Steps, order_of, steps_apart, steps_together

SHAPES = [
    (units, lanes, 256 >> lanes)
    for lanes in (2, 3, 4, 5)
    for units in (1, 2, 3, 4)
    if units + lanes <= MOST_BITS
]


def run(found: Steps, registers: list[list[int]], lanes: int) -> list[list[int]]:
    """The registers behind the steps."""
    for kind, bit in found.steps:
        other = 1 << bit
        registers = [
            [(registers[k & ~other] + registers[k | other])[i] for i in order_of(kind, lanes, k >> bit & 1)]
            for k in range(len(registers))
        ]
    return [registers[found.place_of(k)] for k in range(len(registers))]


@pytest.mark.parametrize(("units", "lanes", "bits"), SHAPES)
def test_steps_rotate_the_bits_of_places(units: int, lanes: int, bits: int) -> None:
    u, n = 1 << units, 1 << lanes
    memory = [[r * n + e for e in range(n)] for r in range(u)]
    apart = [[lane * u + unit for lane in range(n)] for unit in range(u)]
    for found, begin, end in (
        (steps_apart(units, lanes, bits), memory, apart),
        (steps_together(units, lanes, bits), apart, memory),
    ):
        assert found is not None
        assert run(found, begin, n) == end
        assert bits >= 32 or all(kind is not Kind.UNZIP for kind, _ in found.steps)


def test_eight_floats_take_three_steps() -> None:
    apart, together = steps_apart(3, 3, 32), steps_together(3, 3, 32)
    assert apart is not None and together is not None
    assert len(apart.steps) == len(together.steps) == 3


@pytest.mark.parametrize(("kind", "lanes"), pairs(tuple(Kind), (4, 8, 16, 32)))
def test_steps_lose_nothing_and_zips_stay_in_halves(kind: Kind, lanes: int) -> None:
    first, second = (order_of(kind, lanes, part) for part in (0, 1))
    assert sorted(first + second) == list(range(2 * lanes))
    if kind is not Kind.EXCHANGE:
        half = lanes // 2
        assert all(i % lanes // half == k // half for order in (first, second) for k, i in enumerate(order))


def test_large_structures_are_not_looked_at() -> None:
    assert steps_apart(3, 5, 8) is None and steps_together(3, 5, 8) is None
