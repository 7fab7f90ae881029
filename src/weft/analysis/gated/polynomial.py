"""Abstract polynomials in the ids of a thread (Sampaio et al. §3.4), of any degree, in machine integers.

The abstract state of an n-bit integer or pointer v is ``[[v]] = Σ aₘ·Tᵐ`` over the monomials ``Tᵐ`` of total degree
up to d in the thread ids T₀, T₁, …; each coefficient is a number, or ⊥ (`UNKNOWN`): a number that is the same for
all threads, but not known. It says that

1. v ≡ Σ aₘ·Tᵐ (mod 2ⁿ) in every active thread, for some numbers in place of the ⊥;
2. at level `ACTIVE` of ``nsw``, that (1) holds without wrapping: the signed value of v is Σ bₘ·Tᵐ over the integers,
   where bₘ is aₘ in the signed range (b₀ only ≡ a₀); at level `BASE`, b₀ is in the signed range besides. ``nuw`` says
   the same of the unsigned value, b₀ then being in the unsigned range.

If all coefficients are ⊥ nothing is claimed: the variable is divergent. So is one with ⊥ as a coefficient of the
highest degree for the rules of the paper; what it still says, that v is a multiple of T for ``(⊥, 0)``, may become
useful. That is the point of Theorem 3.5: with degree two, ``(0, ⊥, ⊥)`` is an affine function of T with a coefficient
that is only known when the program runs, where degree one has nothing left.

* **Order.** As in the paper from above: ⊤ (not computed yet, here None) > numbers > ⊥, coefficient by coefficient;
  `PolynomialDomain.meet`. The levels of exactness go down.
* **Height**: two steps a coefficient and two levels in either reading, so at most 2k + 5 for k monomials.

Values that are no integers have zero bits and are uniform or divergent. Only a polynomial whose coefficients are all
numbers is the same function of T for each execution; of all others a new execution may have new coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

from weft.analysis.integers.bounds import to_signed, to_unsigned
from weft.analysis.shapes import BASE, WRAPS

UNKNOWN = None
"""The paper's ⊥ as a coefficient."""

Coefficient: TypeAlias = int | None
Coefficients: TypeAlias = tuple[Coefficient, ...]
Monomial: TypeAlias = tuple[int, ...]

MAX_THREADS = (1024, 1024, 64)
"""Threads of a work-group along x, y and z: the limits of a launch, and of CUDA."""


class Polynomial:
    """An abstract state; made, once for each content, by a `PolynomialDomain`.

    Attributes
    ----------
    domain
        Where it belongs.
    bits
        Width of the value, 0 if it is neither an integer nor a pointer.
    coefficients
        In the order of ``domain.monomials``, that of 1 first; numbers in the signed range.
    nsw, nuw
        Exactness in the signed and the unsigned reading.
    """

    __slots__ = ("bits", "coefficients", "domain", "is_known", "is_uniform", "nsw", "nuw")

    def __init__(
        self, domain: PolynomialDomain, bits: int, coefficients: Coefficients, nsw: int, nuw: int
    ) -> None:
        self.domain = domain
        self.bits = bits
        self.coefficients = coefficients
        self.nsw = nsw
        self.nuw = nuw
        self.is_uniform = not any(a != 0 for a in coefficients[1:])
        self.is_known = UNKNOWN not in coefficients

    @property
    def constant(self) -> int | None:
        """The value, read as signed, if it is one and the same number for all threads at all times."""
        return self.coefficients[0] if self.is_uniform and self.bits else None

    @property
    def is_divergent(self) -> bool:
        """Nothing is claimed: a coefficient of the highest degree is unknown."""
        return UNKNOWN in self.coefficients[self.domain.first_of_highest :]

    @property
    def is_affine(self) -> bool:
        """Affine in the ids of the thread (Theorems 3.3 and 3.5); uniform values are."""
        return not self.is_divergent and not any(self.coefficients[self.domain.first_of_degree(2) :])

    @property
    def state(self) -> str:
        """The kind of state that Fig. 22 counts: (0,c) (0,⊥) (c,c) (c,⊥), or ⊥ where nothing is left.

        Beside these: (⊥,·) for an affine function with an unknown factor, and ``polynomial`` for higher degrees.
        """
        if self.is_divergent:
            return "⊥"
        if not self.is_affine:
            return "polynomial"
        known = "⊥" if self.coefficients[0] is UNKNOWN else "c"
        factors = self.coefficients[1 : self.domain.first_of_degree(2)]
        if UNKNOWN in factors:
            return "(⊥,·)"
        return f"({'c' if any(factors) else '0'},{known})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        """The coefficients as in the paper, the highest degree first: ``(a₂, a₁, a₀)``."""
        return "(" + ", ".join("⊥" if a is UNKNOWN else str(a) for a in reversed(self.coefficients)) + ")"


class PolynomialDomain:
    """The abstract domain of polynomials up to a degree.

    Parameters
    ----------
    degree
        The highest total degree, at least 1: that is the affine analysis of the paper.
    extents
        Per thread id how many values it has, from 0: the number of ids is the number of variables. None: unknown.

    Attributes
    ----------
    monomials
        The exponents of each, in the order of coefficients: by degree, then with the first id first.
    """

    def __init__(self, degree: int = 1, extents: Sequence[int | None] = MAX_THREADS[:1]) -> None:
        if degree < 1:
            # Constant propagation: it cannot tell uniform from divergent.
            raise ValueError(f"polynomials of degree {degree} say nothing of threads")
        self.degree = degree
        self.extents = tuple(extents)
        dims = len(self.extents)
        exponents = product(range(degree + 1), repeat=dims)
        self.monomials: tuple[Monomial, ...] = tuple(
            sorted((m for m in exponents if sum(m) <= degree), key=lambda m: (sum(m), tuple(-e for e in m)))
        )
        self.first_of_highest = self.first_of_degree(degree)
        place = {m: k for k, m in enumerate(self.monomials)}
        self._products = tuple(
            tuple(place.get(tuple(e + f for e, f in zip(m, n, strict=True))) for n in self.monomials)
            for m in self.monomials
        )
        self._greatest = tuple(self._greatest_value(m) for m in self.monomials)
        self._made: dict[tuple[int, Coefficients, int, int], Polynomial] = {}

    def first_of_degree(self, degree: int) -> int:
        """The place of the first monomial of a degree."""
        return sum(1 for m in self.monomials if sum(m) < degree)

    def _greatest_value(self, monomial: Monomial) -> int | None:
        greatest = 1
        for extent, exponent in zip(self.extents, monomial, strict=True):
            if exponent:
                if extent is None:
                    return None
                greatest *= (extent - 1) ** exponent
        return greatest

    def make(
        self, bits: int, coefficients: Sequence[Coefficient], nsw: int = WRAPS, nuw: int = WRAPS
    ) -> Polynomial:
        """The state with these claims, and those that follow from them."""
        if bits:
            coefficients = tuple(a if a is None else to_signed(a, bits) for a in coefficients)
        else:
            coefficients = tuple(a and UNKNOWN for a in coefficients)
        key = (bits, coefficients, nsw, nuw)
        found = self._made.get(key)
        if found is None:
            proved = self._exactness(bits, coefficients)
            nsw, nuw = max(nsw, proved[0]), max(nuw, proved[1])
            strong = (bits, coefficients, nsw, nuw)
            found = self._made.get(strong)
            if found is None:
                found = self._made[strong] = Polynomial(self, bits, coefficients, nsw, nuw)
            self._made[key] = found
        return found

    def _exactness(self, bits: int, coefficients: Coefficients) -> tuple[int, int]:
        """Levels that need no proof: uniform values do not wrap, nor do polynomials that are small everywhere."""
        if not any(a != 0 for a in coefficients[1:]):
            return BASE, BASE
        low = high = 0
        for a, greatest in zip(coefficients[1:], self._greatest[1:], strict=True):
            if a == 0:
                continue
            if a is None or greatest is None:
                return WRAPS, WRAPS
            low, high = low + min(0, a * greatest), high + max(0, a * greatest)
        base = coefficients[0]
        if base is None:
            return WRAPS, WRAPS
        half, unsigned = 1 << (bits - 1), to_unsigned(base, bits)
        return (
            BASE if base + low >= -half and base + high < half else WRAPS,
            BASE if unsigned + low >= 0 and unsigned + high < 1 << bits else WRAPS,
        )

    def constant(self, bits: int, value: int) -> Polynomial:
        return self.make(bits, (value, *self._zeros))

    def uniform(self, bits: int = 0) -> Polynomial:
        """The same in all threads."""
        return self.make(bits, (UNKNOWN, *self._zeros))

    def divergent(self, bits: int = 0) -> Polynomial:
        """Nothing is known."""
        return self.make(bits, (UNKNOWN,) * len(self.monomials))

    def thread_id(self, bits: int, dimension: int = 0, base: Coefficient = 0) -> Polynomial:
        """An id of the thread, plus something uniform; it does not wrap."""
        exponents = tuple(int(d == dimension) for d in range(len(self.extents)))
        coefficients = [int(m == exponents) for m in self.monomials]
        return self.make(bits, (base, *coefficients[1:]), BASE, BASE)

    @property
    def _zeros(self) -> Coefficients:
        return (0,) * (len(self.monomials) - 1)

    def meet(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """What both claim: of a value that is the one or the other, the same for all threads."""
        if a is b:
            return a
        kept = tuple(x if x == y else UNKNOWN for x, y in zip(a.coefficients, b.coefficients, strict=True))
        return self.make(a.bits, kept, min(a.nsw, b.nsw), min(a.nuw, b.nuw))

    def products(self, x: Coefficients, y: Coefficients) -> Iterator[tuple[int | None, Coefficient]]:
        """The products of any two terms that are not zero: the place (None beyond the degree) and the factor."""
        for row, a in zip(self._products, x, strict=True):
            if a == 0:
                continue
            for place, b in zip(row, y, strict=True):
                if b != 0:
                    yield place, None if a is None or b is None else a * b

    def multiply(self, x: Coefficients, y: Coefficients) -> Coefficients | None:
        """The product over the integers; None if it is of a degree that is too high."""
        total: list[Coefficient] = [0] * len(self.monomials)
        for place, factor in self.products(x, y):
            if place is None:
                return None
            before = total[place]
            total[place] = None if before is None or factor is None else before + factor
        return tuple(total)

    def concrete(self, bits: int, coefficients: Sequence[int], ids: Sequence[int]) -> int:
        """The unsigned value of a polynomial in one thread."""
        total = 0
        for m, a in zip(self.monomials, coefficients, strict=True):
            for base, exponent in zip(ids, m, strict=True):
                a *= base**exponent
            total += a
        return to_unsigned(total, bits)
