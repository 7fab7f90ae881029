"""Ranges of sums of products in which a number occurs more than once: ``a * t + b * (255 - t)``.

An interval for each operation by itself takes t for 255 here and for 0 there. Such a sum is a polynomial, and where no
product has a number twice it is multilinear: its least and its greatest value in a box are at corners of the box. Of
two bytes and a t of up to 255 that is between 0 and 65025, in 16 bits, where intervals say 130050.

Sums and products that wrap around are those of integers but for a multiple of 2**bits: where the corners fit, nothing
of that is left. What is extended in between has to fit by itself, and what is taken from 255 as ``t ^ 255``.
"""

from __future__ import annotations

from itertools import product

from msgspec import Struct

from weft.analysis.integers.intervals import Interval, full
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import IntType

MOST_NUMBERS = 5
"""Numbers of a sum; a box of as many has 32 corners."""

MOST_TERMS = 12
"""Products of a sum."""

_STEPS = 10
"""Operations that are looked through."""

_EXTENSIONS = ("sext", "zext")
_ARITHMETIC = ("add", "sub", "mul", "shl", "xor")

Terms = dict[tuple[int, ...], int]
"""By the numbers of a product, in ascending order, what it is multiplied by."""


class Sum(Struct, frozen=True):
    """A sum of products of different numbers.

    Parameters
    ----------
    numbers
        What is multiplied.
    terms
        The products, of numbers by their place.
    within
        Sums in it, and the ranges in which they have to be.
    """

    numbers: tuple[Value, ...]
    terms: Terms
    within: tuple[tuple[Terms, Interval], ...]


Within = list[tuple[Terms, Interval]]


class _TooMuchError(Exception):
    """What is looked at is no such sum, or a large one."""


def sum_of_products(value: Instruction) -> Sum | None:
    """A number as such a sum, if some number occurs in it more than once."""
    if not any(_is_arithmetic(v) for v in value.operands) or not _has_twice(value):
        return None
    numbers: dict[Value, int] = {}
    within: Within = []
    try:
        terms = _terms(value, numbers, within)
    except _TooMuchError:
        return None
    return Sum(tuple(numbers), terms, tuple(within))


def between_corners(found: Sum, bits: int, *ranges: Interval) -> Interval:
    """What a sum of so many bits may be, where its numbers are in these ranges."""
    whole = full(bits)
    corners = list(product(*({r.lo, r.hi} for r in ranges)))
    if not all(_is_in(_hull(terms, corners), range) for terms, range in found.within):
        return whole
    hull = _hull(found.terms, corners)
    return hull if _is_in(hull, whole) else whole


def _is_in(inner: Interval, outer: Interval) -> bool:
    return outer.lo <= inner.lo and inner.hi <= outer.hi


def _hull(terms: Terms, corners: list[tuple[int, ...]]) -> Interval:
    values = [
        sum(_product(factors, factor, corner) for factors, factor in terms.items()) for corner in corners
    ]
    return Interval(min(values), max(values))


def _product(factors: tuple[int, ...], result: int, corner: tuple[int, ...]) -> int:
    for factor in factors:
        result *= corner[factor]
    return result


def _is_arithmetic(value: Value) -> bool:
    while isinstance(value, Instruction) and value.op in _EXTENSIONS:
        value = value.operands[0]
    return isinstance(value, Instruction) and value.op in _ARITHMETIC


def _has_twice(value: Instruction) -> bool:
    """Whether what a number is computed of occurs more than once."""
    seen: set[Value] = set()
    work: list[Value] = [value]
    steps = 0
    while work:
        number = work.pop()
        while isinstance(number, Instruction) and number.op in _EXTENSIONS:
            number = number.operands[0]
        if isinstance(number, ConstInt):
            continue
        if number in seen:
            return True
        seen.add(number)
        if isinstance(number, Instruction) and number.op in _ARITHMETIC:
            steps += 1
            if steps > _STEPS:
                return False
            work += number.operands
    return False


def _terms(value: Value, numbers: dict[Value, int], within: Within) -> Terms:
    if isinstance(value, ConstInt):
        return {(): value.signed}
    if isinstance(value, Instruction):
        if value.op in _EXTENSIONS and (value.op == "sext" or _is_arithmetic(value)):
            (source,) = value.operands
            assert isinstance(source.type, IntType)
            inner = _terms(source, numbers, within)
            range = full(source.type.bits)
            within.append((inner, Interval(0, range.hi) if value.op == "zext" else range))
            return inner
        if value.op in _ARITHMETIC:
            return _combined(value, numbers, within)
    place = numbers.setdefault(value, len(numbers))
    if len(numbers) > MOST_NUMBERS:
        raise _TooMuchError
    return {(place,): 1}


def _combined(value: Instruction, numbers: dict[Value, int], within: Within) -> Terms:
    a, b = value.operands
    left = _terms(a, numbers, within)
    if value.op == "shl":
        assert isinstance(value.type, IntType)
        if not isinstance(b, ConstInt) or not 0 <= b.value < value.type.bits:
            raise _TooMuchError
        return {factors: factor << b.value for factors, factor in left.items()}
    right = _terms(b, numbers, within)
    found: Terms = {}
    if value.op == "xor":
        if not isinstance(b, ConstInt) or b.signed <= 0 or b.value & (b.value + 1):
            raise _TooMuchError
        within.append((left, Interval(0, b.value)))
        left, right = right, left
    if value.op == "mul":
        for (p, x), (q, y) in product(left.items(), right.items()):
            if not set(p).isdisjoint(q):
                raise _TooMuchError
            both = tuple(sorted((*p, *q)))
            found[both] = found.get(both, 0) + x * y
    else:
        found.update(left)
        for factors, factor in right.items():
            found[factors] = found.get(factors, 0) + (factor if value.op == "add" else -factor)
    if len(found) > MOST_TERMS:
        raise _TooMuchError
    return found
