"""Dependences that a loop carries: pairs of accesses that may touch the same byte in different iterations.

For two accesses of the same object, one of them a write, in iterations t and t + d with d ≥ 1, the distance D of
their addresses is an expression; they are independent if D never lies in (-size_b, size_a). All that may differ
between the two iterations has two symbols. Four tests decide, each of which proves independence or says nothing:

1. By the greatest common divisor: D is a constant modulo what divides all its coefficients.
2. The range test (Blume and Eigenmann), which the thesis names in §4.1: D is at least size_a, or at most -size_b,
   by the signs of its coefficients and the bounds of what is in it. Symbolic coefficients are no obstacle.
3. The test of rows: where D is ``S·Q + R`` with a symbolic S that R cannot reach, the accesses meet in one row only.
4. By integer sets: no integers fulfil the facts of both accesses, and D in between. Exact where all is affine; it
   contains Banerjee's test. Without islpy there is none, and the others decide.

If no test proves it, the dependence is *certain* if the addresses agree in every iteration, else it is possible. The
distance is that d which integer sets leave. Where rows have a size, a symbol or a number (``a[i][j]`` of ``double
a[][1100]``, with j below n), that an index stays in its row is assumed if that is all that is missing. What holds only
where the loop runs once or not at all, or a few times of many (``n <= 1`` of a loop up to n), is not assumed: no
iterations are left then of which anything would be said.

Accesses of different objects do not meet where the objects are certainly different. Where that cannot be told (two
pointer arguments of a C function), that they do not overlap is recorded as an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses, Opaque
from weft.analysis.sequential.invariants import is_apart
from weft.analysis.sequential.orders import Order
from weft.analysis.sequential.scope import Assumption, LoopContext
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression
from weft.analysis.symbolic.extent import bound_of
from weft.analysis.symbolic.facts import Facts
from weft.analysis.symbolic.integer_sets import has_isl, is_empty, solutions
from weft.ir import Instruction, Value

MAX_ROWS = 3
"""Dimensions of an array that a linear index is taken apart into, but for the last."""

MAX_FOUND = 16
"""So many dependences are named; then a loop is sequential, whatever else there is."""

FEW_ITERATIONS = 16
"""Nothing is assumed that makes a loop's iterations fewer than these, if there may be as many."""

MAX_PAIRS = 4000
"""Loops with more pairs of accesses are not looked at: their accesses may meet."""


class Dependence(Struct, frozen=True):
    """Two accesses that may touch the same byte in different iterations.

    Parameters
    ----------
    source, sink
        What the earlier and the later iteration does.
    distance
        How many iterations are between them, None where that is not one number.
    is_certain
        Whether they meet in every iteration.
    """

    source: Access
    sink: Access
    distance: int | None
    is_certain: bool

    @property
    def kind(self) -> str:
        """The field's name for it."""
        if self.source.is_write:
            return "output" if self.sink.is_write else "flow"
        return "anti"


class Dependences(Struct, frozen=True):
    """What a loop carries through memory.

    Parameters
    ----------
    found
        Pairs that may meet; all of them if they are no more than `MAX_FOUND`.
    opaque
        What is not described and may write.
    assumptions
        What independence of the other pairs rests on.
    is_complete
        Whether all pairs were looked at.
    """

    found: tuple[Dependence, ...]
    opaque: tuple[Opaque, ...]
    assumptions: tuple[Assumption, ...]
    is_complete: bool = True


class DependenceTest:
    """Dependences of one loop.

    Parameters
    ----------
    accesses, loop
        The program, and the loop.
    direction
        A loop inside, and 1 or -1: only pairs count of which the later one is in a later iteration of that loop, or in
        an earlier one.
    within
        Only iterations count for which these are 0 or greater.
    order
        Another order of the loop: only pairs count that change places in it, those of one iteration among them.
    """

    __slots__ = (
        "_accesses", "_answers", "_direction", "_distance", "_facts", "_known", "_loop", "_moved", "_order", "_primed",
        "_within",
    )  # fmt: skip

    def __init__(
        self,
        accesses: Accesses,
        loop: LoopContext,
        direction: tuple[LoopContext, int] | None = None,
        within: tuple[Expression, ...] = (),
        order: Order | None = None,
    ) -> None:
        self._accesses = accesses
        self._loop = loop
        self._direction = direction
        self._within = within
        self._order = order
        self._distance = Symbol("d", loop.iteration.rank, loop, low=1 if order is None else 0)
        self._primed: dict[Symbol, Symbol] = {}
        self._facts: dict[object, Facts] = {}
        self._moved: dict[tuple[Expression, ...], tuple[Expression, ...]] = {}
        self._answers: dict[object, list[tuple[frozenset[Expression], bool, int | None]]] = {}
        self._known: dict[object, tuple[bool, int | None]] = {}

    def run(self, private: frozenset[Symbol]) -> Dependences:
        """All pairs of accesses in the loop, but those of objects of which each iteration has its own."""
        all = self._accesses.of(self._loop)
        opaque = [a for a in all if isinstance(a, Opaque)]
        plain = [a for a in all if isinstance(a, Access) and a.base not in private]
        found: list[Dependence] = []
        assumptions: dict[Assumption, None] = {}
        writes = [a for a in plain if a.is_write]
        if len(writes) * len(plain) > MAX_PAIRS:
            write = writes[0]
            return Dependences((Dependence(write, write, None, False),), tuple(opaque), (), False)
        position = {access: number for number, access in enumerate(plain)}
        for write in writes:
            for other in plain:
                if other.is_write and position[other] < position[write]:
                    continue
                found += self._pair(write, other, assumptions)
                if len(found) > MAX_FOUND:
                    # The pairs that are left may meet, too.
                    return Dependences(tuple(found), tuple(opaque), tuple(assumptions), False)
        return Dependences(tuple(found), tuple(opaque), tuple(assumptions))

    def _pair(self, write: Access, other: Access, assumptions: dict[Assumption, None]) -> list[Dependence]:
        if write.base is not None and other.base is not None and write.base is not other.base:
            if not self._may_be_same(write.base, other.base):
                roots = self._root(write), self._root(other)
                if not is_apart(*roots):
                    names = sorted((write.base.name, other.base.name))
                    text = f"{names[0]} and {names[1]} do not overlap"
                    assumptions[Assumption("overlap", text)] = None
                return []
            return [Dependence(write, other, None, False)]
        if write.base is None or other.base is None:
            return [Dependence(write, other, None, False)]
        if self._loop.contains(write.base.loop):
            # The object is another one in each iteration, or not.
            if self._is_own(write.base):
                return []
            return [Dependence(write, other, None, False)]
        orders = [(write, other)] if write is other else [(write, other), (other, write)]
        meetings = [(first, second, *self._meets(first, second)) for first, second in orders]
        if not any(m[2] for m in meetings):
            return []
        factors = self._factors(write, other)
        signs = tuple(f for f in factors if not write.facts.is_positive(as_expression(f)))
        for row in (None, *factors, *self._pitches(write, other)):
            assumed = self._assumed(write, other, signs, row)
            if (
                assumed
                and not any(self._meets(first, second, signs, row)[0] for first, second in orders)
                and all(
                    self._leaves_iterations(first, second, (*assumptions, *assumed))
                    for first, second, meets, _ in meetings
                    if meets
                )
            ):
                assumptions.update(dict.fromkeys(assumed))
                return []
        found: list[Dependence] = []
        for first, second, meets, distance in meetings:
            if meets:
                same = first.offset == second.offset and self._is_fixed(first)
                found.append(Dependence(first, second, distance, same))
        return found

    def _factors(self, write: Access, other: Access) -> tuple[Symbol, ...]:
        """Parameters that are factors of what changes from iteration to iteration: sizes of rows."""
        factors: dict[Symbol, None] = {}
        for access in (write, other):
            for monomial in access.offset.terms:
                if len(monomial) > 1 and any(isinstance(a, Symbol) and a.loop is not None for a in monomial):
                    for atom in monomial:
                        if isinstance(atom, Symbol) and atom.loop is None and not atom.is_pointer:
                            factors[atom] = None
        return tuple(factors)

    def _pitches(self, write: Access, other: Access) -> tuple[int, ...]:
        """Numbers that are sizes of rows: what the counters of outer dimensions are multiplied with, greatest first.

        Of counters that begin at other ones, these are multiplied with more: the differences follow.
        """
        factors: set[int] = set()
        differences: set[int] = set()
        for access in (write, other):
            varying = {
                m: c for m, c in access.offset.terms.items() if any(s.loop is not None for s in _symbols(m))
            }
            if any(len(m) > 1 or not all(isinstance(a, Symbol) for a in m) for m in varying):
                continue
            own = {abs(c) for c in varying.values()}
            if len(own) == 1 and not any(abs(c) <= (access.size.constant or 1) for c in own):
                # The column is the same in all rows.
                factors |= own
            elif len(own) > 1:
                # The least one is that of elements, or of rows, too, where elements are reached by several counters.
                factors |= own - {min(own)} if access.size.constant == min(own) else own
            differences |= {a - b for a in own for b in own if a > b}
        ordered = [sorted(f, reverse=True)[:MAX_ROWS] for f in (factors, differences - factors)]
        return (*ordered[0], *ordered[1])

    def _assumed(
        self, write: Access, other: Access, signs: tuple[Symbol, ...], row: Symbol | int | None
    ) -> list[Assumption]:
        """That sizes are positive, and that what is added to multiples of `row` stays below it; none if unknown."""
        found = [
            Assumption("sign", f"{symbol.name} is greater than 0", 0, as_expression(symbol) - 1)
            for symbol in signs
        ]
        if row is None:
            return found
        for access in (write, other):
            for inequality in self._within_row(access, row):
                least = bound_of(inequality, lambda s: s.loop is not None, access.facts, upper=False)
                if least is None or (least.constant is not None and least.offset < 0):
                    return []
                if not access.facts.is_nonnegative(least):
                    condition = as_condition(least)
                    found.append(Assumption("bounds", f"{condition}: rows do not overlap", 0, least))
        return found

    def _leaves_iterations(self, first: Access, second: Access, assumed: Sequence[Assumption]) -> bool:
        """Whether iterations are left in which both accesses happen, the second one some iterations later."""
        facts = [*first.facts.inequalities, *(self._later(f) for f in second.facts.inequalities)]
        facts += [*self._within, *map(self._later, self._within)]
        conditions = [a.condition for a in assumed if a.condition is not None]
        if not has_isl():
            return not any(Facts(facts).is_nonnegative(-c - 1) for c in conditions)
        many = as_expression(self._distance) - (FEW_ITERATIONS - 1)
        if not is_empty([*facts, many]):
            facts.append(many)
        return not is_empty([*facts, *conditions])

    def _within_row(self, access: Access, row: Symbol | int) -> list[Expression]:
        """That the part of an offset which has no factor `row` lies in one row."""
        if isinstance(row, int):
            # Of a greater coefficient, as of the constant, a part belongs to the nearest row.
            terms = {
                m: c if m and abs(c) < row else (c + row // 2) % row - row // 2
                for m, c in access.offset.terms.items()
            }
            column = Expression(terms)
            return [column, row - column - access.size]
        parts = access.offset.coefficients(row)
        if len(parts) != 2:
            return []
        stride = as_expression(row) * gcd(parts[1].content(), parts[1].offset)
        return [parts[0], stride - parts[0] - access.size]

    def _may_be_same(self, a: Symbol, b: Symbol) -> bool:
        """Whether different symbols may stand for the same object, as loaded pointers of different iterations do."""
        return self._loop.contains(a.loop) or self._loop.contains(b.loop)

    def _is_own(self, base: Symbol) -> bool:
        """Whether an object is made anew in each iteration."""
        origin = base.origin
        return isinstance(origin, Instruction) and origin.op == "alloca"

    def _root(self, access: Access) -> Value:
        assert access.base is not None
        origin = access.base.origin
        assert isinstance(origin, Value)
        return origin

    def _is_fixed(self, access: Access) -> bool:
        return not any(self._loop.contains(s.loop) for s in access.offset.symbols())

    def _meets(
        self,
        first: Access,
        second: Access,
        positive: tuple[Symbol, ...] = (),
        row: Symbol | int | None = None,
    ) -> tuple[bool, int | None]:
        """Whether the first access and the second, some iterations later, may touch a common byte; how many later."""
        later = self._later(second.offset)
        later_size, size = self._later(second.size), first.size
        distance = later - first.offset
        turned: tuple[Expression, ...] | None = ()
        if self._order is not None:
            turned = self._order.turned(first, second, self._later, as_expression(self._distance))
            if turned is None:
                return False, None
        key = (
            distance,
            size,
            later_size,
            first.facts.inequalities,
            second.facts.inequalities,
            positive,
            row,
            turned,
        )
        known = self._known.get(key)
        if known is None:
            assumed = [as_expression(symbol) - 1 for symbol in positive]
            if self._direction is not None:
                inner, way = self._direction
                moved = self._later(as_expression(inner.iteration)) - as_expression(inner.iteration)
                assumed.append(moved * way - 1)
            assumed += turned
            assumed += [*self._within, *map(self._later, self._within)]
            if row is not None:
                assumed += self._within_row(first, row)
                assumed += [self._later(e) for e in self._within_row(second, row)]
            known = self._known[key] = self._answer(first, second, (distance, size, later_size), assumed)
        return known

    def _answer(
        self,
        first: Access,
        second: Access,
        what: tuple[Expression, Expression, Expression],
        assumed: list[Expression],
    ) -> tuple[bool, int | None]:
        """The same, if need be from what was found under other conditions.

        What is apart is so under more conditions, too; what meets does so under fewer, and not always in one distance.
        """
        conditions = frozenset((*first.facts.inequalities, *self._later_facts(second), *assumed))
        answers = self._answers.setdefault(what, [])
        for others, meets, distance in answers:
            if (others >= conditions and distance is None) if meets else others <= conditions:
                return meets, None
        found = self._solve(first, second, *what, assumed)
        answers.append((conditions, *found))
        return found

    def _later_facts(self, access: Access) -> tuple[Expression, ...]:
        """What holds of a later iteration when an access happens in it."""
        own = access.facts.inequalities
        if own not in self._moved:
            self._moved[own] = tuple(map(self._later, own))
        return self._moved[own]

    def _solve(
        self,
        first: Access,
        second: Access,
        distance: Expression,
        size: Expression,
        later_size: Expression,
        known: list[Expression],
    ) -> tuple[bool, int | None]:
        if size.constant is not None and later_size.constant is not None:
            divisor = distance.content()
            if not divisor and not -later_size.constant < distance.offset < size.constant:
                return False, None
            if divisor and not self._meets_modulo(
                distance.offset, divisor, size.constant, later_size.constant
            ):
                return False, None
        facts = self._facts_of(first, second)
        if known:
            facts = facts.also(known)
        return self._apart(facts, distance, size, later_size, MAX_ROWS)

    def _facts_of(self, first: Access, second: Access) -> Facts:
        """What holds when both happen; many accesses share it, and what was found to follow from it."""
        key = first.facts.inequalities, second.facts.inequalities
        if key not in self._facts:
            self._facts[key] = Facts((*key[0], *self._later_facts(second)))
        return self._facts[key]

    def _apart(
        self, facts: Facts, distance: Expression, size: Expression, later_size: Expression, rows: int
    ) -> tuple[bool, int | None]:
        """Whether the distance may lie between ``-later_size`` and `size`; the number of iterations if it is one."""
        system = [*facts.inequalities, size - 1 - distance, distance + later_size - 1]
        may_meet, least, most = True, None, None
        if has_isl():
            may_meet, least, most = solutions(self._concerned(system, distance), self._distance)
        if may_meet and not (has_isl() and _is_affine(distance)):
            # Integer sets know nothing of products.
            known = facts.is_nonnegative(distance - size) or facts.is_nonnegative(-distance - later_size)
            may_meet = not known
        if may_meet and rows and self._in_different_rows(facts, distance, size, later_size, rows):
            return False, None
        return may_meet, least if least == most else None

    def _in_different_rows(
        self, facts: Facts, distance: Expression, size: Expression, later_size: Expression, rows: int
    ) -> bool:
        """Whether the accesses are apart by the test of rows.

        If ``D = S·Q + R`` with ``R <= S - later_size`` and ``-R <= S - size``, the accesses can only meet in the same
        row, with Q = 0, where D is R.
        """
        for symbol in sorted(distance.symbols(), key=lambda s: s.rank):
            if self._loop.contains(symbol.loop) or symbol.is_pointer:
                continue
            parts = distance.coefficients(symbol)
            if len(parts) < 2 or (len(parts) == 2 and parts[1].constant is not None):
                continue
            # (D - R) / S, of which S may be a factor again.
            row, power = as_expression(0), as_expression(1)
            for part in parts[1:]:
                row = row + part * power
                power = power * as_expression(symbol)
            number = gcd(row.content(), row.offset)
            row = Expression({m: c // number for m, c in row.terms.items()})
            stride = as_expression(symbol) * number
            if not (
                facts.is_nonnegative(stride - parts[0] - later_size)
                and facts.is_nonnegative(stride + parts[0] - size)
            ):
                continue
            one = as_expression(1)
            if not self._apart(facts, row, one, one, rows - 1)[0]:
                return True
            same = facts.also((row, -row))
            if not self._apart(same, parts[0], size, later_size, rows - 1)[0]:
                return True
        return False

    def _concerned(self, system: list[Expression], distance: Expression) -> list[Expression]:
        """The inequalities that say something of the symbols in the distance, or of symbols in those."""
        known = distance.symbols() | {self._distance}
        left, kept = system, []
        growing = True
        while growing:
            growing = False
            rest: list[Expression] = []
            for inequality in left:
                symbols = inequality.symbols()
                if symbols & known:
                    kept.append(inequality)
                    growing |= not symbols <= known
                    known |= symbols
                else:
                    rest.append(inequality)
            left = rest
        return kept

    @staticmethod
    def _meets_modulo(offset: int, divisor: int, size: int, later_size: int) -> bool:
        """Whether ``offset + divisor·x`` lies between ``-later_size`` and `size` for some x."""
        least = offset % divisor
        return least < size or least - divisor > -later_size

    def _later(self, value: Expression) -> Expression:
        """An expression in the later iteration."""
        return value.rewrite(self._prime)

    def _prime(self, atom: Atom) -> Expression | None:
        if not isinstance(atom, Symbol) or not self._loop.contains(atom.loop):
            return None
        if atom is self._loop.iteration:
            return as_expression(atom) + as_expression(self._distance)
        primed = self._primed.get(atom)
        if primed is None:
            primed = self._primed[atom] = Symbol(
                f"{atom.name}'", atom.rank, atom.loop, atom.low, atom.high, atom.is_pointer, atom.origin
            )
        return as_expression(primed)


def _symbols(monomial: tuple[Atom, ...]) -> set[Symbol]:
    return {s for atom in monomial for s in as_expression(atom).symbols()}


def _is_affine(value: Expression) -> bool:
    """Whether integer sets describe all of an expression."""
    return all(
        not monomial or (len(monomial) == 1 and isinstance(monomial[0], Symbol)) for monomial in value.terms
    )


def as_condition(value: Expression) -> str:
    """``value >= 0`` as people write it: ``n >= m + 1``."""
    common = gcd(value.content(), value.offset) or 1
    terms = {m: c // common for m, c in value.terms.items()}
    left = Expression({m: c for m, c in terms.items() if c > 0})
    right = Expression({m: -c for m, c in terms.items() if c < 0})
    return f"{left} >= {right}"
