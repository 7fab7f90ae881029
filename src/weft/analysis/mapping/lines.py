"""How many lines of memory the lanes of a group touch together (Juravle, Algorithm 1, put right).

Lane l accesses the bytes ``[start + l·stride, start + l·stride + size)``. The thesis divides ``f(x + 32) - f(x)``,
which is in elements, by a line's size in bytes, counts offsets where it should count lines, and forgets where a line
begins. Here, with the lanes in the order of their addresses, c = |stride| and a the least address:

* If c ≤ line, every line from that of the first byte to that of the last is touched, since no lane leaves one out:
  ``floor((a + (lanes - 1)·c + size - 1) / line) - floor(a / line) + 1``.
* If c ≥ line, no two lanes begin in the same line. If no access goes over the end of a line, there are as many lines
  as lanes. That number is not greater than the one above, so with a c that is not known the count is the lesser of
  both.
* If accesses go over the end of a line, lane l adds its lines but for those that the lane before has touched, too: the
  sum is written out if the number of lanes is known, else twice as many lines as lanes are a bound.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.symbolic.expression import (
    ONE,
    ZERO,
    Expression,
    as_expression,
    floor_division,
    maximum,
    minimum,
)
from weft.analysis.symbolic.facts import Facts


class Lines(Struct, frozen=True):
    """A number of lines.

    Parameters
    ----------
    count
        The number, or a bound.
    is_exact
        Whether it is no bound.
    """

    count: Expression
    is_exact: bool = True


def touched_lines(
    start: Expression,
    stride: Expression,
    size: int,
    lanes: Expression,
    line: int,
    facts: Facts,
    in_full: bool = True,
) -> Lines:
    """The lines that a group of lanes touches.

    Parameters
    ----------
    start
        The address of the first lane, in bytes from the start of a line.
    stride
        Bytes from lane to lane.
    size
        Bytes of each access; not more than a line has.
    lanes
        How many lanes there are, at least one.
    line
        Bytes of a line, a power of two.
    facts
        What is known of the symbols.
    in_full
        Whether to write a sum out, lane by lane, where nothing shorter is exact.
    """
    wide, least = _ordered(start, stride, lanes, facts)
    last = least + (lanes - 1) * wide + (size - 1)
    between = floor_division(last, line) - floor_division(least, line) + 1
    distance = wide.constant
    if distance == 0 and _fits(start, ZERO, size, line):
        return Lines(ONE)
    if distance is not None and distance <= line:
        return Lines(between)
    if _fits(start, stride, size, line):
        if distance is not None:
            return Lines(lanes)
        return Lines(minimum([lanes, between]))
    count = lanes.constant
    if in_full and count is not None:
        return Lines(_one_by_one(least, wide, size, count, line))
    return Lines(minimum([lanes * (1 + -(-(size - 1) // line)), between]), False)


def _ordered(
    start: Expression, stride: Expression, lanes: Expression, facts: Facts
) -> tuple[Expression, Expression]:
    """The distance of neighbours without its sign, and the least address."""
    if facts.is_nonnegative(stride):
        return stride, start
    if facts.is_nonnegative(-stride):
        return -stride, start + (lanes - 1) * stride
    return maximum([stride, -stride]), minimum([start, start + (lanes - 1) * stride])


def _fits(start: Expression, stride: Expression, size: int, line: int) -> bool:
    """Whether each access lies in one line: its size divides the line's, and its address."""
    if line % size:
        return False
    return all(c % size == 0 for e in (start, stride) for c in e.terms.values())


def _one_by_one(least: Expression, wide: Expression, size: int, lanes: int, line: int) -> Expression:
    total = as_expression(0)
    before: Expression | None = None
    for lane in range(lanes):
        first = floor_division(least + wide * lane, line)
        last = floor_division(least + wide * lane + (size - 1), line)
        begin = first if before is None else maximum([first, before + 1])
        total = total + last - begin + 1
        before = last
    return total
