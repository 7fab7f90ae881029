"""Integers and addresses as sums of products of atoms, with the round of a loop as one of the atoms.

A sum stands for an integer, and says of a value of w bits what it is modulo 2ʷ. It is *exact* where the value, signed,
is that very integer. Atoms are numbers, which `weft.transform.loops.unrolled.terms` gives out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from msgspec import Struct

Product = tuple[int, ...]
"""Atoms in order."""

ROUND = -1
"""The atom that is the number of the round; in a second loop of those with which the first one is left."""

LOCAL = -2
"""The atom that is how often the second loop has gone around."""


class Sum(Struct, frozen=True):
    """A sum.

    Parameters
    ----------
    products
        Pairs of products and factors, in order.
    bits
        The width of the value.
    exact
        Whether the value is this integer, and not only this modulo 2 to the width.
    """

    products: tuple[tuple[Product, int], ...]
    bits: int
    exact: bool = False

    @property
    def key(self) -> Hashable:
        """What two sums for one value have in common."""
        return self.bits, self.products

    @property
    def constant(self) -> int | None:
        """The number that it is, if it is one."""
        if not self.products:
            return 0
        (product, factor), *more = self.products
        return None if product or more else factor

    @property
    def grows(self) -> bool:
        """Whether it depends on the round."""
        return any(ROUND in product for product, _ in self.products)


def made(parts: Iterable[tuple[Product, int]], bits: int, exact: bool = False) -> Sum:
    """The sum of products with their factors, each as near to zero as it is in so many bits."""
    total: dict[Product, int] = {}
    for product, factor in parts:
        total[product] = total.get(product, 0) + factor
    half, kept = 1 << (bits - 1), list[tuple[Product, int]]()
    for product, factor in total.items():
        near = (factor + half) % (2 * half) - half
        exact = exact and near == factor
        if near:
            kept.append((product, near))
    return Sum(tuple(sorted(kept)), bits, exact)


def number(value: int, bits: int) -> Sum:
    """A constant."""
    return made([((), value)], bits, exact=True)


def single(atom: int, bits: int) -> Sum:
    """An atom."""
    return Sum((((atom,), 1),), bits, True)


def plus(a: Sum, b: Sum, times: int = 1, exact: bool = False) -> Sum:
    """``a + times·b``."""
    return made(
        (*a.products, *((p, times * f) for p, f in b.products)), a.bits, exact and a.exact and b.exact
    )


def scaled(a: Sum, factor: int, exact: bool = False) -> Sum:
    """``factor·a``."""
    return made(((p, factor * f) for p, f in a.products), a.bits, exact and a.exact)


def each_round(step: Sum, first: int = 0, of: int = ROUND) -> Sum:
    """The step as often as there have been rounds, and `first` times more."""
    grown = ((tuple(sorted((*p, of))), f) for p, f in step.products)
    return made((*grown, *((p, first * f) for p, f in step.products)), step.bits)


def step_of(a: Sum) -> Sum | None:
    """By how much it grows from round to round; None where that is not the same each time."""
    if any(product.count(ROUND) > 1 for product, _ in a.products):
        return None
    grown = ((p, f) for p, f in a.products if ROUND in p)
    return made(((tuple(x for x in p if x != ROUND), f) for p, f in grown), a.bits)


def split(a: Sum) -> tuple[Sum, Sum]:
    """What does not depend on the rounds of the second loop, and by what the rest grows in each of them."""
    still = made(((p, f) for p, f in a.products if LOCAL not in p), a.bits)
    grown = ((tuple(x for x in p if x != LOCAL), f) for p, f in a.products if LOCAL in p)
    return still, made(grown, a.bits)


def at_round(a: Sum, round: int) -> Sum:
    """What it is in a round."""
    parts = ((tuple(x for x in p if x != ROUND), f * round ** p.count(ROUND)) for p, f in a.products)
    return made(parts, a.bits)


def quotient(a: Sum, divisor: Sum | int) -> int | None:
    """The number that the divisor is to be multiplied with."""
    if isinstance(divisor, int):
        divisor = number(divisor, a.bits)
    if not divisor.products:
        return None
    wanted = dict(a.products).get(divisor.products[0][0], 0)
    times, left = divmod(wanted, divisor.products[0][1])
    return times if not left and scaled(divisor, times).key == a.key else None
