"""Sums of products of numbers that all lanes share, modulo 2^64, as addresses of lanes are made of."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from weft.analysis.integers.bounds import to_signed
from weft.ir import Value
from weft.ir.types import I64, IntType, PointerType

BITS = 64

MOST_TERMS = 12
"""Of a sum; longer ones are not looked at."""

MOST_FACTORS = 5
"""Of a product; an element of an array of four dimensions, of bytes or not, is at one of four and a size."""

Product = tuple["Symbol", ...]


class WrappedSum(Struct, frozen=True):
    """A sum modulo 2^bits as a number of 64: products with their coefficients, all a multiple of 2^known.

    It has a sign, in the bits above those that are known, if it is `signed`.
    """

    terms: tuple[tuple[Product, int], ...]
    bits: int
    known: int
    residue: int
    signed: bool = False

    @property
    def type(self) -> IntType:
        return I64


class Symbol(Struct, frozen=True):
    """A number that all lanes share.

    Parameters
    ----------
    value
        The value that it is lane 0's of, or a sum of such.
    shift
        It is that shifted right by so many bits, its low bits being known.
    order
        Where it comes in products and sums: what is computed first comes first.
    """

    value: Value | WrappedSum
    shift: int
    order: int


class Expression(Struct, frozen=True):
    """A constant, and coefficients of products of symbols, in their order."""

    constant: int
    terms: tuple[tuple[Product, int], ...] = ()

    def moved(self, by: int) -> Expression:
        return Expression(to_signed(self.constant + by, BITS), self.terms)


Strip = tuple[tuple[Product, int], ...]


def is_address(a: Expression) -> bool:
    """Whether there is one pointer in a sum."""
    pointers = [f for p, f in a.terms for s in p if isinstance(s.value.type, PointerType)]
    alone = [f for p, f in a.terms if len(p) == 1 and isinstance(p[0].value.type, PointerType)]
    return pointers == alone == [1]


def added(a: Expression, b: Expression) -> Expression | None:
    """The sum."""
    if not b.terms:
        return a.moved(b.constant)
    return _sum_of(a.constant + b.constant, [*a.terms, *b.terms])


def scaled(a: Expression, factor: int) -> Expression:
    """The product with a number."""
    terms = tuple((p, to_signed(f * factor, BITS)) for p, f in a.terms if (f * factor) % (1 << BITS))
    return Expression(to_signed(a.constant * factor, BITS), terms)


def multiplied(a: Expression, b: Expression) -> Expression | None:
    """The product."""
    if not b.terms:
        return scaled(a, b.constant)
    if not a.terms:
        return scaled(b, a.constant)
    terms = [(p, f * b.constant) for p, f in a.terms] + [(p, f * a.constant) for p, f in b.terms]
    for p, f in a.terms:
        for q, g in b.terms:
            terms.append((tuple(sorted((*p, *q), key=lambda s: s.order)), f * g))
    return _sum_of(a.constant * b.constant, terms)


def _sum_of(constant: int, terms: list[tuple[Product, int]]) -> Expression | None:
    found: dict[Product, int] = {}
    for product, factor in terms:
        found[product] = found.get(product, 0) + factor
    if len(found) > MOST_TERMS or any(len(p) > MOST_FACTORS for p in found):
        return None
    kept = {p: to_signed(f, BITS) for p, f in found.items()}
    return Expression(to_signed(constant, BITS), _in_order(kept))


def _in_order(terms: Mapping[Product, int]) -> tuple[tuple[Product, int], ...]:
    return tuple(sorted(((p, f) for p, f in terms.items() if f), key=lambda t: [s.order for s in t[0]]))
