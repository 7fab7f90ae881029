"""Which part of a loop is to run in lanes, and which in order, where a loop runs in strips.

Iterations that hand something on keep a loop in order, and all that stands beside it. In strips what runs in order has
a loop, and what lanes can run another one (`weft.transform.loops.run_in_strips`); what one hands to the other is in
arrays. What is legal is said by the dependence graph (`weft.analysis.loops.loop_parts`), what pays by
`weft.costs.loop_parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.loop_parts import Assignment, Component, LoopBody, assign, last_place
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.lock_step import keeps_in_step, pairs_of_one_iteration
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.costs.loop_parts import cycles_in_order, cycles_in_parts
from weft.graph.cfg import reverse_postorder
from weft.ir import Instruction
from weft.ir.cfg_view import CFGView
from weft.machine.targets import Isa

LEAST_GAIN = 1.2
"""So many times as fast the parts have to be: the model is coarse. Guess."""

MOST_PARTS = 5

Pairs = Collection[tuple[Instruction, Instruction]]


class StripPart(Struct, frozen=True):
    """One of the loops that run one behind the other.

    Parameters
    ----------
    nodes
        What of the dependence graph it has.
    in_lanes
        Whether its iterations may run in lock step; in order where not.
    """

    nodes: tuple[Instruction, ...]
    in_lanes: bool


class Strips(Struct, frozen=True):
    """How a loop runs in strips.

    Parameters
    ----------
    parts
        Its loops, in order.
    combined, before, again
        What its graph is built from, as in `LoopBody`.
    """

    parts: tuple[StripPart, ...]
    combined: Collection[Instruction]
    before: Pairs
    again: Pairs

    def body(self, view: CFGView, loop: CountedLoop) -> LoopBody:
        """The graph of the loop in the function as it is now."""
        body = LoopBody(view, loop, self.combined, self.before, self.again)
        built = body.build()
        assert built, "a loop that has a graph keeps it"
        return body


def strips_of(
    accesses: Accesses,
    loop: LoopContext,
    verdict: LoopVerdict,
    is_combined: Callable[[Instruction], bool],
    isa: Isa,
    *,
    vector_math: bool,
) -> Strips | None:
    """How a loop is best run in strips; None where it cannot be, or that does not pay.

    Parameters
    ----------
    accesses, loop, verdict
        An innermost loop, and what is known of it.
    is_combined
        Whether what a φ of the header hands on may be combined in any order.
    isa
        What lanes there are.
    vector_math
        Whether lanes call mathematical functions together.
    """
    counted, dependences = loop.counted, verdict.dependences
    if isinstance(counted, str) or loop.loop.children or dependences is None or verdict.private:
        return None
    if dependences.opaque or not dependences.is_complete:
        return None
    view = loop.scope.view
    rank = {view.blocks[n]: k for k, n in enumerate(reverse_postorder(view.cfg.succs))}
    # Those of one block stand in order.
    mine = sorted((a for a in accesses.of(loop) if isinstance(a, Access)), key=lambda a: rank.get(a.block, 0))
    if any(a.scope is not loop.scope or a.instruction.op not in ("load", "store") for a in mine):
        return None
    before = dict.fromkeys(pairs_of_one_iteration(mine))
    again: dict[tuple[Instruction, Instruction], None] = {}
    for dependence in dependences.found:
        pair = (dependence.source.instruction, dependence.sink.instruction)
        if not keeps_in_step(dependence, loop):
            again[pair] = None
        elif pair[0] is pair[1]:
            continue
        before[pair] = None
    combined = [phi for phi in counted.header.phis() if is_combined(phi)]
    body = LoopBody(view, counted, combined, before, again)
    if not body.build():
        return None
    components = body.components()
    if all(c.in_order for c in components) or not any(c.in_order for c in components):
        return None
    scattered = [a.instruction for a in mine if not _is_contiguous(a, loop)]
    cycles, placed = _best(body, components, isa, scattered, vector_math)
    numbers = sorted(set(placed.values()))
    if not 1 < len(numbers) <= MOST_PARTS or all(n % 2 for n in numbers):
        return None
    if cycles * LEAST_GAIN > cycles_in_order(body, components):
        return None
    parts = [
        StripPart(tuple(i for c in components if placed[c] == n for i in c.nodes), n % 2 == 0)
        for n in numbers
    ]
    return Strips(tuple(parts), combined, before, again)


def _is_contiguous(access: Access, loop: LoopContext) -> bool:
    parts = access.offset.coefficients(loop.iteration)
    return len(parts) == 2 and parts[1].constant is not None and abs(parts[1].constant) == access.element


def _best(
    body: LoopBody,
    components: list[Component],
    isa: Isa,
    scattered: Collection[Instruction],
    vector_math: bool,
) -> tuple[float, Assignment]:
    """Which part each component is best in: what gains nothing by lanes runs in order, with what it is for."""
    kept = {c for c in components if not c.in_order}

    def weighed() -> tuple[float, Assignment]:
        placed = assign(body, components, lambda c: c not in kept)
        return cycles_in_parts(body, placed, isa, scattered, vector_math=vector_math), placed

    best, placed = weighed()
    numbers = sorted({n for n in placed.values() if n % 2 == 0})
    groups = [[c for c in components if placed[c] == n] for n in numbers]
    for group in (*groups, *([c] for c in components)):
        tried = [c for c in group if c in kept]
        if not tried:
            continue
        kept.difference_update(tried)
        cycles, other = weighed()
        if cycles < best:
            best, placed = cycles, other
        else:
            kept.update(tried)
    # What only a later loop uses is best computed there, if that has what it is computed from.
    for component in reversed(components):
        number = last_place(body, placed, component) if component in kept else placed[component]
        if number > placed[component]:
            other = {**placed, component: number}
            cycles = cycles_in_parts(body, other, isa, scattered, vector_math=vector_math)
            if cycles <= best:
                best, placed = cycles, other
    return best, placed
