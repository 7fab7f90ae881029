"""The one iteration of a loop that others depend on, without which they are independent (index-set splitting).

In ``for j: p[i, j] = min(p[i, j], p[i, k] + p[k, j])`` all iterations read ``p[i, k]``, which iteration k writes. Those
before it are independent of each other, and so are those behind it.

Candidates come from the pairs of accesses that may meet: where one moves with the loop and the other one does not, the
iteration in which they touch the same element is a quotient of their offsets. A candidate is one of the loop's
iterations for certain, and the dependence tests say that no pair is left on either side of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.dependences import FEW_ITERATIONS, DependenceTest
from weft.analysis.sequential.run_time_tests import is_known_before
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.verdicts import LoopVerdict, Verdict, loop_verdict
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.ir import ConstInt, Instruction, Value

MOST_CANDIDATES = 3
"""So many iterations of a loop are tried."""


class SplittingPoint(Struct, frozen=True):
    """Where a loop falls into iterations before, one, and iterations behind.

    Parameters
    ----------
    loop
        How it counts.
    value, offset
        What the counter is in that iteration: the sum of both; of the offset alone where there is no value.
    """

    loop: CountedLoop
    value: Value | None
    offset: int


def splitting_point(accesses: Accesses, loop: LoopContext) -> SplittingPoint | None:
    """The iteration of a loop without which no dependence is left; None where there is no such one."""
    counted, made = loop.counted, accesses.reconstruction
    if isinstance(counted, str) or list(counted.header.phis()) != [counted.counter.phi]:
        return None
    tried = list(dict.fromkeys(_meeting_iterations(accesses, loop)))[:MOST_CANDIDATES]
    trips = made.trip_count(loop) if tried else None
    if trips is None or (trips.constant is not None and trips.constant < FEW_ITERATIONS):
        return None
    before = counted.preheader
    # That it is one of them must not rest on anything that would have to be tested.
    if accesses.assumed_by(loop.scope, [counted.counter.start, counted.bound], before):
        return None
    facts = accesses.ranges.complete(made.facts(loop.scope, before), [trips])
    inside = [c for c in tried if facts.is_nonnegative(c) and facts.is_nonnegative(trips - c - 1)]
    points = [(c, _as_value(accesses, loop, counted, c)) for c in inside]
    if all(point is None for _, point in points):
        return None
    verdict = loop_verdict(accesses, loop)
    if verdict.verdict is not Verdict.SEQUENTIAL or verdict.dependences is None:
        return None
    if not verdict.dependences.found or not verdict.dependences.is_complete:
        return None
    for chosen, point in points:
        if point is not None and _is_split_by(accesses, loop, verdict, chosen):
            return point
    return None


def _meeting_iterations(accesses: Accesses, loop: LoopContext) -> Iterator[Expression]:
    """Iterations in which an access that moves with the loop meets one that does not."""
    plain = [a for a in accesses.of(loop) if isinstance(a, Access) and a.base is not None]
    moving = [a for a in plain if loop.iteration in a.offset.symbols()]
    still = [a for a in plain if loop.iteration not in a.offset.symbols()]
    for one in moving:
        for other in still:
            if one.base is not other.base or not (one.is_write or other.is_write):
                continue
            parts = one.offset.coefficients(loop.iteration)
            quotient = _quotient(other.offset - parts[0], parts[1], loop) if len(parts) == 2 else None
            if quotient is not None:
                yield quotient


def _quotient(distance: Expression, stride: Expression, loop: LoopContext) -> Expression | None:
    """The part of a distance that is a multiple of the loop's stride, divided by it."""
    if len(stride.terms) != 1:
        return None
    ((factor, number),) = stride.terms.items()
    terms: dict[tuple[object, ...], int] = {}
    for monomial, coefficient in distance.terms.items():
        rest = list(monomial)
        if coefficient % number or any(atom not in rest for atom in factor):
            continue
        for atom in factor:
            rest.remove(atom)
        terms[tuple(rest)] = coefficient // number
    # A part of a monomial is one: what was taken out of it leaves its atoms in their order.
    found = Expression(terms)  # type: ignore[arg-type]
    return None if any(loop.contains(s.loop) for s in found.symbols()) else found


def _as_value(
    accesses: Accesses, loop: LoopContext, counted: CountedLoop, chosen: Expression
) -> SplittingPoint | None:
    """What the counter is in an iteration: a number, or a value of its type that is known before, moved by a number."""
    made, counter = accesses.reconstruction, counted.counter
    here = made.at(loop.scope, counter.start, counted.preheader) + chosen * counter.step
    if here.constant is not None:
        return SplittingPoint(counted, None, here.constant)
    for symbol in here.symbols():
        origin = symbol.origin
        if isinstance(origin, LoopContext) and not isinstance(origin.counted, str):
            origin = origin.counted.counter.phi
        if not isinstance(origin, Value) or origin.type != counter.type or isinstance(origin, ConstInt):
            continue
        if not is_known_before(accesses, symbol, loop):
            continue
        if isinstance(origin, Instruction) and accesses.assumed_by(loop.scope, [origin], counted.preheader):
            continue
        moved = (here - made.at(loop.scope, origin, counted.preheader)).constant
        if moved is not None:
            return SplittingPoint(counted, origin, moved)
    return None


def _is_split_by(accesses: Accesses, loop: LoopContext, verdict: LoopVerdict, chosen: Expression) -> bool:
    """Whether no two iterations before the chosen one meet, and no two behind it."""
    now = as_expression(loop.iteration)
    for side in (chosen - 1 - now, now - chosen - 1):
        left = DependenceTest(accesses, loop, within=(side,)).run(verdict.private, 0)
        if left.found or left.opaque or not left.is_complete:
            return False
    return True
