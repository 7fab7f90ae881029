"""Integer expressions in a normal form: sums of products of atoms with integer coefficients (Juravle, §7.1).

An atom is a `Symbol` (a parameter, a loop's iteration, a value that nothing more is known of) or an operation that
is no polynomial: `Floor`, `Minimum`, `Maximum`. All of them stand for integers, and so does every expression: there
are no rational coefficients. The thesis computes over the rationals, where ``n/2 + n/2`` is ``n``; in a program it
is ``n - 1`` for odd n. Here ``n/2`` is ``floor(n / 2)``, an atom of its own, and the sum is ``2*floor(n / 2)``. A
remainder is ``x - d*floor(x / d)``, a shift a product or a floor division. Minimum and maximum may stand anywhere
and be nested; they are left out where their operands differ by a constant. What wraps around is no expression: who
makes expressions of a program has to know that an operation does not.

Polynomials are dictionaries. Measured for ``(i + k)*n + 4*j - (i*n + j)``: 15 µs so, 21 µs in symengine, 850 µs in
sympy, neither of which has a division of machine integers; and nothing has to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import gcd
from typing import Any

from weft.analysis.symbolic.atoms import (
    Atom,
    Floor,
    Maximum,
    Minimum,
    Monomial,
    Symbol,
    evaluated,
    parts,
)


class Expression:
    """A sum of products; not to be changed.

    Attributes
    ----------
    terms
        The coefficient, never 0, of each product.
    interval
        Of `weft.analysis.symbolic.numeric_bounds`: kept, as expressions within atoms are asked again and again.
    """

    __slots__ = ("_atoms", "_hash", "_key", "_size", "_symbols", "interval", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: c for m, c in terms.items() if c} if 0 in terms.values() else dict(terms)
        self._hash: int | None = None
        self._key: tuple[Any, ...] | None = None
        self._atoms: tuple[Atom, ...] | None = None
        self._symbols: frozenset[Symbol] | None = None
        self._size: int | None = None
        self.interval: tuple[int | None, int | None] | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.terms == other.terms

    def __add__(self, other: Expression | int) -> Expression:
        if isinstance(other, int):
            return self._plus(other) if other else self
        terms = self.terms.copy()
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Expression(terms)

    def _plus(self, number: int) -> Expression:
        terms = self.terms.copy()
        terms[()] = terms.get((), 0) + number
        return Expression(terms)

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return Expression({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Expression | int) -> Expression:
        if isinstance(other, int):
            return self._plus(-other) if other else self
        terms = self.terms.copy()
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) - coefficient
        return Expression(terms)

    def __rsub__(self, other: int) -> Expression:
        return -self + other

    def __mul__(self, other: Expression | int) -> Expression:
        if isinstance(other, int):
            return self if other == 1 else Expression({m: c * other for m, c in self.terms.items()})
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                product = _product(left, right)
                terms[product] = terms.get(product, 0) + a * b
        return Expression(terms)

    __rmul__ = __mul__

    @property
    def constant(self) -> int | None:
        """The number that the expression is, None if it is none."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def offset(self) -> int:
        """The constant term."""
        return self.terms.get((), 0)

    @property
    def key(self) -> tuple[Any, ...]:
        """Something to sort by."""
        if self._key is None:
            self._key = tuple(sorted(str((m, c)) for m, c in self.terms.items()))
        return self._key

    @property
    def size(self) -> int:
        """How many products and factors it is written with, those inside of atoms too, as often as they stand there."""
        if self._size is None:
            self._size = sum(
                1 + len(monomial) + sum(part.size for atom in monomial for part in parts(atom))
                for monomial in self.terms
            )
        return self._size

    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of the products, each once, highest ranks first; not those inside of others."""
        if self._atoms is None:
            found = dict.fromkeys(atom for monomial in self.terms for atom in monomial)
            own = sorted(found, key=_rank, reverse=True) if len(found) > 1 else found
            self._atoms = tuple(own)
        return self._atoms

    def symbols(self) -> frozenset[Symbol]:
        """All symbols, those inside of other atoms too."""
        if self._symbols is None:
            found: set[Symbol] = set()
            for atom in self.atoms():
                if isinstance(atom, Symbol):
                    found.add(atom)
                else:
                    for part in parts(atom):
                        found |= part.symbols()
            self._symbols = frozenset(found)
        return self._symbols

    def coefficients(self, atom: Atom) -> list[Expression]:
        """The polynomial as one in `atom`: the coefficients of its powers, that of 1 first."""
        powers: dict[int, dict[Monomial, int]] = {0: {}}
        for monomial, coefficient in self.terms.items():
            power = monomial.count(atom)
            if not power:
                powers[0][monomial] = coefficient
                continue
            rest = tuple([a for a in monomial if a != atom]) if len(monomial) > power else ()
            into = powers.setdefault(power, {})
            into[rest] = into.get(rest, 0) + coefficient
        return [Expression(powers.get(power, {})) for power in range(max(powers) + 1)]

    def substitute(self, replacements: Mapping[Atom, Expression]) -> Expression:
        """Put expressions in the place of atoms, those inside of other atoms too."""
        return self.rewrite(lambda atom: replacements.get(atom))

    def rewrite(self, change: Callable[[Atom], Expression | None]) -> Expression:
        """Put what `change` gives in the place of atoms, inner ones first; None leaves one."""
        total: dict[Monomial, int] = {}
        is_new = False
        for monomial, coefficient in self.terms.items():
            new = [_rewritten(atom, change) for atom in monomial]
            if all(b is None for b in new):
                total[monomial] = total.get(monomial, 0) + coefficient
                continue
            is_new = True
            product: Expression | None = None
            for atom, by in zip(monomial, new, strict=True):
                factor = Expression({(atom,): 1}) if by is None else by
                product = factor if product is None else product * factor
            assert product is not None
            for other, times in product.terms.items():
                total[other] = total.get(other, 0) + times * coefficient
        return Expression(total) if is_new else self

    def evaluate(self, values: Callable[[Symbol], int]) -> int:
        """The number that the expression is for numbers in the place of symbols."""
        total = 0
        for monomial, coefficient in self.terms.items():
            for atom in monomial:
                coefficient *= evaluated(atom, values)
            total += coefficient
        return total

    def content(self) -> int:
        """The greatest number that divides all coefficients but the constant term; 0 if there are none."""
        found = 0
        for monomial, coefficient in self.terms.items():
            if monomial:
                found = gcd(found, coefficient)
        return found

    def __str__(self) -> str:
        ordered = sorted(
            self.terms.items(), key=lambda t: (-len(t[0]), t[1] < 0, tuple(a.key[:2] for a in t[0]))
        )
        text = ""
        for monomial, coefficient in ordered:
            factors = [str(a) for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            text += (f" {sign} " if text else "-" if coefficient < 0 else "") + "*".join(factors)
        return text or "0"

    def __repr__(self) -> str:
        return str(self)


def _rank(atom: Atom) -> Any:
    return atom.key[0]


ZERO = Expression({})
ONE = Expression({(): 1})


def as_expression(value: Expression | Atom | int) -> Expression:
    """A number or an atom as an expression."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, int):
        return Expression({(): value})
    return Expression({(value,): 1})


def floor_division(value: Expression, divisor: Expression | int) -> Expression:
    """``floor(value / divisor)`` of a divisor that is greater than 0; what divides evenly stands outside."""
    divisor = as_expression(divisor)
    number = divisor.constant
    if number is None:
        quotient = _exact_quotient(value, divisor)
        return as_expression(Floor(value, divisor)) if quotient is None else quotient
    assert number > 0, "expressions divide by what is greater than 0"
    if number == 1:
        return value
    outside = {m: c // number for m, c in value.terms.items() if m and c % number == 0}
    outside[()] = value.offset // number
    rest = Expression({m: c for m, c in value.terms.items() if not m or c % number})
    rest = rest - outside[()] * number
    if rest.constant is not None:
        return Expression(outside)
    common = gcd(rest.content(), number)
    if common > 1:
        # floor((c·x + r) / (c·d)) is floor((x + floor(r / c)) / d).
        rest = Expression({m: c // common for m, c in rest.terms.items()})
        number //= common
    if number == 1:
        return Expression(outside) + rest
    single = next(iter(rest.terms.items()))
    if len(rest.terms) == 1 and single[1] == 1 and len(single[0]) == 1 and isinstance(single[0][0], Floor):
        # floor(floor(x / c) / d) is floor(x / (c·d)).
        inner = single[0][0]
        if inner.divisor.constant is not None:
            return Expression(outside) + floor_division(inner.value, inner.divisor.constant * number)
    return Expression(outside) + as_expression(Floor(rest, as_expression(number)))


def remainder(value: Expression, divisor: Expression | int) -> Expression:
    """What is left of the floor division, from 0 to ``divisor - 1``."""
    return value - floor_division(value, divisor) * as_expression(divisor)


def minimum(values: Iterable[Expression]) -> Expression:
    """The least; of those that differ by a constant one is left."""
    return _extremum(values, Minimum, min)


def maximum(values: Iterable[Expression]) -> Expression:
    """The greatest."""
    return _extremum(values, Maximum, max)


def rebuilt(atom: Atom, operands: list[Expression]) -> Expression:
    """The operation of `atom` on other operands."""
    if isinstance(atom, Floor):
        return floor_division(operands[0], operands[1])
    assert not isinstance(atom, Symbol)
    return minimum(operands) if isinstance(atom, Minimum) else maximum(operands)


def _product(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    return tuple(sorted((*left, *right), key=lambda a: a.key))


def _rewritten(atom: Atom, change: Callable[[Atom], Expression | None]) -> Expression | None:
    by = change(atom)
    if by is not None or isinstance(atom, Symbol):
        return by
    old = parts(atom)
    new = [operand.rewrite(change) for operand in old]
    return None if all(a == b for a, b in zip(old, new, strict=True)) else rebuilt(atom, new)


def _extremum(values: Iterable[Expression], kind: Any, best: Callable[[int, int], int]) -> Expression:
    kept: list[Expression] = []
    for value in _flattened(values, kind):
        for position, other in enumerate(kept):
            distance = (value - other).constant
            if distance is not None:
                kept[position] = other + best(distance, 0)
                break
        else:
            kept.append(value)
    if len(kept) == 1:
        return kept[0]
    return as_expression(kind(tuple(sorted(kept, key=lambda e: e.key))))


def _flattened(values: Iterable[Expression], kind: Any) -> Iterator[Expression]:
    for value in values:
        if len(value.terms) == 1:
            ((monomial, coefficient),) = value.terms.items()
            if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], kind):
                yield from parts(monomial[0])
                continue
        yield value


def _exact_quotient(value: Expression, divisor: Expression) -> Expression | None:
    """The quotient by a single product, where it divides every term."""
    if len(divisor.terms) != 1:
        return None
    ((factors, number),) = divisor.terms.items()
    quotient: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms.items():
        left = list(monomial)
        for factor in factors:
            if factor not in left:
                return None
            left.remove(factor)
        if coefficient % number:
            return None
        quotient[tuple(left)] = coefficient // number
    return Expression(quotient)
