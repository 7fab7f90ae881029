"""Brute-force enumeration of the lock-step executions of two threads, as a judge of control divergence.

Derived from the semantics alone; it shares no code with the analysis. Two threads are enough: which of
several pending blocks runs next is decided by a fixed priority, so how two threads move relative to each
other does not depend on a third.

Semantics
---------
* A thread waits at an edge ``(from, to)``, or has finished. The edge of least priority runs next: every
  thread that waits at that edge's target with the same priority runs the target in this step, together.
* Priorities come from an order of the blocks in which all edges but back edges go up and the blocks of each
  natural loop are consecutive. A back edge ranks behind all blocks of its loop (and before everything
  behind the loop): loops have unique latches, if only virtual ones. Any such order will do for all but
  `Observations.apart`; by default a block of high number comes first, unlike in the order of the analysis.
* Threads that run a block together leave it over the same edge: every branch is uniform *per instance*,
  but for the given divergent blocks, which they may leave over any two edges. A thread that runs a block
  alone may leave it over any edge, so two threads apart choose freely.

What is observed
----------------
* A *join*: both run ``z`` together and came from different predecessors.
* A *stale value*: both enter ``z`` together and their latest runs of block ``d`` were not the same step, so
  what ``d`` defines differs, even if it is uniform at each step. For the header ``d`` of a loop and ``z``
  outside of it, entered from inside, this is temporal divergence of the loop: the header dominates the
  loop, so all of the loop's definitions are as old.
* *Partial activation*: one runs ``z`` alone, while the other waits or has finished.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

Succs = tuple[tuple[int, ...], ...]
Edge = tuple[int, int]
Preference = Callable[[int], int]
Rank = Callable[[int, int], int]

ENTERING = -1
FINISHED = (-1, -1)


@dataclass
class Observations:
    """All that can happen when given blocks diverge."""

    joins: set[tuple[int, frozenset[int]]] = field(default_factory=set)
    """``(z, {p, q})``: threads enter ``z`` together from ``p`` and ``q``."""
    stale: set[tuple[int, int, frozenset[int]]] = field(default_factory=set)
    """``(d, z, preds)``: threads enter ``z`` together from `preds` and ran ``d`` last in different steps."""
    alone: set[int] = field(default_factory=set)
    """Blocks that one thread runs alone."""
    apart: set[int] = field(default_factory=set)
    """Blocks that one thread runs alone while the other waits elsewhere, other than to return."""

    def temporal(self, loops: dict[int, set[int]]) -> set[tuple[int, int, frozenset[int]]]:
        """``(header, z, preds)``: threads meet in ``z`` from different iterations of a loop."""
        return {
            (header, block, preds)
            for header, block, preds in self.stale
            if block not in loops[header] and preds <= loops[header]
        }


def reach(succs: Succs, start: int, without: int = -1) -> set[int]:
    seen: set[int] = set()
    work = [start]
    while work:
        block = work.pop()
        if block != without and block not in seen:
            seen.add(block)
            work.extend(succs[block])
    return seen


def natural_loops(succs: Succs) -> dict[int, set[int]] | None:
    """The blocks of each loop by its header, or None if the graph is irreducible. All blocks are live."""
    size = len(succs)
    undominated = [reach(succs, 0, without=block) for block in range(size)]
    loops: dict[int, set[int]] = {}
    for source in range(size):
        for header in succs[source]:
            if source not in undominated[header]:
                body = {b for b in range(size) if source in reach(succs, b, without=header)}
                loops.setdefault(header, {header}).update((body - undominated[header]) | {source})
    forward = tuple(
        tuple(t for t in targets if not (t in loops and b in loops[t])) for b, targets in enumerate(succs)
    )
    cyclic = any(block in reach(forward, target) for block in range(size) for target in forward[block])
    return None if cyclic else loops


def high_numbers_first(block: int) -> int:
    return -block


def priorities(
    succs: Succs, loops: dict[int, set[int]], preference: Preference
) -> tuple[dict[int, int], dict[int, int]]:
    """Priority of each block, and of the back edges of each loop by its header.

    Where several blocks (or loops, by their header) may come next, the one of least `preference` does.
    """
    sequence: list[tuple[str, int]] = []

    def lay_out(region: set[int], header: int) -> None:
        inner = {h: body for h, body in loops.items() if h in region and h != header}
        outermost = {
            h: body for h, body in inner.items() if not any(h in o for k, o in inner.items() if k != h)
        }
        unit_of = {block: block for block in region} | {b: h for h, body in outermost.items() for b in body}
        before: dict[int, set[int]] = {unit: set() for unit in unit_of.values()}
        for block in region:
            for target in succs[block]:
                if target in region and target != header and unit_of[target] != unit_of[block]:
                    before[unit_of[target]].add(unit_of[block])
        placed: set[int] = set()
        while len(placed) < len(before):
            ready = (u for u, needed in before.items() if u not in placed and needed <= placed)
            unit = min(ready, key=preference)
            placed.add(unit)
            if unit in outermost:
                lay_out(outermost[unit], unit)
                sequence.append(("latch", unit))
            else:
                sequence.append(("block", unit))

    lay_out(set(range(len(succs))), -1)
    ranked = {item: rank for rank, item in enumerate(sequence)}
    return (
        {block: rank for (kind, block), rank in ranked.items() if kind == "block"},
        {block: rank for (kind, block), rank in ranked.items() if kind == "latch"},
    )


def ranking(succs: Succs, loops: dict[int, set[int]], preference: Preference = high_numbers_first) -> Rank:
    """The priority of each edge."""
    block_rank, latch_rank = priorities(succs, loops, preference)

    def rank(source: int, target: int) -> int:
        return latch_rank[target] if source in loops.get(target, ()) else block_rank[target]

    return rank


State = tuple[Edge, Edge, frozenset[int]]
"""Where each thread waits, and the tracked blocks whose latest runs by the two were different steps."""


def observe(
    succs: Succs,
    divergent: Collection[int],
    rank: Rank,
    tracked: Collection[int],
    returning: Collection[int] = (),
) -> Observations:
    """Explore all executions in which only the branches of the blocks `divergent` are not uniform.

    `tracked` are the blocks whose values are watched for staleness; who waits at a block `returning` only returns.
    """
    seen = Observations()

    def priority(edge: Edge) -> tuple[int, int]:
        # Back edges to different entries of an irreducible loop have one rank.
        return (1 << 30 if edge == FINISHED else rank(*edge), edge[1])

    def out_edges(block: int) -> list[Edge]:
        return [(block, target) for target in succs[block]] or [FINISHED]

    def step(state: State) -> Iterator[State]:
        first, second, stale = state
        if priority(first) > priority(second):
            first, second = second, first
        block = first[1]
        if priority(first) != priority(second):
            seen.alone.add(block)
            if second != FINISHED and second[1] not in returning:
                seen.apart.add(block)
            if block in tracked:
                stale |= {block}
            for edge in out_edges(block):
                yield edge, second, stale
            return
        preds = frozenset((first[0], second[0]))
        if len(preds) > 1:
            seen.joins.add((block, preds))
        seen.stale.update((older, block, preds) for older in stale)
        stale -= {block}
        for edge in out_edges(block):
            for other in out_edges(block) if block in divergent else [edge]:
                yield edge, other, stale

    start: State = ((ENTERING, 0), (ENTERING, 0), frozenset())
    known = {start}
    work = [start]
    while work:
        state = work.pop()
        if state[0] == state[1] == FINISHED:
            continue
        for following in step(state):
            if following not in known:
                known.add(following)
                work.append(following)
    return seen
