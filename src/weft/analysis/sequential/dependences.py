"""Dependences that a loop carries: pairs of accesses that may touch the same byte in different iterations.

For two accesses of the same object, one of them a write, in iterations t and t + d with d ≥ 1, the distance D of
their addresses is an expression; they are independent if D never lies in (-size_b, size_a). All that may differ
between the two iterations has two symbols. The tests of `distance_tests` decide.

If no test proves it, the dependence is *certain* if the addresses agree in every iteration, else it is possible. The
distance is that d which integer sets leave. Where rows have a size, a symbol or a number (``a[i][j]`` of ``double
a[][1100]``, with j below n), that an index stays in its row is assumed if that is all that is missing; in arrays of
more dimensions, that each index stays below its dimension. What holds only where the loop runs once or not at all, or a
few times of many (``n <= 1`` of a loop up to n), is not assumed: no iterations are left then of which anything would be
said.

Accesses of different objects do not meet where the objects are certainly different. Where that cannot be told (two
pointer arguments of a C function), that they do not overlap is recorded as an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses, Opaque
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.distance_tests import DistanceTests, are_apart_modulo
from weft.analysis.sequential.invariants import is_apart
from weft.analysis.sequential.orders import Order
from weft.analysis.sequential.rows import Row, nested_rows, row_pitches, row_sizes, within_row
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression
from weft.analysis.symbolic.extent import bound_of
from weft.analysis.symbolic.facts import Facts
from weft.analysis.symbolic.integer_sets import has_isl, is_empty
from weft.ir import Instruction, Value

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
        Pairs that may meet; all of them if they are no more than were asked for.
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
        "_accesses", "_answers", "_conditions", "_direction", "_distance", "_facts", "_known", "_later_ones", "_loop",
        "_numbers", "_numbers_of_equal", "_order", "_primed", "_rows", "_tests", "_within",
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
        self._tests = DistanceTests(loop, self._distance)
        self._primed: dict[Symbol, Symbol] = {}
        self._numbers: dict[Facts, int] = {}
        self._numbers_of_equal: dict[tuple[Expression, ...], int] = {}
        self._facts: dict[tuple[int, int], Facts] = {}
        self._conditions: dict[tuple[int, int], frozenset[Expression]] = {}
        self._later_ones: dict[Expression, Expression] = {}
        self._answers: dict[object, list[tuple[frozenset[Expression], bool, int | None]]] = {}
        self._known: dict[object, tuple[bool, int | None]] = {}
        self._rows: dict[tuple[Access, Row], list[Assumption] | None] = {}

    def run(self, private: frozenset[Symbol], most: int = MAX_FOUND) -> Dependences:
        """All pairs of accesses in the loop, but those of objects of which each iteration has its own.

        No more are looked for once there are more than `most`: 0 where it is asked only whether there is any.
        """
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
                if len(found) > most:
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
        signs = tuple(f for f in row_sizes(write, other) if not write.facts.is_positive(as_expression(f)))
        for row in (None, *nested_rows(write, other), *row_pitches(write, other)):
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

    def _assumed(
        self, write: Access, other: Access, signs: tuple[Symbol, ...], row: Row | None
    ) -> list[Assumption]:
        """That sizes are positive, and that what is added to multiples of `row` stays below it; none if unknown."""
        found = [
            Assumption("sign", f"{symbol.name} is greater than 0", 0, as_expression(symbol) - 1)
            for symbol in signs
        ]
        if row is None:
            return found
        for access in (write, other):
            key = access, row
            if key not in self._rows:
                self._rows[key] = self._assumed_of_row(access, row)
            of_row = self._rows[key]
            if of_row is None:
                return []
            found += of_row
        return found

    def _assumed_of_row(self, access: Access, row: Row) -> list[Assumption] | None:
        """That what an access adds to multiples of `row` stays below it; None if that is unknown."""
        found: list[Assumption] = []
        for inequality in within_row(access, row):
            least = bound_of(inequality, lambda s: s.loop is not None, access.facts, upper=False)
            if least is None or (least.constant is not None and least.offset < 0):
                return None
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
        row: Row | None = None,
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
            self._number_of(first),
            self._number_of(second),
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
                assumed += within_row(first, row)
                assumed += [self._later(e) for e in within_row(second, row)]
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
        facts = self._facts_of(first, second)
        pair = self._number_of(first), self._number_of(second)
        conditions = self._conditions.get(pair)
        if conditions is None:
            conditions = self._conditions[pair] = frozenset(facts.inequalities)
        conditions = conditions.union(assumed)
        answers = self._answers.setdefault(what, [])
        for others, meets, distance in answers:
            if (others >= conditions and distance is None) if meets else others <= conditions:
                return meets, None
        found = self._solve(first, second, *what, assumed)
        answers.append((conditions, *found))
        return found

    def _number_of(self, access: Access) -> int:
        """A number for what holds when an access happens: many share it, and it is long to look up."""
        number = self._numbers.get(access.facts)
        if number is None:
            known = self._numbers_of_equal
            number = self._numbers[access.facts] = known.setdefault(access.facts.inequalities, len(known))
        return number

    def _solve(
        self,
        first: Access,
        second: Access,
        distance: Expression,
        size: Expression,
        later_size: Expression,
        known: list[Expression],
    ) -> tuple[bool, int | None]:
        if are_apart_modulo(distance, size, later_size):
            return False, None
        facts = self._facts_of(first, second)
        if known:
            facts = facts.also(known)
        return self._tests.meet(facts, distance, size, later_size)

    def _facts_of(self, first: Access, second: Access) -> Facts:
        """What holds when both happen; many accesses share it, and what was found to follow from it."""
        key = self._number_of(first), self._number_of(second)
        if key not in self._facts:
            later = map(self._later, second.facts.inequalities)
            self._facts[key] = Facts((*first.facts.inequalities, *later))
        return self._facts[key]

    def _later(self, value: Expression) -> Expression:
        """An expression in the later iteration."""
        later = self._later_ones.get(value)
        if later is None:
            later = self._later_ones[value] = value.rewrite(self._prime)
        return later

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


def as_condition(value: Expression) -> str:
    """``value >= 0`` as people write it: ``n >= m + 1``."""
    common = gcd(value.content(), value.offset) or 1
    terms = {m: c // common for m, c in value.terms.items()}
    left = Expression({m: c for m, c in terms.items() if c > 0})
    right = Expression({m: -c for m, c in terms.items() if c < 0})
    return f"{left} >= {right}"
