"""What is known of the symbols at a point of a program, and what follows from it: signs, comparisons, monotonicity.

`Facts` are inequalities ``e >= 0``. A question is answered by substitution (Juravle, §7.2): an expression is
monotone in an atom whose coefficient has a known sign, so it is least where the atom takes one of its bounds; the
bounds are those that facts give, and are expressions themselves. Symbols of the highest rank go first, so that
inner loops leave outer ones and these parameters. Two things of the thesis are done otherwise:

* Its Algorithm 5 compares f(a + δ) with f(a) for a positive δ. So does `monotonicity`; it looks at all of the
  difference, with the signs of the other symbols in it, where the thesis falls back on signs alone to avoid a
  cycle: here each substitution eliminates a symbol for good, and the number of steps is bounded.
* Its substitution table takes the sign of a variable for its bound, and [f(max(a)), +∞] for a decreasing f of a
  negative a although that a need not have a greatest value but -1. Here the bounds are what facts say, -1 for a
  negative one.

Every answer "yes" is a proof over the integers; "no" means that none was found.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from weft.analysis.symbolic.atoms import Monomial
from weft.analysis.symbolic.expression import (
    ONE,
    ZERO,
    Atom,
    Expression,
    Floor,
    Maximum,
    Minimum,
    Symbol,
    as_expression,
)
from weft.analysis.symbolic.models import Point, is_negative_at, points
from weft.analysis.symbolic.numeric_bounds import numeric_bound

BUDGET = 64
"""Substitutions that a question may take."""

SMALL_BUDGET = 24
"""Those of a question whose answer only makes a bound shorter."""

MAX_TERMS = 40
"""Longer polynomials are not looked at."""


class Monotonicity(Enum):
    """How an expression moves with one of its symbols."""

    CONSTANT = "constant"
    INCREASING = "increasing"
    DECREASING = "decreasing"
    UNKNOWN = "unknown"
    NONE = "not monotonic"
    """Only of several symbols at once: of some one way, of others the other way."""


class Facts:
    """A conjunction of inequalities; not to be changed.

    Parameters
    ----------
    inequalities
        Expressions that are 0 or greater.
    before
        Facts that are some of them.
    """

    __slots__ = (
        "_bounds", "_easy", "_is_noted", "_known", "_lower", "_of_monomial", "_points", "_upper", "inequalities",
    )  # fmt: skip

    def __init__(self, inequalities: Iterable[Expression] = (), before: Facts | None = None) -> None:
        new = (_primitive(_decided(f)) for f in inequalities if f.constant is None)
        self.inequalities = tuple(dict.fromkeys((*(before.inequalities if before else ()), *new)))
        self._known: dict[Expression, bool] = {}
        self._easy: dict[Expression, bool] = {}
        self._points: list[Point] | None = None
        self._bounds: dict[tuple[Atom, bool], list[tuple[Expression, int, frozenset[Atom]]]] = {}
        self._of_monomial: dict[Monomial, list[tuple[Expression, int]]] = {}
        self._lower: dict[Atom, list[tuple[Expression, int]]] = {}
        self._upper: dict[Atom, list[tuple[Expression, int]]] = {}
        self._is_noted = False

    def also(self, more: Iterable[Expression]) -> Facts:
        """These facts and more."""
        new = [f for f in more if f not in self.inequalities]
        return Facts(new, self) if new else self

    def _note_all(self) -> None:
        """Find what the inequalities say of each atom: many facts are for integer sets, and nobody asks them."""
        self._is_noted = True
        for fact in self.inequalities:
            self._note(fact)
            weaker = _without_division(fact)
            if weaker is not None:
                self._note(weaker)
            for monomial, coefficient in fact.terms.items():
                if monomial:
                    self._of_monomial.setdefault(monomial, []).append((fact, coefficient))

    def _note(self, fact: Expression) -> None:
        has_products = any(len(monomial) > 1 for monomial in fact.terms)
        for monomial, coefficient in fact.terms.items():
            if len(monomial) != 1 or (has_products and sum(monomial[0] in m for m in fact.terms) != 1):
                continue
            rest = Expression({m: c for m, c in fact.terms.items() if m != monomial})
            # coefficient·atom + rest >= 0.
            into = self._lower if coefficient > 0 else self._upper
            bound = -rest if coefficient > 0 else rest
            into.setdefault(monomial[0], []).append((bound, abs(coefficient)))

    def bounds(self, atom: Atom, upper: bool) -> list[tuple[Expression, int]]:
        """Pairs ``(b, k)`` with ``k·atom <= b``, or ``>= b``; the strongest first that the atom's own kind gives."""
        if not self._is_noted:
            self._note_all()
        found: list[tuple[Expression, int]] = []
        if isinstance(atom, Floor):
            number = atom.divisor.constant
            if number is not None:
                found.append((atom.value if upper else atom.value - number + 1, number))
        elif (isinstance(atom, Minimum) and upper) or (isinstance(atom, Maximum) and not upper):
            found += [(v, 1) for v in atom.values]
        found += (self._upper if upper else self._lower).get(atom, [])
        if isinstance(atom, Symbol):
            end = atom.high if upper else atom.low
            if end is not None:
                found.append((as_expression(end), 1))
        return found

    def bounds_apart(self, atom: Atom, upper: bool, gone: frozenset[Atom]) -> list[tuple[Expression, int]]:
        """The bounds of an atom that have none of some atoms as factors."""
        found = self._bounds.get((atom, upper))
        if found is None:
            found = [(b, k, frozenset(b.atoms())) for b, k in self.bounds(atom, upper)]
            self._bounds[atom, upper] = found
        return [(bound, times) for bound, times, atoms in found if gone.isdisjoint(atoms)]

    def follows(self, value: Expression) -> bool:
        """Whether a value is a multiple of what is known to be 0 or greater, and what is so by its ranges."""
        if not self._is_noted:
            self._note_all()
        for monomial, there in value.terms.items():
            for fact, coefficient in self._of_monomial.get(monomial, ()):
                if there % coefficient == 0 and (times := there // coefficient) > 0:
                    low = numeric_bound(value - fact * times, upper=False)
                    if low is not None and low >= 0:
                        return True
        return False

    def is_nonnegative(self, value: Expression) -> bool:
        """Whether ``value >= 0`` can be proved."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = not self._is_refuted(value) and _Question(self).nonnegative(
                value, frozenset()
            )
        return known

    def _is_refuted(self, value: Expression) -> bool:
        """Whether a point is known at which all facts hold, and the value is negative."""
        if value.constant is not None:
            return value.offset < 0
        if self._points is None:
            self._points = points(self.inequalities)
        return is_negative_at(value, self._points)

    def is_easily_nonnegative(self, value: Expression) -> bool:
        """Whether ``value >= 0`` can be proved in a few steps."""
        known = self._known.get(value)
        if known is None:
            known = self._easy.get(value)
        if known is None:
            known = self._easy[value] = _Question(self, SMALL_BUDGET).nonnegative(value, frozenset())
        return known

    def simplified(self, value: Expression) -> Expression:
        """The expression with one operand in the place of a minimum or maximum where it is known which."""

        def decide(atom: Atom) -> Expression | None:
            if not isinstance(atom, Minimum | Maximum):
                return None
            for one in atom.values:
                others = [v for v in atom.values if v is not one]
                if all(
                    self.is_nonnegative(o - one if isinstance(atom, Minimum) else one - o) for o in others
                ):
                    return one
            return None

        return value.rewrite(decide)

    def is_positive(self, value: Expression) -> bool:
        """Whether ``value > 0`` can be proved."""
        return self.is_nonnegative(value - 1)

    def is_zero(self, value: Expression) -> bool:
        """Whether ``value == 0`` can be proved."""
        return value == ZERO or (self.is_nonnegative(value) and self.is_nonnegative(-value))

    def at_least(self, a: Expression, b: Expression) -> bool:
        """Whether ``a >= b`` can be proved: expressions are compared by the sign of their difference."""
        return self.is_nonnegative(a - b)

    def sign(self, value: Expression) -> frozenset[int]:
        """The signs, among -1, 0 and 1, that an expression may have."""
        possible = {-1, 0, 1}
        if self.is_nonnegative(value):
            possible.discard(-1)
            if self.is_positive(value):
                possible.discard(0)
        elif self.is_nonnegative(-value):
            possible.discard(1)
            if self.is_positive(-value):
                possible.discard(0)
        return frozenset(possible)

    def monotonicity(self, value: Expression, symbol: Symbol) -> Monotonicity:
        """How an expression moves with a symbol (Algorithm 5); the other symbols stay as they are."""
        if symbol not in value.symbols():
            return Monotonicity.CONSTANT
        distance = Symbol("δ", 0, low=1)
        moved = value.substitute({symbol: symbol_at(symbol, distance)})
        # Facts about the symbol hold for it before and after the step.
        step: dict[Atom, Expression] = {symbol: symbol_at(symbol, distance)}
        known = self.also(f.substitute(step) for f in self.inequalities if symbol in f.symbols())
        difference = moved - value
        if symbol.high is not None:
            known = known.also([as_expression(symbol.high) - symbol_at(symbol, distance)])
        if known.is_zero(difference):
            return Monotonicity.CONSTANT
        if known.is_nonnegative(difference):
            return Monotonicity.INCREASING
        if known.is_nonnegative(-difference):
            return Monotonicity.DECREASING
        return Monotonicity.UNKNOWN

    def monotonicity_by_set(self, value: Expression, symbols: Iterable[Symbol]) -> Monotonicity:
        """How an expression moves with several symbols, each for itself (Algorithm 6).

        The thesis answers "not monotonic" where one symbol leaves it constant; that one is of no account here.
        """
        found = {self.monotonicity(value, symbol) for symbol in symbols} - {Monotonicity.CONSTANT}
        if not found:
            return Monotonicity.CONSTANT
        if Monotonicity.UNKNOWN in found:
            return Monotonicity.UNKNOWN
        return found.pop() if len(found) == 1 else Monotonicity.NONE


def symbol_at(symbol: Symbol, distance: Symbol) -> Expression:
    """A symbol moved by another one."""
    return as_expression(symbol) + as_expression(distance)


class _Question:
    """One question, with the number of steps that it may still take."""

    __slots__ = ("_facts", "_failed", "_left")

    def __init__(self, facts: Facts, budget: int = BUDGET) -> None:
        self._facts = facts
        self._left = budget
        self._failed: set[tuple[Expression, frozenset[Atom]]] = set()

    def nonnegative(self, value: Expression, gone: frozenset[Atom]) -> bool:
        constant = value.constant
        if constant is not None:
            return constant >= 0
        if len(value.terms) > MAX_TERMS:
            return False
        value = _primitive(value)
        low = numeric_bound(value, upper=False)
        if low is not None and low >= 0:
            return True
        if (value, gone) in self._failed or self._left <= 0:
            return False
        self._left -= 1
        if self._facts.follows(value):
            return True
        for atom in value.atoms():
            if atom in gone:
                continue
            if isinstance(atom, Minimum | Maximum) and all(
                # It is one of its operands, whichever.
                self.nonnegative(_with(value, atom, operand), gone | {atom})
                for operand in atom.values
            ):
                return True
            if self._substituted(value, atom, gone | {atom}):
                return True
        self._failed.add((value, gone))
        return False

    def _substituted(self, value: Expression, atom: Atom, gone: frozenset[Atom]) -> bool:
        coefficients = value.coefficients(atom)
        if len(coefficients) == 1:
            return False
        if len(coefficients) > 2:
            return self._power(value, atom, coefficients, gone)
        slope = coefficients[1]
        for upper in (False, True):
            bounds = self._facts.bounds_apart(atom, upper, gone)
            if not bounds or not self.nonnegative(-slope if upper else slope, gone):
                continue
            # times·value is times·rest + slope·(times·atom), and value is an integer: it is 0 if that is above -times.
            return any(
                self.nonnegative(coefficients[0] * times + slope * bound + (times - 1), gone)
                for bound, times in bounds
            )
        return False

    def _power(
        self, value: Expression, atom: Atom, coefficients: list[Expression], gone: frozenset[Atom]
    ) -> bool:
        """Of an atom that is 0 or greater, all powers rise with it."""
        if not self.nonnegative(as_expression(atom), frozenset()):
            return False
        for upper in (False, True):
            if not all(self.nonnegative(-c if upper else c, gone) for c in coefficients[1:]):
                continue
            for bound, times in self._facts.bounds_apart(atom, upper, gone):
                if times == 1:
                    below = upper or self.nonnegative(bound, gone)
                    if below and self.nonnegative(_with(value, atom, bound), gone):
                        return True
        return not any(c != ZERO and not self.nonnegative(c, gone) for c in coefficients)


def _with(value: Expression, atom: Atom, by: Expression) -> Expression:
    """A polynomial with an expression in the place of an atom, where it is a factor."""
    result = ZERO
    power = ONE
    for coefficient in value.coefficients(atom):
        result = result + coefficient * power
        power = power * by
    return result


def _decided(fact: Expression) -> Expression:
    """An inequality without the operands of a maximum that cannot fulfil it: ``max(a, b) > 0`` with b <= 0 is a > 0."""
    for monomial, coefficient in fact.terms.items():
        if len(monomial) != 1 or abs(coefficient) != 1:
            continue
        atom = monomial[0]
        if not isinstance(atom, Maximum if coefficient > 0 else Minimum):
            continue
        kept: list[Expression] = []
        for value in atom.values:
            high = numeric_bound(_with(fact, atom, value), upper=True)
            if high is None or high >= 0:
                kept.append(value)
        if len(kept) == 1:
            return _decided(_with(fact, atom, kept[0]))
    return fact


def _without_division(fact: Expression) -> Expression | None:
    """What an inequality says of the dividend of its one floor division: ``d·floor(x / d)`` is from x - d + 1 to x."""
    floors = [a for m in fact.terms for a in m if isinstance(a, Floor)]
    if len(floors) != 1 or floors[0].divisor.constant is None:
        return None
    parts = fact.coefficients(floors[0])
    slope, number = parts[1].constant, floors[0].divisor.offset
    if len(parts) != 2 or slope is None:
        return None
    return parts[0] * number + (floors[0].value if slope > 0 else floors[0].value - number + 1) * slope


def _primitive(value: Expression) -> Expression:
    """The expression divided by what divides all its coefficients; the constant is rounded down, as signs are kept."""
    common = value.content()
    if common <= 1:
        return value
    return Expression({m: c // common for m, c in value.terms.items()})
