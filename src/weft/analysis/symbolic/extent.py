"""The least and the greatest value of an expression, when some of its symbols take all the values that facts allow.

What remains are bounds in the other symbols: the section of an array that a loop touches, in the loop's parameters,
after its iterations are eliminated (Juravle, §4.2 and 8.3). An expression is linear in most symbols. It is then
greatest where a symbol with a coefficient of known sign takes the bound that facts give. Where the sign is not known,
the greatest value is at one of the two ends, and the maximum of both is a bound; the thesis assumes a sign there. Where
facts give several bounds, the strongest is taken if they can be compared, else their minimum. Bounds are exact where
each symbol has one bound on either side, and never too small.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.symbolic.expression import (
    Atom,
    Expression,
    Floor,
    Maximum,
    Minimum,
    Symbol,
    as_expression,
    floor_division,
    maximum,
    minimum,
    rebuilt,
)
from weft.analysis.symbolic.facts import MAX_TERMS, Facts
from weft.analysis.symbolic.numeric_bounds import numeric_range

MAX_ALTERNATIVES = 3
"""Bounds that cannot be compared are kept up to so many."""

MAX_STEPS = 120


class Range(Struct, frozen=True):
    """A symbolic range: every value is at least `low` and at most `high`; None where nothing is known.

    The lattice: ⊥ (no value, here None in place of a range) below all ranges, of which one is below another that
    contains it, up to (None, None). Join and meet are those of the thesis's Table 8.3.
    """

    low: Expression | None
    high: Expression | None

    def __str__(self) -> str:
        return f"[{'-inf' if self.low is None else self.low}, {'inf' if self.high is None else self.high}]"


TOP = Range(None, None)


def join(a: Range | None, b: Range | None, facts: Facts) -> Range | None:
    """The least range that holds both."""
    if a is None or b is None:
        return b if a is None else a
    low = None if a.low is None or b.low is None else weakest([a.low, b.low], facts, upper=False)
    high = None if a.high is None or b.high is None else weakest([a.high, b.high], facts, upper=True)
    return Range(low, high)


def widen(old: Range, new: Range) -> Range:
    """What is not stable is given up."""
    return Range(old.low if old.low == new.low else None, old.high if old.high == new.high else None)


def narrow(old: Range, new: Range) -> Range:
    """What was given up is taken from a later computation."""
    return Range(new.low if old.low is None else old.low, new.high if old.high is None else old.high)


def extent(value: Expression, eliminated: Callable[[Symbol], bool], facts: Facts) -> Range:
    """A range of `value` without the symbols that are `eliminated`."""
    return Range(
        bound_of(value, eliminated, facts, upper=False), bound_of(value, eliminated, facts, upper=True)
    )


def bound_of(
    value: Expression, eliminated: Callable[[Symbol], bool], facts: Facts, *, upper: bool
) -> Expression | None:
    """The greatest value, or the least, without the symbols that are `eliminated`; None if none is found."""
    return _Elimination(eliminated, facts).bound(value, upper, frozenset())


class _Elimination:
    __slots__ = ("_eliminated", "_facts", "_left")

    def __init__(self, eliminated: Callable[[Symbol], bool], facts: Facts) -> None:
        self._eliminated = eliminated
        self._facts = facts
        self._left = MAX_STEPS

    def bound(self, value: Expression, upper: bool, gone: frozenset[Atom]) -> Expression | None:
        if len(value.terms) > MAX_TERMS or self._left <= 0:
            return None
        self._left -= 1
        atom = next((a for a in value.atoms() if self._concerns(a)), None)
        if atom is None:
            return value
        if atom in gone:
            return None
        coefficients = value.coefficients(atom)
        if len(coefficients) > 2:
            return self._power(value, atom, coefficients, upper, gone)
        rest, slope = coefficients[0], coefficients[1]
        if self._facts.is_nonnegative(slope):
            return self._at_end(rest, slope, atom, upper, upper, gone)
        if self._facts.is_nonnegative(-slope):
            return self._at_end(rest, slope, atom, not upper, upper, gone)
        ends = [self._at_end(rest, slope, atom, end, upper, gone) for end in (False, True)]
        if ends[0] is None or ends[1] is None:
            return None
        return weakest([ends[0], ends[1]], self._facts, upper)

    def _concerns(self, atom: Atom) -> bool:
        if isinstance(atom, Symbol):
            return self._eliminated(atom)
        return any(self._eliminated(s) for s in as_expression(atom).symbols())

    def _at_end(
        self, rest: Expression, slope: Expression, atom: Atom, end: bool, upper: bool, gone: frozenset[Atom]
    ) -> Expression | None:
        """A bound of ``rest + slope·atom`` where the atom is at its upper or lower end."""
        found: list[Expression] = []
        sums = [rest + slope * at for at in self._ends(atom, end, gone)]
        if isinstance(atom, Floor):
            sums += self._without_division(rest, slope, atom, end)
        for total in sums:
            bound = self.bound(total, upper, gone | {atom})
            if bound is not None and bound not in found:
                found.append(bound)
        return strongest(found, self._facts, upper) if found else None

    def _without_division(
        self, rest: Expression, slope: Expression, atom: Floor, end: bool
    ) -> list[Expression]:
        """``d·floor(x / d)`` is from ``x - d + 1`` to ``x``, which cancels what a remainder has of x."""
        number = atom.divisor.constant
        if number is None or any(c % number for c in slope.terms.values()):
            return []
        whole = Expression({m: c // number for m, c in slope.terms.items()})
        return [rest + whole * (atom.value if end else atom.value - number + 1)]

    def _ends(self, atom: Atom, end: bool, gone: frozenset[Atom]) -> list[Expression]:
        """The bounds of an atom that may be put in its place."""
        bounds: list[Expression] = []
        if not isinstance(atom, Symbol):
            whole = self._operation_at_end(atom, end, gone)
            return [] if whole is None else [whole]
        for bound, times in self._facts.bounds(atom, end):
            if gone & set(bound.atoms()) or atom in bound.symbols():
                continue
            # A least value is rounded up.
            exact = floor_division(bound if end else bound + times - 1, times) if times > 1 else bound
            bounds.append(exact)
        numbers = [b for b in bounds if b.constant is not None]
        if len(numbers) > 1:
            pick = min if end else max
            best = pick(numbers, key=lambda b: b.offset)
            bounds = [b for b in bounds if b.constant is None or b is best]
        # What a type allows is of use only where nothing else is known.
        known = [b for b in bounds if b.constant is None]
        wide = numeric_range(atom)[1 if end else 0]
        if known and wide is not None:
            bounds = [b for b in bounds if b.constant is None or abs(b.offset) < abs(wide) or wide == 0]
        return bounds[: 2 * MAX_ALTERNATIVES]

    def _operation_at_end(self, atom: Atom, end: bool, gone: frozenset[Atom]) -> Expression | None:
        """Floor divisions, minima and maxima rise with their operands."""
        if isinstance(atom, Floor):
            if self._concerns_expression(atom.divisor):
                return None
            value = self.bound(atom.value, end, gone)
            return None if value is None else floor_division(value, atom.divisor)
        assert isinstance(atom, Minimum | Maximum)
        operands = [self.bound(v, end, gone) for v in atom.values]
        known = [v for v in operands if v is not None]
        one_is_enough = isinstance(atom, Minimum) == end
        if not known or (not one_is_enough and len(known) < len(operands)):
            return None
        return rebuilt(atom, known)

    def _concerns_expression(self, value: Expression) -> bool:
        return any(self._eliminated(s) for s in value.symbols())

    def _power(
        self,
        value: Expression,
        atom: Atom,
        coefficients: list[Expression],
        upper: bool,
        gone: frozenset[Atom],
    ) -> Expression | None:
        """Of an atom that is 0 or greater, where all powers pull the same way."""
        if not isinstance(atom, Symbol) or not self._facts.is_nonnegative(as_expression(atom)):
            return None
        rising = all(self._facts.is_nonnegative(c) for c in coefficients[1:])
        if not rising and not all(self._facts.is_nonnegative(-c) for c in coefficients[1:]):
            return None
        end = upper == rising
        found: list[Expression] = []
        for at in self._ends(atom, end, gone):
            if end or self._facts.is_nonnegative(at):
                bound = self.bound(value.substitute({atom: at}), upper, gone | {atom})
                if bound is not None:
                    found.append(bound)
        return strongest(found, self._facts, upper) if found else None


def strongest(bounds: list[Expression], facts: Facts, upper: bool) -> Expression:
    """One bound for several that all hold."""
    kept = _incomparable(bounds, facts, smallest=upper)[:MAX_ALTERNATIVES]
    return minimum(kept) if upper else maximum(kept)


def weakest(bounds: list[Expression], facts: Facts, upper: bool) -> Expression:
    """One bound for several of which any may hold."""
    kept = _incomparable(bounds, facts, smallest=not upper)
    return maximum(kept) if upper else minimum(kept)


def _incomparable(bounds: list[Expression], facts: Facts, smallest: bool) -> list[Expression]:
    """The smallest bounds, or the greatest: without those that another one is proved to make superfluous."""
    kept: list[Expression] = []
    for bound in bounds:
        if any(facts.is_easily_nonnegative(bound - k if smallest else k - bound) for k in kept):
            continue
        kept = [k for k in kept if not facts.is_easily_nonnegative(k - bound if smallest else bound - k)]
        kept.append(bound)
    return kept
