"""Parallel loops in parallel loops: which of them lanes run along, and whether both are cut into pieces.

Lanes run along the loop whose iterations touch neighbouring elements: of the loops over `prange` inside of each other
that for which most accesses of the innermost are near from one iteration to the next, and of those that have as many
near, the one with fewest of them apart: one element for all lanes, or neighbours, take no shuffles. Where most are far
along either, lanes run along the outer one, and need not combine what they sum up. If that is an inner
loop, its iterations fill the lanes, and those of the outermost are for the threads. Both ranges are cut into *tiles*,
so that a short outer loop occupies all threads, where the nest is rectangular, has no loop in between that runs in
order, and nothing beside the inner loop but computation without memory: a tile does it again for its part of the inner
range.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf

from msgspec import Struct

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.analysis.memory.alias import Location
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, GlobalVariable, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_speculatable
from weft.ir.heap import heap_call
from weft.ir.layout import DataLayout

NEAR = 8
"""Strides up to so many elements are wide accesses and shuffles, not gathers."""

POINTS, SHUFFLED = 64, 1
"""What an access counts that is near, and less if it is far, as a gather is; and what is taken off for shuffles: lanes
that read one element, or neighbours, need none."""

WINDOW = 1
"""What is added for a window that moves with lanes: it is short, so that lanes along it would be idle."""

FEW = 8
"""So many iterations, known when compiling, do not fill lanes."""


class ParallelNest(Struct, frozen=True):
    """A parallel loop with another one inside, along which lanes run.

    Parameters
    ----------
    inner
        That loop.
    tiled
        Whether any part of its range may be run for any part of the outer loop's.
    even
        Whether it adds up what lanes along the outermost loop have as near, all of it.
    """

    inner: ParallelLoop
    tiled: bool
    even: bool = False


def parallel_nest(
    function: Function,
    view: CFGView,
    loop: Loop,
    outer: ParallelLoop,
    layout: DataLayout,
    *,
    promised: bool,
    few: int = 0,
) -> ParallelNest | None:
    """The inner loop that lanes should run along; None when that is the outermost.

    Parameters
    ----------
    loop, outer
        The outermost parallel loop.
    promised
        Whether the user says that accesses do not meet across iterations.
    few
        Loops that combine values are not taken if they always have fewer iterations.
    """
    loops = loop_forest(view.cfg).loops
    inside = [other for other in loops if other.header != loop.header and loop.contains(other)]
    chain = [other for other in inside if _is_promised(view, other)]
    if not chain or any(not a.contains(b) and not b.contains(a) for a in chain for b in chain):
        return None
    innermost = min(chain, key=lambda other: len(other.blocks))
    accesses = [
        (linear_location(i.pointer, layout), layout.store_size(i.accessed_type))
        for block in innermost.blocks
        for i in view.blocks[block].instructions
        if i.op in ("load", "store")
    ]
    best, most = None, _nearness(accesses, outer)
    counted = [place for place, _ in accesses if not _is_at_hand(place.base)]
    all_near = most >= (POINTS - SHUFFLED) * len(counted)
    free: list[Loop] = []
    for candidate in sorted(chain, key=lambda other: -len(other.blocks)):
        inner = parallel_loop(function, view, candidate, layout, promised=promised, reassociate=True)
        if isinstance(inner, Obstacle):
            continue
        # A loop between the two that runs in order may hand on what other tiles compute.
        between = [x for x in inside if x.contains(candidate) and x.header != candidate.header]
        ordered = any(all(x.header != known.header for known in free) for x in between)
        free.append(candidate)
        if _is_short(inner.loop, view) or (inner.reductions and _most_iterations(inner.loop, view) < few):
            continue
        if any(heap_call(i) for block in inner.loop.blocks for i in block.instructions):
            continue
        if _counts_on(outer, inner):
            continue
        found = _nearness(accesses, inner)
        # Of gathers along either loop, those along the outer one need no sums over lanes; nor does a loop over windows
        # beside those along one.
        around = outer if best is None else best.inner
        sums = bool(inner.reductions) and not around.reductions
        if best is None:
            sums = sums and _slides(accesses, outer, inner)
        if _leaves_deeper(inside, [candidate]):
            continue
        if found > most or (found == most >= 0 and not sums):
            tiled = not ordered and _is_rectangular(outer, inner)
            even = bool(inner.reductions) and not outer.reductions and all_near and found == most
            best, most = ParallelNest(inner, tiled, even), found
    return best


def lane_loops(
    function: Function, view: CFGView, loop: Loop, outer: ParallelLoop, layout: DataLayout, few: int = 0
) -> tuple[ParallelLoop, ...]:
    """The loops of a nest that lanes should run along where there are several beside each other, or the outermost.

    Of a loop and the parallel ones in it those are taken whose iterations touch neighbouring elements more often. Loops
    that combine values run in order where they have fewer iterations than `few`: those that always do are not taken.
    """
    loops = loop_forest(view.cfg).loops
    inside = [other for other in loops if other.header != loop.header and loop.contains(other)]
    promised = [other for other in inside if _is_promised(view, other)]
    direct = [x for x in promised if not any(y.contains(x) and y.header != x.header for y in promised)]
    found: list[ParallelLoop] = []
    near = 0
    for candidate in direct:
        inner = parallel_loop(function, view, candidate, layout, promised=True, reassociate=True)
        if isinstance(inner, Obstacle) or _counts_on(outer, inner):
            continue
        if _is_short(inner.loop, view) and not (
            _is_half(inner.loop) and _stores_to_arrays(inner.loop, layout)
        ):
            continue
        if inner.reductions and _most_iterations(inner.loop, view) < few:
            continue
        for each in lane_loops(function, view, candidate, inner, layout, few):
            near += _nearness(_accesses_in(view, each.loop.blocks, layout), each)
            found.append(each)
    blocks = tuple(view.blocks[b] for b in loop.blocks)
    headers = {each.loop.header for each in found}
    if _leaves_deeper(inside, [other for other in inside if view.blocks[other.header] in headers]):
        return (outer,)
    return tuple(found) if found and near > _nearness(_accesses_in(view, blocks, layout), outer) else (outer,)


def _accesses_in(
    view: CFGView, blocks: tuple[BasicBlock, ...], layout: DataLayout
) -> list[tuple[Location, int]]:
    return [
        (linear_location(i.pointer, layout), layout.store_size(i.accessed_type))
        for block in blocks
        for i in block.instructions
        if i.op in ("load", "store")
    ]


def _leaves_deeper(inside: list[Loop], lanes: list[Loop]) -> bool:
    """Whether a loop of a nest would run in order that is deeper in it than what lanes run along.

    There the time goes, and lanes along the outermost loop are all that there is for it: a table of an alignment, of
    which the first row alone is a loop whose iterations are independent.
    """
    covered = [other.depth for other in inside if any(each.contains(other) for each in lanes)]
    left = [
        other.depth
        for other in inside
        if not any(each.contains(other) or other.contains(each) for each in lanes)
    ]
    return bool(covered) and max(left, default=0) > max(covered)


def _counts_on(outer: ParallelLoop, inner: ParallelLoop) -> bool:
    """Whether the inner loop counts up a value that the outer one carries."""
    carried = {reduction.phi for reduction in outer.reductions}
    inside = set(outer.loop.blocks)
    return any(depends_on([counter.start], carried, inside) for counter in inner.counters)


def _is_promised(view: CFGView, loop: Loop) -> bool:
    blocks = tuple(view.blocks[b] for b in loop.blocks)
    return loop_promises(view.blocks[loop.latches[0]], blocks).parallel


def nearness_of(view: CFGView, parallel: ParallelLoop, layout: DataLayout) -> int:
    """How many accesses of a loop are near from one iteration to the next, less those that are far, in points."""
    return _nearness(_accesses_in(view, parallel.loop.blocks, layout), parallel)


def is_near_throughout(view: CFGView, parallel: ParallelLoop, layout: DataLayout) -> bool:
    """Whether no access of a loop is far from one iteration to the next."""
    accesses = _accesses_in(view, parallel.loop.blocks, layout)
    counted = [place for place, _ in accesses if not _is_at_hand(place.base)]
    return _nearness(accesses, parallel) >= (POINTS - SHUFFLED) * len(counted)


def _nearness(accesses: list[tuple[Location, int]], parallel: ParallelLoop) -> int:
    """How many of the accesses are near from one iteration to the next, less those that are far, in points."""
    counters = {counter.phi: counter.step for counter in parallel.counters}
    inside = set(parallel.loop.blocks)
    score = 0
    for location, size in accesses:
        if _is_at_hand(location.base):
            continue
        step, others = 0, False
        for value, scale in location.terms.items():
            source = value.operands[0] if isinstance(value, Instruction) and value.op == "zext" else value
            if isinstance(source, Instruction) and source in counters:
                step += scale * counters[source]
            elif (moved := _moved_window(source, counters, inside)) is not None:
                step += scale * moved
                score += WINDOW
            else:
                others |= depends_on([value], counters, inside)
        near = not others and abs(step) <= NEAR * size and not depends_on([location.base], counters, inside)
        score += POINTS if near else -POINTS
        score -= SHUFFLED if near and abs(step) > size else 0
    return score


def _slides(accesses: list[tuple[Location, int]], outer: ParallelLoop, inner: ParallelLoop) -> bool:
    """Whether a window that the inner loop goes through moves with the outer one, along which lanes share it."""
    return any(
        _moves_along(outer, place, size) and _moves_along(inner, place, size) for place, size in accesses
    )


def _moves_along(parallel: ParallelLoop, place: Location, size: int) -> bool:
    """Whether a place, whatever else it moves with, is one element further on in the next iteration."""
    return any(place.terms.get(counter.phi, 0) * counter.step == size for counter in parallel.counters)


def _moved_window(
    value: Value, counters: Mapping[Instruction, int], inside: Collection[BasicBlock]
) -> int | None:
    """By how much a window moves with a loop whose counters these are, None where a value counts through none.

    A window is what ``for u in range(max(x - r, 0), min(x + r, n) + 1)`` counts through.
    """
    if not (isinstance(value, Instruction) and value.is_phi and value.block in inside):
        return None
    steps = [v for v in value.operands if isinstance(v, Instruction) and value in v.operands]
    starts = [v for v in value.operands if v not in steps]
    tests = [u for v in (value, *steps) for u in v.instruction_users() if u.op == "icmp"]
    ends = [v for t in tests for v in t.operands if v is not value and v not in steps]
    if len(starts) != 1 or not any(_clamped(end, counters, inside) is not None for end in ends):
        return None
    return _clamped(starts[0], counters, inside)


def _clamped(
    value: Value, counters: Mapping[Instruction, int], inside: Collection[BasicBlock], limits: int = 0
) -> int | None:
    """By how much a counter, to which something may be added, moves that is then kept in limits."""
    if not isinstance(value, Instruction):
        return None
    if value in counters:
        return counters[value] if limits else None
    is_limit = (value.callee_name or "").startswith(("llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin."))
    if not is_limit and value.op not in ("add", "sub", "sext", "zext", "trunc"):
        return None
    moving = [v for v in value.operands if depends_on([v], counters, inside)]
    if len(moving) != 1 or (value.op == "sub" and moving[0] is not value.operands[0]):
        return None
    return _clamped(moving[0], counters, inside, limits + is_limit)


def _is_at_hand(base: Value) -> bool:
    """Whether what is accessed is small, wherever in it: the iteration's own object, or a table of constants."""
    if isinstance(base, Instruction):
        return base.op == "alloca"
    return isinstance(base, GlobalVariable) and base.is_constant


def depends_on(values: Iterable[Value], sources: Collection[Value], inside: Collection[BasicBlock]) -> bool:
    """Whether one of some values, as far as they are computed in a loop, depends on one of the sources."""
    seen: set[Value] = set()
    work = list(values)
    while work:
        found = work.pop()
        if found in sources:
            return True
        if isinstance(found, Instruction) and found.block in inside and found not in seen:
            seen.add(found)
            work += found.operands
    return False


def _is_short(loop: CountedLoop, view: CFGView) -> bool:
    """Whether a loop up to a known number has few iterations, wherever it begins."""
    start, bound, function = loop.counter.start, loop.bound, loop.header.function
    if not isinstance(bound, ConstInt):
        return False
    if isinstance(start, ConstInt):
        return abs(bound.signed - start.signed) < FEW * abs(loop.counter.step)
    first = ranges_of(function, view).at(start, loop.preheader) if function is not None else None
    return first is not None and 0 <= bound.signed - first.lo < FEW * loop.counter.step


def _most_iterations(loop: CountedLoop, view: CFGView) -> float:
    """How many iterations a loop has at most whose bound is computed, as along the rows of a triangle."""
    start, bound, step = loop.counter.start, loop.bound, loop.counter.step
    function = loop.header.function
    if (
        isinstance(bound, ConstInt)
        or step < 1
        or function is None
        or loop.predicate not in ("slt", "ult", "ne")
    ):
        return inf
    ranges = ranges_of(function, view)
    first, last = ranges.at(start, loop.preheader), ranges.at(bound, loop.preheader)
    if first is None or last is None or first.lo < 0:
        return inf
    return max(0, last.hi - first.lo) / step


def _is_half(loop: CountedLoop) -> bool:
    """Whether a short loop has half as many iterations: beside lanes along others, which gather, they pay."""
    start, bound, step = loop.counter.start, loop.bound, loop.counter.step
    if not isinstance(start, ConstInt) or not isinstance(bound, ConstInt):
        return False
    return bound.signed - start.signed == FEW // 2 * step


def _stores_to_arrays(loop: CountedLoop, layout: DataLayout) -> bool:
    """Whether a loop stores to more than what each iteration around it has of its own, side by side in lanes."""
    stores = (i for block in loop.blocks for i in block.instructions if i.op == "store")
    return any(not _is_at_hand(linear_location(i.pointer, layout).base) for i in stores)


def _is_rectangular(outer: ParallelLoop, inner: ParallelLoop) -> bool:
    around = set(outer.loop.blocks)
    if any(
        isinstance(v, Instruction) and v.block in around for v in (inner.loop.counter.start, inner.loop.bound)
    ):
        return False
    own = set(inner.loop.blocks)
    beside = [i for block in outer.loop.blocks if block not in own for i in block.instructions]
    if not all(i.is_phi or i.is_terminator or is_speculatable(i) for i in beside):
        return False
    return len(outer.reductions) == len(inner.reductions) and all(
        _goes_through(reduction.phi, reduction.update, inner) for reduction in outer.reductions
    )


def _goes_through(phi: Instruction, update: Value, inner: ParallelLoop) -> bool:
    """Whether the inner loop is all that happens to a value that the outer one carries."""
    while isinstance(update, Instruction) and update.is_phi and update.block not in inner.loop.blocks:
        if len(set(update.operands)) != 1:
            return False
        update = update.operands[0]
    return any(r.start is phi and update in (r.phi, r.update) for r in inner.reductions)
