"""Loops over time, done in waves (``parallel="auto"``, ``--loop auto``).

In ``for t: (for i: for j: b[i, j] = f(a);  for i: for j: a[i, j] = f(b))`` each step goes over all of the arrays. If
they are more than a cache holds, several steps go over them together, each some rows behind the one before it: a row
stays in the cache for all of them. Where rows depend on each other, as in Gauss and Seidel's method, steps that are far
enough behind each other are independent: lanes run along time.

How far behind is the least number by which no dependence turns around, as integer sets prove it of all pairs of
accesses. Each element is computed from the same values as before, so results are the same to the last bit. What the
proof rests on is tested before the loop; where a test fails a copy of it runs as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.dependences import DependenceTest
from weft.analysis.sequential.orders import Waves
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, is_known_before, run_time_tests
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import Verdict, loop_verdict, private_objects
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.analysis.symbolic.integer_sets import has_isl
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.skew import TimeNest, skew, skewable
from weft.transform.loops.version_loop import version_loop

CACHE = 1 << 19
"""Bytes of the rows that are in use together: a part of the second-level cache."""

SHARED_CACHE = 1 << 22
"""Bytes of rows that are in use together where they are too long for that: a part of the last-level cache."""

LARGE = 1 << 20
"""Bytes of arrays from which on steps go over them together; fewer stay in the second-level cache anyway."""

LENGTH = 8
"""Steps that go together where it is not known how long rows are."""

LEAST_LENGTH = 4
"""With fewer, a row is not used often enough while it is in the cache."""

MOST_LENGTH = 16

MOST_SLOPE = 4
MOST_SHIFT = 2
MOST_PARTS = 6

MOST_SKEWS = 4
"""Loops of one function."""


class Skewed(Struct, frozen=True):
    """A loop that is done in waves.

    Parameters
    ----------
    strips
        The header of its outermost loop now.
    time
        The header of the loop over steps in a wave.
    length, slope
        Steps of a strip, and how far each is behind the one before it.
    at_once
        Whether the steps in a wave are independent of each other.
    assumptions
        What is tested.
    """

    strips: BasicBlock
    time: BasicBlock
    length: int
    slope: int
    at_once: bool
    assumptions: tuple[Assumption, ...]


class _Plan(Struct, frozen=True):
    waves: Waves
    shifts: tuple[int, ...]
    assumptions: dict[Assumption, None]


def skew_over_time(
    module: Module,
    function: Function,
    arrays: tuple[ArrayParameters, ...],
    *,
    lanes: int,
    all_cores: bool,
) -> tuple[list[Skewed], set[BasicBlock]]:
    """Do loops over time in waves where that pays; and the headers of copies that run where a test fails.

    Parameters
    ----------
    lanes
        Steps of a strip where lanes run along time.
    all_cores
        Whether all cores share rows that are independent of each other: these stay as they are.
    """
    made: list[Skewed] = []
    spare: set[BasicBlock] = set()
    while has_isl() and len(made) < MOST_SKEWS:
        scope = Scope(Program(module, arrays=arrays), function)
        if all(loop.depth < 3 for loop in scope.loops.values()):
            break
        accesses = Accesses(Reconstruction(scope.program))
        seen = {s.strips for s in made} | spare
        found: Skewed | None = None
        for loop in scope.loops.values():
            if loop.parent is None and loop.header not in seen and _is_over_time(accesses, loop):
                found = _skewed(function, accesses, loop, spare, lanes, all_cores)
                if found is not None:
                    break
        if found is None:
            break
        made.append(found)
    return made, spare


def _is_over_time(accesses: Accesses, loop: LoopContext) -> bool:
    """Whether each iteration of a loop writes the same elements as the one before, and is known to run twice."""
    known = accesses.of(loop)
    plain = [a for a in known if isinstance(a, Access)]
    if len(plain) < len(known) or not any(a.is_write for a in plain):
        return False
    if any(a.base is None or loop.contains(a.base.loop) for a in plain):
        return False
    if any(loop.iteration in a.offset.symbols() for a in plain if a.is_write):
        return False
    trips = accesses.reconstruction.trip_count(loop)
    return trips is not None and (trips.constant is None or trips.constant >= LEAST_LENGTH)


def _skewed(
    function: Function,
    accesses: Accesses,
    loop: LoopContext,
    spare: set[BasicBlock],
    lanes: int,
    all_cores: bool,
) -> Skewed | None:
    nest = skewable(loop.scope.view, loop.loop)
    if nest is None or len(nest.parts) > MOST_PARTS or private_objects(accesses, loop):
        return None
    headed = {c.header: c for c in loop.scope.loops.values()}
    parts = [headed[rows.part.header] for rows in nest.parts]
    inside = [c for p in parts for c in loop.scope.loops.values() if p.contains(c)]
    in_order = not any(
        loop_verdict(accesses, c).verdict in (Verdict.PARALLEL, Verdict.REDUCTION) for c in inside
    )
    if not in_order and (all_cores or not _is_large(accesses, loop, parts)):
        return None
    places = _places(accesses, nest, parts)
    if places is None:
        return None
    plan = _least_waves(accesses, loop, parts, places, strict=in_order, length=lanes)
    if plan is None:
        return None
    if not in_order:
        length = _length(accesses, parts, plan)
        if length < LEAST_LENGTH:
            return None
        plan = replace(plan, waves=replace(plan.waves, length=length))
    made = accesses.reconstruction
    if any(made.trip_count(c) is None for c in (loop, *parts)):
        return None
    assumed = plan.assumptions
    for each in (loop, *inside):
        assumed.update(dict.fromkeys(accesses.assumed_by(each.scope, [], each.header)))
    for access in accesses.of(loop):
        assumed.update(dict.fromkeys(accesses.assumptions(access)))
    tests = run_time_tests(accesses, loop, assumed, parameters_of(accesses, loop, frozenset()))
    if isinstance(tests, str) or not _stays_small(accesses, loop, nest, plan, tests):
        return None
    if not tests.is_empty:
        copies = version_loop(
            function, loop.scope.view, loop.loop, lambda b: build_tests(b, made, tests, loop)
        )
        spare.add(copies[loop.header])
    waves = plan.waves
    strips = skew(function, _nest_again(function, loop.header), waves.length, waves.slope, plan.shifts)
    close_loops(function)
    return Skewed(strips, loop.header, waves.length, waves.slope, in_order, tuple(assumed))


def _nest_again(function: Function, header: BasicBlock) -> TimeNest:
    """The nest in the function as it is now."""
    view = cfg_of(function)
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    assert loop is not None
    nest = skewable(view, loop)
    assert nest is not None, "a copy stands beside it, and nothing else has changed"
    return nest


def _places(accesses: Accesses, nest: TimeNest, parts: list[LoopContext]) -> list[Expression] | None:
    """The rows of parts."""
    made, scope = accesses.reconstruction, parts[0].scope
    only = made.at(scope, nest.first.counter.start, nest.time.preheader)
    places: list[Expression] = []
    for rows, part in zip(nest.parts, parts, strict=True):
        if rows.loop is None:
            places.append(only)
            continue
        start = made.at(scope, rows.loop.counter.start, nest.time.preheader)
        places.append(start + as_expression(part.iteration))
    return places


def _least_waves(
    accesses: Accesses,
    loop: LoopContext,
    parts: list[LoopContext],
    places: list[Expression],
    *,
    strict: bool,
    length: int,
) -> _Plan | None:
    """The least shifts and the least slope for which no dependence turns around."""
    shifts = [0]
    assumptions: dict[Assumption, None] = {}

    def waves_of(slope: int, upto: int, steps: int, *, strict: bool = False) -> Waves:
        shifted = (p + s for p, s in zip(places[:upto], shifts, strict=True))
        return Waves(tuple(zip(parts[:upto], shifted, strict=True)), slope, steps, strict)

    def holds(waves: Waves) -> bool:
        found = DependenceTest(accesses, loop, order=waves).run(frozenset(), 0)
        if found.found or found.opaque or not found.is_complete:
            return False
        assumptions.update(dict.fromkeys(found.assumptions))
        return True

    for k in range(1, len(parts)):
        shifts.append(shifts[-1])
        # Of one step only, and of the parts so far.
        while not holds(waves_of(0, k + 1, 1)):
            shifts[-1] += 1
            if shifts[-1] > shifts[-2] + MOST_SHIFT:
                return None
    for slope in range(1, MOST_SLOPE + 1):
        waves = waves_of(slope, len(parts), length)
        if holds(waves) and (not strict or holds(replace(waves, strict=True))):
            return _Plan(waves, tuple(shifts), assumptions)
    return None


def _bytes_of_rows(accesses: Accesses, parts: Iterable[LoopContext]) -> int | None:
    """How many bytes a row of each array has that rows are chosen of; None where that is not known."""
    pitches: dict[object, int] = {}
    for part in parts:
        for access in accesses.of(part):
            assert isinstance(access, Access)
            step = access.offset.coefficients(part.iteration)
            if len(step) == 1:
                continue
            if len(step) > 2 or step[1].constant is None:
                return None
            pitches[access.base] = max(pitches.get(access.base, 0), abs(step[1].constant))
    return sum(pitches.values())


def _is_large(accesses: Accesses, loop: LoopContext, parts: list[LoopContext]) -> bool:
    """Whether what a step goes over may be more than the cache holds."""
    row = _bytes_of_rows(accesses, parts)
    trips = [accesses.reconstruction.trip_count(p) for p in parts]
    counts = [t.constant for t in trips if t is not None]
    if row is None or any(c is None for c in counts):
        return True
    return row * max(c for c in counts if c is not None) >= LARGE


def _length(accesses: Accesses, parts: list[LoopContext], plan: _Plan) -> int:
    """How many steps go together, so that the rows that they use stay in the cache."""
    row = _bytes_of_rows(accesses, parts)
    if row is None:
        return LENGTH
    beside = plan.shifts[-1] + 2
    length = (CACHE // max(1, row) - beside) // plan.waves.slope
    if length < LEAST_LENGTH and (LEAST_LENGTH * plan.waves.slope + beside) * row <= SHARED_CACHE:
        return LEAST_LENGTH
    return min(MOST_LENGTH, length)


def _stays_small(
    accesses: Accesses, loop: LoopContext, nest: TimeNest, plan: _Plan, tests: RunTimeTests
) -> bool:
    """Test that the numbers of waves do not wrap around; false where that cannot be tested."""
    made, scope = accesses.reconstruction, loop.scope
    most = (1 << (nest.time.counter.type.bits - 1)) - 1
    room = plan.waves.slope * plan.waves.length + plan.shifts[-1] + 1
    ends = [(nest.time.counter.start, nest.time.bound)]
    ends += [(p.loop.counter.start, p.loop.bound) for p in nest.parts if p.loop is not None]
    asked: dict[Expression, None] = {}
    for start, bound in ends:
        low, high = (made.at(scope, v, nest.time.preheader) for v in (start, bound))
        asked |= {low + (most // 2): None, high * -1 + (most // 2 - room): None, high + (most // 2): None}
        asked |= {low * -1 + (most // 2 - room): None}
    left = [e for e in asked if e.constant is None or e.constant < 0]
    if not all(is_known_before(accesses, s, loop) for e in left for s in e.symbols()):
        return False
    tests.nonnegative.update(dict.fromkeys(left))
    return True
